"""Pictures of positional encodings."""

import numpy as np
import streamlit as st

from attnlab.charts import (
    Drawing,
    component_chart,
    component_table,
    matrix_chart,
    matrix_table,
    path_chart,
    path_table,
    profile_chart,
    profile_table,
)
from attnlab.charts.core.colours import signed_ramp
from attnlab.lessons.geometry import (
    Shift,
    distances,
    fit_shift,
    met_scores,
    profile,
    shift_rotation,
    similarity,
)
from attnlab.positions import AbstractScorePosition, Sinusoidal
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.encodings.encoding_controls import ShownEncoding

VIEWS = ("curves", "heatmap", "similarity", "distance", "path")
READING = {
    "curves": "a line is one component; it takes its values as you walk along the positions. The "
    "number of a component stands over its line.",
    "heatmap": "a row is the vector that a position gets; the fastest components are at the left.",
    "similarity": "the cosine of the angle between the rows of two positions, 1 for the same "
    "direction. Stripes along the diagonal: only the distance counts.",
    "distance": "how far the rows of two positions lie apart, by how far the positions are apart. "
    "The dashed line is the mean, the band reaches from least to most; no band: the distance alone "
    "decides.",
    "path": "two components, walked through from position 1 on. Where the path comes back to "
    "itself these two cannot tell the positions apart.",
}
_HEIGHT = 330


def draw_view(shown: ShownEncoding, view: str, first: int, second: int) -> None:
    """One picture of one encoding."""
    with st.container(key=f"chart_pe_{shown.side}"):
        if shown.rows is None:
            _draw_featureless(shown)
            return
        chart, said = _view(shown, view, first, second)
        draw_chart(
            chart,
            name=f"{shown.side.upper()}: {shown.name}, {view}",
            alt=f"{shown.name}, {view}: {said}",
        )


def _draw_featureless(shown: ShownEncoding) -> None:
    if isinstance(shown.position, AbstractScorePosition):
        st.info(
            f"`{shown.name}` gives the input no features. It changes the scores: see below.",
            icon=":material/arrow_downward:",
        )
    elif shown.name == "none":
        st.info("No features: every order of the days looks the same.", icon=":material/block:")


def _view(shown: ShownEncoding, view: str, first: int, second: int):
    rows, dark = shown.rows, on_dark()
    length, width = rows.shape
    largest = float(np.abs(rows).max())
    if view == "curves":
        domain = (min(0.0, float(rows.min())), max(0.0, float(rows.max())))
        chart = component_chart(component_table(rows), domain=domain, dark=dark, height=_HEIGHT)
        return chart, f"{width} components over {length} positions, at most {largest:.2f}."
    if view == "heatmap":
        chart = matrix_chart(
            matrix_table(rows),
            shape=rows.shape,
            row_title="← position (day)",
            column_title="component →",
            domain=(-largest, largest),
            ramp=signed_ramp(dark=dark),
            dark=dark,
            height=_HEIGHT,
        )
        return chart, f"{length} rows of {width} numbers up to {largest:.2f}."
    if view == "similarity":
        alike = similarity(rows)
        chart = matrix_chart(
            matrix_table(alike),
            shape=alike.shape,
            row_title="← position (day)",
            column_title="position (day) →",
            domain=(-1.0, 1.0),
            ramp=signed_ramp(dark=dark),
            dark=dark,
            meaning="cosine",
            height=_HEIGHT,
        )
        return chart, f"the least cosine is {alike.min():.2f}."
    if view == "distance":
        found = profile(distances(rows))
        chart = profile_chart(
            profile_table(*found), title="distance of rows", dark=dark, height=_HEIGHT
        )
        return chart, f"neighbours lie {found.mean[1]:.3f} apart on average."
    x, y = (min(component, width) - 1 for component in (first, second))
    chart = path_chart(
        path_table(rows[:, x], rows[:, y]),
        x_title=f"component {x + 1}",
        y_title=f"component {y + 1}",
        dark=dark,
        height=_HEIGHT,
    )
    return chart, f"components {x + 1} and {y + 1} of {length} positions."


def draw_shift(shown: ShownEncoding, shift: int) -> None:
    """The matrix that should move every position on by `shift`, and how far it fails."""
    if shown.rows is None:
        st.caption(f"`{shown.name}` has no rows to shift.")
        return
    length, width = shown.rows.shape
    if shift >= length:
        st.caption(f"{length} positions have none that are {shift} apart.")
        return
    exact = isinstance(shown.position, Sinusoidal) and width % 2 == 0
    if exact:
        found, how = shift_rotation(shown.position, shown.rows, shift), "from its formula"
    else:
        found, how = fit_shift(shown.rows, shift), "the least squares fit"
    with st.container(key=f"chart_shift_{shown.side}"):
        draw_chart(
            _shift_chart(found),
            name=f"{shown.side.upper()}: {shown.name}, M({shift})",
            alt=f"{shown.name}: M({shift}), {how}. Largest error {found.error:.1e}.",
        )
    st.markdown(
        f"`{shown.name}`: M({shift}) is {how}. Largest error over all t: "
        f"**{_error(found.error)}**, where the rows reach {np.abs(shown.rows).max():.2f}."
    )
    if not found.determined:
        st.info(
            f"There are only {length - shift} pairs of rows for {width} components, so a matrix "
            "fits them exactly, whatever they are. Take a longer sequence or a smaller d.",
            icon=":material/info:",
        )


def _error(error: float) -> str:
    return f"{error:.1e}" if error < 1e-3 else f"{error:.3f}"


def _shift_chart(found: Shift) -> Drawing:
    largest = max(1.0, float(np.abs(found.matrix).max()))
    return matrix_chart(
        matrix_table(found.matrix),
        shape=found.matrix.shape,
        row_title="← component at t + k",
        column_title="component at t →",
        domain=(-largest, largest),
        ramp=signed_ramp(dark=on_dark()),
        dark=on_dark(),
        height=_HEIGHT,
    )


def draw_score_profile(position: AbstractScorePosition, *, length: int, width: int) -> None:
    """The score of one vector with itself against the distance of its two places."""
    found = profile(met_scores(position, length=length, width=width))
    spread = float((found.most - found.least).max())
    with st.container(key=f"chart_scores_{position.name}"):
        draw_chart(
            profile_chart(profile_table(*found), title="score", dark=on_dark(), height=240),
            name=f"Scores of {position.name} by distance",
            alt=f"{position.name}: score {found.mean[0]:.2f} at distance 0, {found.mean[-1]:.2f} "
            f"at {length - 1}.",
        )
    rounding = (
        f"by at most {spread:.0e}, the rounding of 32-bit numbers" if spread else "not at all"
    )
    st.caption(
        f"`{position.name}`: at one distance the scores of all pairs of places differ {rounding}."
    )
