"""Beliefs as points of a plane: thumbnails by site, and the chart of points to choose from."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    PICK,
    belief_table,
    corner_table,
    simplex_address,
    simplex_chart,
)
from attnlab.film import BeliefChoice
from attnlab.generators import AbstractGenerator
from attnlab.inspection.belief_planes import Plane, belief_colours, plane_of
from attnlab.inspection.belief_probes import ProbeSetup, SiteProbe, distinct_pasts
from attnlab.ui.core.page_charts import draw_view
from attnlab.ui.core.session import kept_result

_BELIEF_CHART = "belief_points"
_THUMBNAIL = 120
# Fewer different points than this are drawn larger.
_SPARSE = 200
# Number of different pasts whose beliefs users can hover over and select.
_MOST_PASTS = 1_000
# With two or three states, users can also select beliefs on a grid with this many steps.
_PARTS = 30


class Targets(NamedTuple):
    """The exact targets of a probe on the test sequences, and the plane that they are drawn in.

    `outputs` are the names of their components; three of them may be the corners of the plane.
    `at` are the positions to draw.
    """

    exact: np.ndarray
    outputs: Sequence[str]
    corners: tuple[int, ...]
    at: slice
    plane: Plane

    def address(self, values: np.ndarray, at: slice, **size: int) -> str:
        """Return a picture of values of a probe, in the colours of the exact ones."""
        by_position = self.plane.by_position and values[:, at].shape[1] > 1
        shown = self.plane._replace(by_position=by_position)
        points = shown.of(values[:, at])
        is_sparse = len(np.unique(points.round(3), axis=0)) < _SPARSE
        colours = belief_colours(self.exact[:, at]).reshape(-1, 3)
        return simplex_address(points, colours, dot=6 if is_sparse else 2, **size)


class Points(NamedTuple):
    """Beliefs to choose from: the first `on_grid` are evenly spaced, the others exact."""

    beliefs: np.ndarray
    on_grid: int
    table: pd.DataFrame

    @property
    def chosen(self) -> int:
        """The index of the chosen belief."""
        return _chosen_belief(len(self.beliefs))


def targets_of(setup: ProbeSetup, outputs: Sequence[str], choice: BeliefChoice) -> Targets:
    """Return the targets of probes at the chosen positions, in the chosen plane."""
    exact, position = setup.targets[1], choice.position
    at = slice(None) if position is None else slice(position - 1, position)
    return Targets(exact, outputs, choice.corners, at, plane_of(outputs, exact, choice.corners))


def points_of(
    targets: Targets, setup: ProbeSetup, process: AbstractGenerator
) -> tuple[Points, str]:
    """Return the beliefs to choose from, and a remark if not all pasts are among them."""
    places, sequences = distinct_pasts(setup.test.sequences, targets.at), setup.test.sequences
    shown = places[:_MOST_PASTS]
    pasts = [tuple(sequences[row, : end + 1].tolist()) for row, end in shown]
    exact = np.stack([targets.exact[place] for place in shown])
    # The grid first, so that another position keeps the pick.
    grid = _grid_of_beliefs(len(targets.outputs))
    beliefs = np.vstack([grid, exact])
    texts = ["–"] * len(grid) + [process.vocabulary.render(past) for past in pasts]
    table = belief_table(targets.plane, beliefs, texts, _chosen_belief(len(beliefs)))
    remark = ""
    if len(pasts) < len(places):
        remark = f" Only {len(pasts):,} of {len(places):,} different sequences have tooltips."
    return Points(beliefs, len(grid), table), remark


def _chosen_belief(count: int) -> int:
    """Return the index of the selected point, or 0 without a selection among `count` points."""
    state = st.session_state.get(_BELIEF_CHART)
    points = state["selection"].get(PICK, []) if state else []
    number = int(points[0]["number"]) if points else 0
    # Another position may have fewer points.
    return number if number < count else 0


def _grid_of_beliefs(states: int) -> np.ndarray:
    """Return evenly spaced beliefs over two or three states; none over more states.

    With more states, a point of the chart is not a single belief.
    """
    if states > 3:
        return np.zeros((0, states))
    counts = np.indices((_PARTS + 1,) * states).reshape(states, -1).T
    return counts[counts.sum(axis=1) == _PARTS] / _PARTS


def draw_choice(targets: Targets, points: Points, remark: str) -> None:
    """Draw the exact beliefs, of which users can choose one."""
    picture = pd.DataFrame({"url": [targets.address(targets.exact, targets.at)]})
    draw_view(
        "Exact beliefs",
        simplex_chart(
            picture, corner_table(targets.plane), points.table, states=tuple(targets.outputs)
        ),
        f"Each point is a test token. Its colour mixes the corner colours.{remark}",
        alt=f"Exact beliefs: {targets.exact[:, targets.at, 0].size:,} points, one for each token.",
        key=_BELIEF_CHART,
        on_select="rerun",
        selection_mode=PICK,
    )


def draw_thumbnails(targets: Targets, sites: Sequence[SiteProbe], names: Mapping[str, str]) -> None:
    """Draw a small chart for every site."""
    with st.container(horizontal=True, gap="medium", key="belief_sites"):
        for each in sites:
            values = each.trained.predicted
            address = kept_result(
                f"thumbnail {each.site}",
                values,
                targets.plane.names,
                partial(targets.address, values, slice(None), side=_THUMBNAIL),
            )
            with st.container(width=_THUMBNAIL, gap="xxsmall"):
                alt = f"The same chart for the activations after {names[each.site]}"
                st.image(address, width=_THUMBNAIL, alt=alt)
                st.caption(
                    f"{names[each.site]}: R² {each.trained.score.r2:.2f} "
                    f"(untrained {each.untrained.r2:.2f})"
                )
