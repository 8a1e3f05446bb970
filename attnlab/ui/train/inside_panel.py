"""The inside of the model, whatever its trace holds: attention, weights, hidden states."""

from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.charts import (
    Drawing,
    pattern_chart,
    pattern_table,
    state_chart,
    state_table,
    weight_chart,
    weight_table,
)
from attnlab.models import HIDDEN_STATES, WEIGHTS_BY_DAY, AbstractModel, AttentionMap, Trace
from attnlab.models.inside import map_name, mean_trace, trace_of
from attnlab.models.readout import readout_position
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import CHART_HEIGHT, on_dark

MEAN = "mean"


class Choice(NamedTuple):
    """Which part of a trace is drawn: of which sequence, and the place of its map and head."""

    sequence: int | str = MEAN
    place: int = 0
    head: int = 0

    def of(self, trace: Trace) -> tuple[AttentionMap, np.ndarray]:
        """The map and the pattern of the head, or of the last there is."""
        found = trace.attention[min(self.place, len(trace.attention) - 1)]
        return found, found.pattern[min(self.head, len(found.pattern) - 1)]


def draw_sequence_choice(snapshot: Snapshot) -> int | str:
    """One of the probe sequences, or their mean; nothing to choose where all look alike."""
    if not snapshot.experiment.model.every_position:
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


def draw_head_choice(trace: Trace, key: str) -> tuple[int, int]:
    """Layer and head, as places in the trace, where there are several; `key` begins their keys."""
    maps = trace.attention
    with st.container(horizontal=True):
        place = _choose("layer", key, [map_name(found) for found in maps])
        heads = len(maps[place].pattern) if maps else 1
        return place, _choose("head", key, [str(head + 1) for head in range(heads)])


def _choose(label: str, key: str, names: list[str]) -> int:
    if len(names) < 2:
        return 0
    return st.selectbox(
        label,
        range(len(names)),
        format_func=names.__getitem__,
        # Of another number of them, another control.
        key=f"{key}_{label}_{len(names)}",
        persist_state="session",
        width=110,
    )


def trace_shown(model: AbstractModel, snapshot: Snapshot, sequence: int | str) -> Trace:
    """The trace of the chosen probe sequence, or their mean."""
    if sequence == MEAN:
        return mean_trace(model, snapshot.probes)
    return trace_of(model, snapshot.probes[sequence])


def draw_inside(snapshot: Snapshot, trace: Trace, choice: Choice, *, at_rest: bool) -> None:
    """What the trace holds, with how to read it.

    `at_rest` where nothing moves: a text alternative that changes would draw the chart anew, and
    so names figures only then.
    """
    with st.container(key="chart_attention"):
        drawing = inside_drawing(snapshot, trace, choice, dark=on_dark())
        if drawing is None:
            st.info("This model has nothing inside that a picture would show.")
            return
        if trace.attention:
            alt, how = _pattern_in_words(snapshot, trace, choice, at_rest)
        elif WEIGHTS_BY_DAY in trace.values:
            alt, how = _weights_in_words(snapshot, trace, at_rest)
        else:
            alt, how = _states_in_words(snapshot)
        draw_chart(drawing, name=inside_name(trace, choice), alt=alt)
        st.caption(f"How to read it: {how}")


def inside_drawing(
    snapshot: Snapshot,
    trace: Trace,
    choice: Choice,
    *,
    dark: bool,
    height: int = CHART_HEIGHT,
) -> Drawing | None:
    """The chart of `draw_inside`, or None where there is none."""
    experiment, symbols = snapshot.experiment, None
    vocabulary = experiment.generator.vocabulary
    look = {"length": experiment.length, "dark": dark, "height": height}
    if choice.sequence != MEAN:
        symbols = tuple(vocabulary.symbols[token] for token in snapshot.probes[choice.sequence])
    if trace.attention:
        found, pattern = choice.of(trace)
        return pattern_chart(pattern_table(pattern, found.mask, symbols), symbols=symbols, **look)
    if WEIGHTS_BY_DAY in trace.values:
        table = weight_table(trace.values[WEIGHTS_BY_DAY], vocabulary)
        return weight_chart(table, vocabulary=vocabulary, **look)
    if HIDDEN_STATES in trace.values:
        return state_chart(state_table(trace.values[HIDDEN_STATES]), symbols=symbols, **look)
    return None


def inside_name(trace: Trace, choice: Choice) -> str:
    """What `inside_drawing` shows, in a few words."""
    if not trace.attention:
        return "Weights" if WEIGHTS_BY_DAY in trace.values else "Hidden states"
    found, _ = choice.of(trace)
    if len(trace.attention) == 1 and len(found.pattern) == 1:
        return "Attention pattern"
    return f"Attention pattern of layer {map_name(found)}, head {choice.head + 1}"


def _pattern_in_words(
    snapshot: Snapshot, trace: Trace, choice: Choice, at_rest: bool
) -> tuple[str, str]:
    length = snapshot.experiment.length
    read = readout_position(snapshot.experiment.training.readout, length)
    alt = f"{inside_name(trace, choice)}, {length} days."
    if at_rest:
        _, pattern = choice.of(trace)
        strongest = int(pattern[read].argmax())
        alt += f" Day {read + 1}, which is read out, gives {pattern[read, strongest]:.0%} of its "
        alt += f"attention to day {strongest + 1}."
    return alt, (
        f"each row is a day's attention and sums to 1; row {read + 1} makes the prediction. "
        "Masked cells are left out."
    )


def _weights_in_words(snapshot: Snapshot, trace: Trace, at_rest: bool) -> tuple[str, str]:
    vocabulary, length = snapshot.experiment.generator.vocabulary, snapshot.experiment.length
    alt = f"Weights of the linear model, {length} days."
    if at_rest:
        table = weight_table(trace.values[WEIGHTS_BY_DAY], vocabulary)
        largest = table.loc[table["weight"].abs().idxmax()]
        alt += f" The largest, {largest['weight']:+.2f} nats, is that of {largest['seen']} on day "
        alt += f"{largest['day']} for {largest['outcome']}."
    return alt, (
        "the weight of a token on a day for an outcome, relative to the mean over outcomes. Only "
        "differences between the tokens of one day mean anything: what is added to all of them can "
        "be taken from the bias. There is no attention in this model."
    )


def _states_in_words(snapshot: Snapshot) -> tuple[str, str]:
    length = snapshot.experiment.length
    read = readout_position(snapshot.experiment.training.readout, length) + 1
    return f"Hidden states, {length} days.", (
        "each column is the state of the model after a day, a component a row; the prediction is "
        f"made of column {read}. There is no attention in this model."
    )
