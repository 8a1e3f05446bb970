"""Views other than query × key maps: weights, hidden states, time scales, influence by lag."""

from types import MappingProxyType
from typing import Any

import numpy as np

from attnlab import charts
from attnlab.configuration.number_text import show_percent
from attnlab.models import HIDDEN_STATES, TIME_SCALES, WEIGHTS_BY_POSITION
from attnlab.ui.train.inside.shown import InsideView, Shown


def _weights_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    vocabulary = shown.snapshot.experiment.generator.vocabulary
    table = charts.weight_table(shown.trace.values[WEIGHTS_BY_POSITION], vocabulary)
    return charts.weight_chart(
        table, vocabulary=vocabulary, length=shown.length, word=shown.word, **look
    )


def _weights_alternative(shown: Shown) -> str:
    alternative = f"Weights of the linear model, {shown.length} {shown.word}s."
    if shown.at_rest:
        vocabulary = shown.snapshot.experiment.generator.vocabulary
        table = charts.weight_table(shown.trace.values[WEIGHTS_BY_POSITION], vocabulary)
        largest = table.loc[table["weight"].abs().idxmax()]
        alternative += f" The largest, {largest['weight']:+.2f} nats, belongs to {largest['seen']} "
        alternative += f"on {shown.word} {largest['day']} for {largest['outcome']}."
    return alternative


def _weights_how(shown: Shown) -> str:
    return (
        f"The weight of each token on each {shown.word} for an outcome, relative to the mean over "
        f"outcomes. Compare only the tokens of one {shown.word}: a constant added to all of them "
        "goes into the bias. This model has no attention."
    )


def _states_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    table = charts.state_table(shown.trace.values[HIDDEN_STATES])
    return charts.state_chart(
        table, symbols=shown.symbols, length=shown.length, word=shown.word, **look
    )


def _states_how(shown: Shown) -> str:
    is_task = shown.snapshot.experiment.generator.given() > 0
    predicted = "last target token is predicted" if is_task else "prediction is made"
    return (
        f"Columns are the model's states after each {shown.word}, rows are components. The "
        f"{predicted} from column {shown.read + 1}. This model has no attention."
    )


def _scales_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    scales = shown.trace.values[TIME_SCALES]
    return charts.time_scale_chart(scales, length=shown.length, word=shown.word, **look)


def _scales_alternative(shown: Shown) -> str:
    alternative = "Time scales of the components of the state."
    if shown.at_rest:
        scales = shown.trace.values[TIME_SCALES]
        alternative += f" From {scales.min():.2g} to {scales.max():.2g} {shown.word}s."
    return alternative


def _scales_how(shown: Shown) -> str:
    return (
        f"How many {shown.word}s each component of the state takes to fall to 1/e: -1/log of the "
        f"eigenvalue. The line marks the {shown.length} visible {shown.word}s: components that "
        "fade much faster are gone before the prediction."
    )


def _lags_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    return charts.by_lag_chart(*_up_to_the_query(shown), word=shown.word, **look)


def _up_to_the_query(shown: Shown) -> list[np.ndarray]:
    """Return mean and standard error of each position's influence on the tested prediction."""
    found = shown.influence[:2]
    return [
        (rows[shown.read] if len(rows) == shown.length else rows[-1])[: shown.read + 1]
        for rows in found
    ]


def _lags_alternative(shown: Shown) -> str:
    alternative = (
        f"By lag: influence of a {shown.word} on the prediction, by the number of {shown.word}s "
        "between them."
    )
    if shown.at_rest:
        influence, _ = _up_to_the_query(shown)
        alternative += (
            f" The last {shown.word} changes it by {show_percent(influence[-1])}, the first by "
        )
        alternative += f"{show_percent(influence[0])}."
    return alternative


def _lags_how(shown: Shown) -> str:
    return (
        f"How much the prediction changes when a {shown.word} is resampled (total variation, ± "
        f"one standard error), by its distance from the query. At 0 the {shown.word} is "
        "forgotten, or carries no information."
    )


VALUE_VIEWS = MappingProxyType(
    {
        "weights": InsideView(
            lambda inside: WEIGHTS_BY_POSITION in inside.trace.values,
            lambda shown: "Weights",
            _weights_drawing,
            _weights_alternative,
            _weights_how,
        ),
        "hidden states": InsideView(
            lambda inside: HIDDEN_STATES in inside.trace.values,
            lambda shown: "Hidden states",
            _states_drawing,
            lambda shown: f"Hidden states, {shown.length} {shown.word}s.",
            _states_how,
        ),
        "time scales": InsideView(
            lambda inside: TIME_SCALES in inside.trace.values,
            lambda shown: "Time scales",
            _scales_drawing,
            _scales_alternative,
            _scales_how,
        ),
        "by lag": InsideView(
            lambda inside: bool(inside.influence) and HIDDEN_STATES in inside.trace.values,
            lambda shown: "Influence by lag",
            _lags_drawing,
            _lags_alternative,
            _lags_how,
        ),
    }
)
