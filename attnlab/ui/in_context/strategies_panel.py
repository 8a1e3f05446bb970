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
from attnlab.inspection import References, Strategies, changes_of_nearest, expected_loss
from attnlab.inspection.strategies import OPTIMAL, rule_loss
from attnlab.optimum.own_baselines import RULE_KNOWN
from attnlab.training.evaluation import LossByPosition
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
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


def draw_loss_by_position(references: References, measured: Measured, step: int, word: str) -> None:
    """Draw the expected loss of the model and of every reference over the context."""
    losses = kept_result("reference_losses", references, None, lambda: _losses_of(references))
    top = 1.1 * float(np.log(references.probs.shape[-1]))
    least = min(min(each.nll) for each in losses.values())
    series = (_MODEL, *reference_series(tuple(losses)))
    table = pd.concat(_rows(*each) for each in {_MODEL.name: measured.loss, **losses}.items())
    st.markdown(f"**Loss by {word}**, step {step:,}")
    st.caption(
        f"The loss falls from {word} to {word} if the model infers the rule from the context."
    )
    draw_chart(
        lines_chart(
            table,
            x=Scale(word, ",d", ",d", zero=False),
            y=Scale("expected loss (nats)", ".3f", domain=(0.9 * least, top)),
            series=series,
            look="line",
            noun="predictor",
            height=_HEIGHT,
        ),
        name=f"Loss by {word}",
        alt=f"Expected loss at {len(measured.loss.nll)} {word}s: the model at step {step:,}, from "
        f"{measured.loss.nll[0]:.3f} to {measured.loss.nll[-1]:.3f} nats, and {len(losses)} "
        "reference predictors.",
    )


def _losses_of(references: References) -> dict[str, LossByPosition]:
    found = {
        name: expected_loss(references, probs)
        for name, probs in zip(references.names, references.probs, strict=True)
    }
    known = rule_loss(references)
    # Last, so that the references have the same colours as in the other charts.
    return found if known is None else {**found, RULE_KNOWN: known}


def _rows(name: str, loss: LossByPosition) -> pd.DataFrame:
    return series_table(name, np.array(loss.positions) + 1, loss.nll, loss.nll_stderr)


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
