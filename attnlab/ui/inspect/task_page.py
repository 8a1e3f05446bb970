"""Inspect: the page for sequence-to-sequence tasks."""

from collections.abc import Mapping
from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from attnlab.charts import alignment_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task, write_source
from attnlab.inspection import SourceInfluence, can_align, probs_by_query, source_influence
from attnlab.inspection.decoding import write_target
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import map_name
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.inspect.cell_panel import draw_cell, draw_contributions
from attnlab.ui.inspect.edits_panel import draw_edits
from attnlab.ui.inspect.prediction_panel import draw_step, follows
from attnlab.ui.inspect.quality_panel import draw_target_quality
from attnlab.ui.inspect.view import draw_task_view, mean_patterns
from attnlab.ui.sequence_to_sequence.hands import draw_source_field
from attnlab.ui.train.cursor import Moment, draw_scrubber, shown_moment

_SOURCE = "edited_source"
# Number of sequences to average over, and number of replacements tried per source token.
_SEQUENCES, _REPLACEMENTS = 64, 8
_HEIGHT = 320
_ONE = "the sequence above"
_SECONDS = 1.0


def source_and_target(task: AbstractTask, probes: np.ndarray) -> np.ndarray:
    """Return the chosen source, at first a probe's, and its true target except the last token."""
    kept = st.session_state.get(_SOURCE)
    if kept is None or kept[0] != task:
        _take_source(task, probes[0][: task.prompt_length()])
        st.session_state["edited_from_source"] = 0
        kept = st.session_state[_SOURCE]
    source = np.array(kept[1], np.int32)
    return np.concatenate([source, np.asarray(task.target_of(jnp.asarray(source)))[:-1]]).astype(
        np.int32
    )


def draw_source(task: AbstractTask, probes: np.ndarray, tokens: np.ndarray) -> None:
    """Draw a menu of sources, and the chosen source as text to edit."""
    st.selectbox(
        f"initial {task.source_name}",
        range(len(probes)),
        key="edited_from_source",
        persist_state="session",
        format_func=lambda i: f"{i + 1}: {write_source(task, probes[i][: task.prompt_length()])}",
        width=260,
        on_change=_take_probe,
        args=(task, probes),
    )
    draw_source_field(
        f"edit the {task.source_name}",
        task,
        tokens[: task.prompt_length()],
        key="edited_source_text",
        take=partial(_take_source, task),
        width=260,
        help=f"Type {task.source_length} of {task.spelling}; the true target is shown below.",
    )


def _take_source(task: AbstractTask, source: np.ndarray) -> None:
    st.session_state[_SOURCE] = (task, tuple(int(token) for token in source))


def _take_probe(task: AbstractTask, probes: np.ndarray) -> None:
    _take_source(task, probes[st.session_state["edited_from_source"]][: task.prompt_length()])


def draw_target(task: AbstractTask, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw a table of the target: true and decoded tokens, and the model's probabilities."""
    count, symbols = task.prompt_length(), task.vocabulary.symbols
    source = jnp.asarray(tokens[:count])
    true = np.asarray(task.target_of(source))
    written = np.asarray(write_target(model, source, count=count))
    probs = probs_by_query(model, tokens[None])[0, count - 1 :]
    wrong = int((written != true).sum())
    with st.container(key="target"):
        st.table(target_table(true, written, probs, symbols))
        st.caption(
            ("**All tokens are correct.** " if not wrong else f"**{wrong} of {count} wrong.** ")
            + "The row “written” is decoded greedily. The rows below it predict each token from "
            "the true ones before it."
        )


def target_table(
    true: np.ndarray, written: np.ndarray, probs: np.ndarray, symbols: tuple[str, ...]
) -> pd.DataFrame:
    """Return the table of `draw_target`, with one column per target token."""
    best = probs.argmax(axis=1)
    rows = {
        "true": [symbols[token] for token in true],
        "written": [
            symbols[token] + ("" if token == right else " ✗")
            for token, right in zip(written, true, strict=True)
        ],
        "p(true)": [f"{row[token]:.3f}" for row, token in zip(probs, true, strict=True)],
        "most probable": [
            f"{symbols[token]} {row[token]:.2f}" for row, token in zip(probs, best, strict=True)
        ],
    }
    return pd.DataFrame(rows.values(), list(rows), [str(n + 1) for n in range(len(true))])


def draw_source_maps(
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
    alone = over == _ONE
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
    names = _tokens_in_words(task, tokens) if alone else {"source": None, "target": None}
    if maps:
        left, right = st.columns(2, gap="medium")
        with left:
            _draw_attention(task, maps, found, names)
        with right:
            _draw_influence(found, names)
    else:
        _draw_influence(found, names)
        st.caption("This model has no attention to the source; only its dependence on it is shown.")
    _draw_how_to_read(found, alone=alone, attends=bool(maps))


def _tokens_in_words(task: AbstractTask, tokens: np.ndarray) -> dict[str, tuple[str, ...]]:
    source = jnp.asarray(tokens[: task.prompt_length()])
    symbols = task.vocabulary.symbols
    sides = {"source": source, "target": task.target_of(source)}
    return {side: tuple(symbols[int(token)] for token in row) for side, row in sides.items()}


def _draw_attention(
    task: AbstractTask, maps: list[AttentionMap], found: SourceInfluence, names: dict
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
    heads = maps[place].pattern[:, count - 1 :, :count]
    titles = [f"head {head + 1}" for head in range(len(heads))] if len(heads) > 1 else ["attends"]
    with st.container(key="chart_source_attention"):
        _draw_maps(
            np.asarray(heads, float), found.alignment, (*titles, "true alignment"),
            "share of attention", names, name="Attention to the source",
            alt="Attention of each target token to the source, with the true alignment."
            + (_on_truth(heads, found, titles) if names["source"] else ""),
        )  # fmt: skip


def _on_truth(heads: np.ndarray, found: SourceInfluence, titles: list[str]) -> str:
    """Return text with the largest share, over heads, of attention on the true alignment."""
    shares = (heads * (found.alignment > 0)).sum(axis=2).mean(axis=1)
    best = int(shares.argmax())
    whose = "" if len(titles) == 1 else f" of {titles[best]}"
    return f" {show_percent(shares[best])} of the attention{whose} is on it."


def _draw_influence(found: SourceInfluence, names: dict) -> None:
    row, column = np.unravel_index(found.influence.argmax(), found.influence.shape)
    with st.container(key="chart_source_influence"):
        _draw_maps(
            found.influence[None], found.truth, ("depends", "truth"), "total variation", names,
            name="Influence of the source", shown=found.measured > 0,
            alt="How much each source token changes the prediction of each target token, in the "
                f"model and in truth. The largest in the model: source token {column + 1} on "
                f"target token {row + 1}, {found.influence[row, column]:.2f}.",
        )  # fmt: skip


def _draw_maps(
    learned: Float[np.ndarray, "maps target source"],
    truth: Float[np.ndarray, "target source"],
    titles: tuple[str, ...],
    cell: str,
    names: dict,
    *,
    name: str,
    alt: str,
    shown: np.ndarray | None = None,
) -> None:
    chart = alignment_chart(
        learned, truth, names=titles, cell=cell, shown=shown, height=_HEIGHT, **names
    )
    draw_chart(chart, name=name, alt=alt)


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
    if not alone:
        errors = found.stderr[np.isfinite(found.stderr)]
        if errors.size:
            more += (
                f" {_REPLACEMENTS} replacements of each source token are tried. Standard errors "
                f"over sequences are at most {errors.max():.3f}, leaving out cells measured on "
                "one sequence."
            )
    st.caption(words, help=more)


def is_of_task(snapshot: Snapshot) -> bool:
    """Return whether the run is on a task."""
    return snapshot.experiment.generator.writes_target


def draw_task(
    run: LiveRun, snapshot: Snapshot, earlier: Mapping[int, AbstractModel], moment: Moment
) -> None:
    """Draw the page: the target that the model writes, maps of the source, and test results."""
    experiment, task = snapshot.experiment, as_task(snapshot.experiment.generator)
    tokens = source_and_target(task, present(snapshot.probes))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="stretch"):
            draw_scrubber(snapshot, has_label=True)
        draw_source(task, present(snapshot.probes), tokens)
    moving = follows(snapshot, moment)
    draw_while(
        lambda: run.snapshot().active,
        lambda: _draw_target(run, snapshot, tokens),
        key="task_target",
        seconds=_SECONDS,
        waited=snapshot.active,
    )
    if moving:
        st.caption(
            "Maps, single cells, edits and test results appear when the run pauses or ends. "
            "Choose an earlier step to see them now."
        )
        return
    test = np.asarray(run.test_sequences())
    st.header("Target and source", anchor=False, divider="gray")
    draw_source_maps(task, moment.model, test[:, :-1], tokens)
    view = draw_task_view(moment.model, tokens)
    if moment.model.has_heads:
        draw_cell(experiment, moment.model, tokens, view)
    if moment.model.logits_are_a_sum:
        draw_contributions(experiment, moment.model, tokens)
    draw_edits(experiment, moment.model, test, earlier)
    draw_target_quality(task, moment.model, test)


def _draw_target(run: LiveRun, before: Snapshot, tokens: np.ndarray) -> None:
    snapshot = run.snapshot()
    if snapshot.latest is None or snapshot.experiment != before.experiment:
        return
    moment = shown_moment(snapshot)
    draw_step(snapshot, moment)
    draw_target(as_task(snapshot.experiment.generator), moment.model, tokens)
