"""The inside of the model: attention pattern or weights, at any step of the run."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.attention.head import MASKS
from attnlab.charts import Drawing, pattern_chart, pattern_table, weight_chart, weight_table
from attnlab.generators.vocabulary import Vocabulary
from attnlab.models.picture import Picture
from attnlab.models.readout import readout_position
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import CHART_HEIGHT, on_dark

MEAN = "mean"


def draw_sequence_choice(snapshot: Snapshot) -> int | str:
    """One of the probe sequences, or their mean; nothing to choose for a model without pattern."""
    if not snapshot.experiment.model.attends:
        return MEAN
    vocabulary, count = snapshot.experiment.generator.vocabulary, len(snapshot.probes)

    def name(choice: int | str) -> str:
        if choice == MEAN:
            return f"mean of {count} sequences"
        return f"{choice + 1}: {vocabulary.render(snapshot.probes[choice])}"

    return st.selectbox(
        "sequence",
        [*range(count), MEAN],
        format_func=name,
        key="probe",
        persist_state="session",
        help="One of a fixed set: what moves is learning, not the data.",
    )


def draw_inside(
    snapshot: Snapshot, picture: Picture, sequence: int | str, *, at_rest: bool
) -> None:
    """The pattern of the chosen sequence, or the weights of a model without attention.

    `at_rest` where nothing moves: a text alternative that changes would draw the chart anew, and
    so names figures only then.
    """
    with st.container(key="chart_attention"):
        if snapshot.experiment.model.attends:
            _draw_pattern(snapshot, picture, sequence, at_rest)
        else:
            _draw_weights(snapshot, picture, at_rest)


def _draw_pattern(snapshot: Snapshot, picture: Picture, sequence: int | str, at_rest: bool) -> None:
    length = snapshot.experiment.length
    read = readout_position(snapshot.experiment.training.readout, length)
    alt = f"Attention pattern, {length} days."
    if at_rest:
        attention = _pattern(picture, sequence)[read]
        strongest = int(attention.argmax())
        alt += f" Day {read + 1}, which is read out, gives {attention[strongest]:.0%} of its "
        alt += f"attention to day {strongest + 1}."
    drawing = pattern_drawing(snapshot, picture, sequence, dark=on_dark())
    draw_chart(drawing, name=None, alt=alt)
    st.caption(
        f"How to read it: each row is a day's attention and sums to 1; row {read + 1} makes the "
        "prediction. Masked cells are left out."
    )


def pattern_drawing(
    snapshot: Snapshot,
    picture: Picture,
    sequence: int | str,
    *,
    dark: bool,
    height: int = CHART_HEIGHT,
    vocabulary: Vocabulary | None = None,
) -> Drawing:
    """The chart of `draw_inside` for a model that attends; `vocabulary` writes the days."""
    experiment, symbols = snapshot.experiment, None
    if sequence != MEAN:
        vocabulary = vocabulary or experiment.generator.vocabulary
        symbols = tuple(vocabulary.symbols[token] for token in snapshot.probes[sequence])
    days = jnp.arange(experiment.length)
    admitted = np.asarray(MASKS[experiment.model.mask](days, days))
    return pattern_chart(
        pattern_table(_pattern(picture, sequence), admitted, symbols),
        length=experiment.length,
        symbols=symbols,
        dark=dark,
        height=height,
    )


def _pattern(picture: Picture, sequence: int | str) -> np.ndarray:
    head = picture.patterns[:, 0, 0]
    return head.mean(axis=0) if sequence == MEAN else head[sequence]


def _draw_weights(snapshot: Snapshot, picture: Picture, at_rest: bool) -> None:
    vocabulary, length = snapshot.experiment.generator.vocabulary, snapshot.experiment.length
    table = weight_table(picture.weights, vocabulary)
    alt = f"Weights of the linear model, {length} days."
    if at_rest:
        largest = table.loc[table["weight"].abs().idxmax()]
        alt += f" The largest, {largest['weight']:+.2f} nats, is that of {largest['seen']} on day "
        alt += f"{largest['day']} for {largest['outcome']}."
    draw_chart(
        weight_chart(
            table, length=length, vocabulary=vocabulary, dark=on_dark(), height=CHART_HEIGHT
        ),
        name=None,
        alt=alt,
    )
    st.caption(
        "How to read it: what seeing a token on a day adds to the log-odds of the next one, "
        "relative to the mean over outcomes. There is no attention in this model."
    )
