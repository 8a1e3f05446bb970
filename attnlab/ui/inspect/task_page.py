"""Inspect: the page for sequence-to-sequence tasks."""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Drawing, alignment_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task, write_source
from attnlab.inspection import SourceInfluence, can_align, probs_by_query, source_influence
from attnlab.inspection.decoding import write_target
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import map_name, trace_of
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.inspect.cell_panel import draw_cell, draw_contributions
from attnlab.ui.inspect.edits_panel import draw_edits
from attnlab.ui.inspect.prediction_panel import draw_moment, follows
from attnlab.ui.inspect.quality_panel import draw_target_quality
from attnlab.ui.inspect.view import View, mean_patterns
from attnlab.ui.sequence_to_sequence.hands import draw_source_field
from attnlab.ui.train.cursor import draw_scrubber, models_before, shown_moment
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

_SOURCE, _FROM = "edited_source", "edited_from_source"
# Number of sequences to average over, and number of replacements tried per source token.
_SEQUENCES, _REPLACEMENTS = 64, 8
_HEIGHT = 320
_ONE = "the sequence above"
_SECONDS = 1.0


def draw_task(run: LiveRun, snapshot: Snapshot) -> None:
    """Draw the page: the target that the model writes, maps of the source, and test results."""
    experiment, moment = snapshot.experiment, shown_moment(snapshot)
    task, model = as_task(experiment.generator), moment.model
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="stretch"):
            draw_scrubber(snapshot)
        tokens = _draw_source(task, present(snapshot.probes))
    draw_moment(
        run,
        snapshot,
        lambda shown, at_rest: _draw_target(task, shown.model, tokens),
        key="task_target",
        seconds=_SECONDS,
    )
    if follows(snapshot, moment):
        st.caption(
            "Maps, single cells, edits and test results appear when the run pauses or ends. "
            "Choose an earlier step to see them now."
        )
        return
    test = np.asarray(run.test_sequences())
    st.header("Target and source", anchor=False, divider="gray")
    _draw_source_maps(task, model, test[:, :-1], tokens)
    # At first the last layer that attends to the source.
    trace = trace_of(model, tokens)
    places = [place for place, found in enumerate(trace.attention) if can_align(found)]
    choice = Choice(0, *draw_head_choice(trace, "map", first=(places or [0])[-1]))
    if model.has_heads:
        draw_cell(experiment, model, tokens, View(shares=True, choice=choice))
    if model.logits_are_a_sum:
        draw_contributions(experiment, model, tokens)
    draw_edits(experiment, model, test, models_before(snapshot, moment))
    draw_target_quality(task, model, test)


def _draw_source(task: AbstractTask, probes: np.ndarray) -> np.ndarray:
    """Draw a menu of sources, and the chosen one as text to edit; at first a probe's.

    Return it with its true target, without the last token.
    """
    count = task.prompt_length()

    def take(source: np.ndarray) -> None:
        st.session_state[_SOURCE] = (task, tuple(int(token) for token in source))

    if (kept := st.session_state.get(_SOURCE)) is None or kept[0] != task:
        take(probes[0][:count])
        st.session_state[_FROM] = 0
    source = np.array(st.session_state[_SOURCE][1], np.int32)
    st.selectbox(
        f"initial {task.source_name}",
        range(len(probes)),
        key=_FROM,
        persist_state="session",
        format_func=lambda i: f"{i + 1}: {write_source(task, probes[i][:count])}",
        width=260,
        on_change=lambda: take(probes[st.session_state[_FROM]][:count]),
    )
    draw_source_field(
        f"edit the {task.source_name}",
        task,
        source,
        key="edited_source_text",
        take=take,
        width=260,
        help=f"Type {task.source_length} of {task.spelling}; the true target is shown below.",
    )
    target = np.asarray(task.target_of(jnp.asarray(source)), np.int32)
    return np.concatenate([source, target[:-1]])


def _draw_target(task: AbstractTask, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw a table of the target: true and decoded tokens, and the model's probabilities."""
    count, symbols = task.prompt_length(), task.vocabulary.symbols
    source = jnp.asarray(tokens[:count])
    true = np.asarray(task.target_of(source))
    written = np.asarray(write_target(model, source, count=count))
    probs = probs_by_query(model, tokens[None])[0, count - 1 :]
    columns = [
        {
            "true": symbols[right],
            "written": symbols[token] + ("" if token == right else " ✗"),
            "p(true)": f"{row[right]:.3f}",
            "most probable": f"{symbols[row.argmax()]} {row.max():.2f}",
        }
        for right, token, row in zip(true, written, probs, strict=True)
    ]
    wrong = int((written != true).sum())
    with st.container(key="target"):
        st.table(pd.DataFrame(columns, [str(n) for n in range(1, count + 1)]).T)
        st.caption(
            ("**All tokens are correct.** " if not wrong else f"**{wrong} of {count} wrong.** ")
            + "The row “written” is decoded greedily. The rows below it predict each token from "
            "the true ones before it."
        )


def _draw_source_maps(
    task: AbstractTask, model: AbstractModel, test: np.ndarray, tokens: np.ndarray
) -> None:
    """Draw attention and dependence of target tokens on source tokens, each with the truth.

    The maps are of the single sequence `tokens`, or means over sequences of `test`.
    """
    size = min(len(test), _SEQUENCES)
    mean = f"mean of {size}"
    over = st.segmented_control(
        "sequences", [_ONE, mean], default=_ONE, required=True, key="source_maps_over"
    )
    alone, source = over == _ONE, tokens[: task.prompt_length()]
    sequences = tokens[None] if alone else test[:size]
    most = None if alone else _REPLACEMENTS
    found = kept_result(
        "source_influence",
        model,
        (task, sequences.tobytes()),
        lambda: source_influence(task, model, sequences, most=most),
    )
    trace = mean_patterns(model, sequences, key="source_maps_trace")
    maps = [each for each in trace.attention if can_align(each)]
    sides = {"source": source, "target": task.target_of(jnp.asarray(source))}
    names = {
        side: tuple(task.vocabulary.symbols[int(token)] for token in row) if alone else None
        for side, row in sides.items()
    }
    chart = partial(alignment_chart, height=_HEIGHT, **names)
    left, right = st.columns(2, gap="medium") if maps else (st.container(), st.container())
    if maps:
        with left:
            _draw_attention(task, maps, found, chart, alone=alone)
    row, column = np.unravel_index(found.influence.argmax(), found.influence.shape)
    with right, st.container(key="chart_source_influence"):
        draw_chart(
            chart(
                found.influence[None],
                found.truth,
                names=("depends", "truth"),
                cell="total variation",
                shown=found.measured > 0,
            ),
            name="Influence of the source",
            alt="How much each source token changes the prediction of each target token, in the "
            f"model and in truth. The largest in the model: source token {column + 1} on "
            f"target token {row + 1}, {found.influence[row, column]:.2f}.",
        )
    if not maps:
        st.caption("This model has no attention to the source; only its dependence on it is shown.")
    _draw_how_to_read(found, alone=alone, attends=bool(maps))


def _draw_attention(
    task: AbstractTask,
    maps: list[AttentionMap],
    found: SourceInfluence,
    chart: Callable[..., Drawing],
    *,
    alone: bool,
) -> None:
    place = 0
    if len(maps) > 1:
        place = st.selectbox(
            "layer",
            range(len(maps)),
            len(maps) - 1,
            format_func=lambda place: map_name(maps[place]),
            key=f"source_maps_layer_{len(maps)}",
            width=150,
        )
    count = task.prompt_length()
    heads = np.asarray(maps[place].pattern[:, count - 1 :, :count], float)
    several = len(heads) > 1
    titles = [f"head {head + 1}" for head in range(len(heads))] if several else ["attends"]
    alt = "Attention of each target token to the source, with the true alignment."
    if alone:
        shares = (heads * (found.alignment > 0)).sum(axis=2).mean(axis=1)
        best = int(shares.argmax())
        whose = f" of {titles[best]}" * several
        alt += f" {show_percent(shares[best])} of the attention{whose} is on it."
    with st.container(key="chart_source_attention"):
        draw_chart(
            chart(
                heads,
                found.alignment,
                names=(*titles, "true alignment"),
                cell="share of attention",
            ),
            name="Attention to the source",
            alt=alt,
        )


def _draw_how_to_read(found: SourceInfluence, *, alone: bool, attends: bool) -> None:
    words = "How to read it: rows are target tokens, columns are source tokens. Grey: the truth."
    more = "On the left: the attention of the query that predicts the target token. " * attends
    more += (
        "**Depends**: how much another source token changes the prediction (total variation, 0 to "
        "1). A cell is empty if every replacement would "
        "change the earlier target tokens."
    )
    sums = np.maximum(found.dependence.sum(axis=1, keepdims=True), 1e-9)
    if not np.allclose(found.dependence / sums, found.alignment):
        words += (
            " True alignment and true dependence differ: the next token can depend on more source "
            "tokens than the one it comes from."
        )
    errors = found.stderr[np.isfinite(found.stderr)]
    if not alone and errors.size:
        more += (
            f" {_REPLACEMENTS} replacements of each source token are tried. Standard errors "
            f"over sequences are at most {errors.max():.3f}, leaving out cells measured on "
            "one sequence."
        )
    st.caption(words, help=more)
