"""Which algorithm a model runs: its loss by position, and its distance to every reference."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    HUES,
    Scale,
    Series,
    distinct,
    lines_chart,
    series_table,
    stacked_chart,
    stacked_table,
)
from attnlab.configuration.number_text import show_measured, show_percent
from attnlab.inspection import References, Strategies, changes_of_nearest
from attnlab.inspection.strategies import OPTIMAL
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.in_context.measures import Course, Measured

_HEIGHT = 320
_MODEL = Series("model", HUES.learned)
# Weights below this are not named.
_NAMED = 0.05


def reference_series(names: Sequence[str]) -> tuple[Series, ...]:
    """Return one series for each reference, with the same look in every chart."""
    optimal = next(name for name in names if name.startswith(OPTIMAL))
    found = {each.name: each for each in distinct(name for name in names if name != optimal)}
    found[optimal] = Series(optimal, HUES.truth, "square", (5, 4))
    return tuple(found[name] for name in names)


def draw_answer(references: References, found: Strategies, step: int) -> None:
    """Draw one sentence about which reference the model is nearest to."""
    at = found.nearest
    distance = show_measured(found.divergence[at], found.divergence_stderr[at], most_places=4)
    st.markdown(
        f"**At step {step:,} the model is nearest to the {link_to('reference predictor')} "
        f"“{references.names[at]}”:** KL(reference ‖ model) {distance} nats."
    )


def draw_distances(references: References, course: Course) -> None:
    """Draw KL(reference ‖ model) of every reference over training."""
    values, errors = course.divergences()
    table = pd.concat(
        series_table(name, course.steps, values[:, at], errors[:, at])
        for at, name in enumerate(references.names)
    )
    st.markdown("**Which algorithm is it?**")
    changes = list(_changes(references, course))
    first = references.names[course.results[0].found.nearest]
    first += " at first" * bool(changes)
    nearest = ", ".join([first, *(f"{name} from step {step:,}" for step, name in changes)])
    top = 1.25 * course.most
    beyond = [
        name for name, each in zip(references.names, values.T, strict=True) if max(each) > top
    ]
    st.caption(
        f"Nearest {link_to('reference predictor')}: **{nearest}**. KL(reference ‖ model), ± one "
        "standard error."
        + f" ▲ marks distances beyond the axis: {', '.join(beyond)}."
        * bool(beyond)
    )
    draw_chart(
        lines_chart(
            table,
            None,
            _rules(changes),
            x=Scale("step", ",d", ",d"),
            y=Scale("KL (nats)", ".4f", domain=(0.0, top)),
            series=reference_series(references.names),
            look="band",
            noun="reference",
            height=_HEIGHT,
        ),
        name="Distance to each reference",
        alt=f"KL from {len(references.names)} reference predictors to the model over "
        f"{len(course.steps)} steps.",
    )


def _changes(references: References, course: Course) -> Iterator[tuple[int, str]]:
    found = [each.found for each in course.results]
    for step, at in changes_of_nearest(course.steps, found):
        yield step, references.names[at]


def _rules(changes: Sequence[tuple[int, str]]) -> pd.DataFrame | None:
    if not changes:
        # An empty table has no extent, of which browsers are warned.
        return None
    # The names would overlap, and are in the text above.
    return pd.DataFrame({"at": [step for step, _ in changes], "name": ""})


def draw_mixture(references: References, measured: Measured, course: Course, step: int) -> None:
    """Draw the weights of the nearest mixture of references over training."""
    weights = np.stack([each.found.weights for each in course.results])
    st.markdown(f"**Nearest mixture of references**, step {step:,}")
    st.caption(_in_words(references, measured.found))
    draw_chart(
        stacked_chart(
            stacked_table(references.names, course.steps, weights),
            _rules(list(_changes(references, course))),
            series=reference_series(references.names),
            title="weight",
            noun="reference",
            height=_HEIGHT,
        ),
        name="Mixture of references",
        alt=f"Weights of {len(references.names)} reference predictors over {len(course.steps)} "
        "steps, in the mixture that is nearest to the model.",
    )


def _in_words(references: References, found: Strategies) -> str:
    parts = [
        f"{show_percent(weight)} {name}"
        for name, weight in sorted(
            zip(references.names, found.weights, strict=True), key=lambda each: -each[1]
        )
        if weight >= _NAMED
    ]
    left = show_measured(found.left_over, found.left_over_stderr, most_places=4)
    return f"**{', '.join(parts)}**. KL from the best mixture to the model: {left} nats."
