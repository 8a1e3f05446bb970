"""The inside of the model, whatever its trace holds: attention, weights, hidden states."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.charts import (
    Drawing,
    heads_chart,
    heads_table,
    informative_table,
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
from attnlab.ui.core.page_theme import INSIDE_HEIGHT, on_dark

MEAN = "mean"
# Heads that stand side by side.
_MOST_HEADS = 8


class Choice(NamedTuple):
    """Which part of a trace is drawn: of which sequence, and the place of its map and heads."""

    sequence: int | str = MEAN
    place: int = 0
    heads: tuple[int, ...] = (0,)

    def of(self, trace: Trace) -> tuple[AttentionMap, np.ndarray]:
        """The map and the pattern of the first of the heads, or of the last there is."""
        found = trace.attention[min(self.place, len(trace.attention) - 1)]
        return found, found.pattern[min(self.heads[0], len(found.pattern) - 1)]


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
        [MEAN, *range(count)],
        format_func=name,
        key="probe",
        persist_state="session",
        label_visibility="collapsed",
        width=215,
        help="One of a fixed set: what changes is the model, not the data.",
    )


def draw_head_choice(trace: Trace, key: str) -> tuple[int, tuple[int, ...]]:
    """Layer and head, as places in the trace, where there are several; `key` begins their keys."""
    maps = trace.attention
    with st.container(horizontal=True):
        place = _choose("layer", key, [map_name(found) for found in maps])
        heads = len(maps[place].pattern) if maps else 1
        return place, (_choose("head", key, [str(head + 1) for head in range(heads)]),)


def draw_heads_choice(trace: Trace, key: str) -> tuple[int, tuple[int, ...]]:
    """As `draw_head_choice`, of heads side by side: all of a layer at first, or a single one."""
    maps = trace.attention
    place = _choose("layer", key, [f"layer {map_name(found)}" for found in maps])
    heads = len(maps[place].pattern) if maps else 1
    groups = {
        "all heads" if heads <= _MOST_HEADS else f"heads {first + 1} to {last}": range(first, last)
        for first in range(0, heads, _MOST_HEADS)
        for last in (min(first + _MOST_HEADS, heads),)
    }
    groups |= {f"head {head + 1}": range(head, head + 1) for head in range(heads)}
    chosen = _choose("head", key, list(groups) if heads > 1 else ["head 1"])
    return place, tuple(list(groups.values())[chosen])


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
        label_visibility="collapsed" if key == "inside" else "visible",
        width=125,
    )


def trace_shown(model: AbstractModel, snapshot: Snapshot, sequence: int | str) -> Trace:
    """The trace of the chosen probe sequence, or their mean."""
    if sequence == MEAN:
        return mean_trace(model, snapshot.probes)
    return trace_of(model, snapshot.probes[sequence])


def draw_inside(
    snapshot: Snapshot,
    trace: Trace,
    choice: Choice,
    *,
    informative: Sequence[int],
    at_rest: bool,
) -> str:
    """What the trace holds, and how to read it; `informative` are days from 1.

    `at_rest` where nothing moves: a text alternative that changes would draw the chart anew, and
    so names figures only then.
    """
    with st.container(key="chart_attention"):
        drawing = inside_drawing(snapshot, trace, choice, informative, dark=on_dark())
        if drawing is None:
            return "This model has no attention, weights by day or hidden states to show."
        if trace.attention:
            alt, how = _pattern_in_words(snapshot, trace, choice, at_rest)
        elif WEIGHTS_BY_DAY in trace.values:
            alt, how = _weights_in_words(snapshot, trace, at_rest)
        else:
            alt, how = _states_in_words(snapshot)
        draw_chart(drawing, name=inside_name(trace, choice), alt=alt)
        return how


def inside_drawing(
    snapshot: Snapshot,
    trace: Trace,
    choice: Choice,
    informative: Sequence[int] = (),
    *,
    dark: bool,
    height: int = INSIDE_HEIGHT,
) -> Drawing | None:
    """The chart of `draw_inside`, or None where there is none."""
    experiment, symbols = snapshot.experiment, None
    vocabulary = experiment.generator.vocabulary
    look = {"dark": dark, "height": height}
    if choice.sequence != MEAN:
        symbols = tuple(vocabulary.symbols[token] for token in snapshot.probes[choice.sequence])
    if trace.attention:
        found, _ = choice.of(trace)
        heads = tuple(head for head in choice.heads if head < len(found.pattern)) or (0,)
        read = readout_position(experiment.training.readout, experiment.length)
        rows = {"read": read, "trained": not is_untrained(snapshot, trace, choice)}
        rows |= {"heads": heads, "symbols": symbols}
        return heads_chart(
            heads_table(found.pattern, found.mask, **rows),
            informative_table(informative if found.kind == "self" else (), len(heads)),
            shape=found.mask.shape,
            **rows,
            **look,
        )
    look["length"] = experiment.length
    if WEIGHTS_BY_DAY in trace.values:
        table = weight_table(trace.values[WEIGHTS_BY_DAY], vocabulary)
        return weight_chart(table, vocabulary=vocabulary, **look)
    if HIDDEN_STATES in trace.values:
        return state_chart(state_table(trace.values[HIDDEN_STATES]), symbols=symbols, **look)
    return None


def is_untrained(snapshot: Snapshot, trace: Trace, choice: Choice) -> bool:
    """Whether the rows beside the one that predicts have no part in the loss.

    Those of earlier layers have: the last layer reads what they write.
    """
    found, _ = choice.of(trace)
    return snapshot.experiment.training.loss == "last" and found is trace.attention[-1]


def inside_name(trace: Trace, choice: Choice) -> str:
    """What `inside_drawing` shows, in a few words."""
    if not trace.attention:
        return "Weights" if WEIGHTS_BY_DAY in trace.values else "Hidden states"
    found, _ = choice.of(trace)
    if len(trace.attention) == 1 and len(found.pattern) == 1:
        return "Attention pattern"
    if len(choice.heads) > 1:
        return f"Attention patterns of layer {map_name(found)}"
    return f"Attention pattern of layer {map_name(found)}, head {choice.heads[0] + 1}"


def _pattern_in_words(
    snapshot: Snapshot, trace: Trace, choice: Choice, at_rest: bool
) -> tuple[str, str]:
    length = snapshot.experiment.length
    read = readout_position(snapshot.experiment.training.readout, length)
    alt = f"{inside_name(trace, choice)}, {length} days."
    if at_rest:
        found, _ = choice.of(trace)
        several = len(choice.heads) > 1
        for head in choice.heads:
            row = found.pattern[min(head, len(found.pattern) - 1), read]
            strongest = int(row.argmax())
            alt += f" In head {head + 1} day" if several else " Day"
            alt += f" {read + 1}, which is read out, gives {row[strongest]:.0%} of its "
            alt += f"attention to day {strongest + 1}."
    how = "Each row is a query and sums to 1; the framed one makes the prediction"
    if is_untrained(snapshot, trace, choice):
        how += ", and the pale ones have no part in the loss `last`: they are not trained"
    return alt, how + ". ▼ a day that is truly informative."


def _weights_in_words(snapshot: Snapshot, trace: Trace, at_rest: bool) -> tuple[str, str]:
    vocabulary, length = snapshot.experiment.generator.vocabulary, snapshot.experiment.length
    alt = f"Weights of the linear model, {length} days."
    if at_rest:
        table = weight_table(trace.values[WEIGHTS_BY_DAY], vocabulary)
        largest = table.loc[table["weight"].abs().idxmax()]
        alt += f" The largest, {largest['weight']:+.2f} nats, is that of {largest['seen']} on day "
        alt += f"{largest['day']} for {largest['outcome']}."
    return alt, (
        "the weight of a token on a day for an outcome, relative to the mean over outcomes. "
        "Only differences between the tokens of one day mean anything: a constant added to all "
        "of them can be subtracted from the bias. There is no attention in this model."
    )


def _states_in_words(snapshot: Snapshot) -> tuple[str, str]:
    length = snapshot.experiment.length
    read = readout_position(snapshot.experiment.training.readout, length) + 1
    return f"Hidden states, {length} days.", (
        "Each column is the state of the model after a day, one row per component; the "
        f"prediction is made from column {read}. There is no attention in this model."
    )
