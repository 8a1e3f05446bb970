"""Inspect: where target tokens look in their source, what they depend on there, and in truth."""

import jax.numpy as jnp
import numpy as np
import streamlit as st
from jaxtyping import Float

from attnlab.charts import alignment_chart, alignment_table
from attnlab.configuration.number_text import show_percent
from attnlab.generators import AbstractTask
from attnlab.inspection import SourceInfluence, can_align, source_influence
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import map_name
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.inspect.comparisons import kept_of_model, mean_patterns

# Few enough to be met with source tokens replaced, and replacements of each that are tried.
_SEQUENCES, _REPLACEMENTS = 64, 8
_HEIGHT = 320
_ONE = "the one above"


def draw_source_maps(
    task: AbstractTask, model: AbstractModel, test: np.ndarray, tokens: np.ndarray
) -> None:
    """Maps of target against source: attention, dependence, and both truths beside them.

    They are of the one sequence `tokens`, or means over visible tokens of `test`.
    """
    size = min(len(test), _SEQUENCES)
    mean = f"mean of {size}"
    over = st.segmented_control(
        "sequences", [_ONE, mean], default=_ONE, required=True, key="source_maps_over"
    )
    alone = over == _ONE
    sequences = tokens[None] if alone else test[:size]
    most = None if alone else _REPLACEMENTS
    found = kept_of_model(
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
        st.caption("This model has no attention to the source: what it depends on is all there is.")
    _draw_how_to_read(found, alone=alone, attends=bool(maps))


def _tokens_in_words(task: AbstractTask, tokens: np.ndarray) -> dict[str, tuple[str, ...]]:
    source = jnp.asarray(tokens[: task.given()])
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
    count = task.given()
    heads = maps[place].pattern[:, count - 1 :, :count]
    titles = [f"head {head + 1}" for head in range(len(heads))] if len(heads) > 1 else ["attends"]
    with st.container(key="chart_source_attention"):
        _draw(
            np.asarray(heads, float), found.alignment, (*titles, "true alignment"),
            "share of attention", names, name="Attention to the source",
            alt="Attention of each target token to the source beside the true alignment."
            + (_on_truth(heads, found, titles) if names["source"] else ""),
        )  # fmt: skip


def _on_truth(heads: np.ndarray, found: SourceInfluence, titles: list[str]) -> str:
    """How much attention of one sequence is on its true alignment, of the head with most."""
    shares = (heads * (found.alignment > 0)).sum(axis=2).mean(axis=1)
    best = int(shares.argmax())
    return f" {titles[best]} has {show_percent(shares[best])} of its attention there."


def _draw_influence(found: SourceInfluence, names: dict) -> None:
    unmeasured = found.measured == 0
    row, column = np.unravel_index(found.influence.argmax(), found.influence.shape)
    with st.container(key="chart_source_influence"):
        _draw(
            found.influence[None], found.truth, ("depends", "truth"), "total variation", names,
            name="Influence of the source", left_out=unmeasured,
            alt="How far each source token moves the prediction of each target token, in the model "
            f"and in truth. In the model most: source token {column + 1} on target token "
            f"{row + 1}, {found.influence[row, column]:.2f}.",
        )  # fmt: skip


def _draw(
    learned: Float[np.ndarray, "maps target source"],
    truth: Float[np.ndarray, "target source"],
    titles: tuple[str, ...],
    cell: str,
    names: dict,
    *,
    name: str,
    alt: str,
    left_out: np.ndarray | None = None,
) -> None:
    table = alignment_table(learned, truth, names=titles, **names)
    if left_out is not None:
        table = table[~np.tile(left_out.ravel(), len(titles))].reset_index(drop=True)
    chart = alignment_chart(
        table, names=titles, count=len(truth), cell=cell, dark=on_dark(), height=_HEIGHT, **names
    )
    draw_chart(chart, name=name, alt=alt)


def _draw_how_to_read(found: SourceInfluence, *, alone: bool, attends: bool) -> None:
    words = "How to read it: a row is a target token, a column a token of the source. "
    if attends:
        words += (
            "At the left: how the query that predicts the target token divides its attention; in "
            "grey the source tokens that it is taken from. "
        )
    words += (
        "**Depends**: how far the model's prediction moves, in total "
        "variation from 0 to 1, when the source token is another one that can come and the target "
        "tokens before stay true; in grey how far the true prediction moves. A cell is empty where "
        "no other source token leaves the target before it as it is."
    )
    sums = np.maximum(found.dependence.sum(axis=1, keepdims=True), 1e-9)
    if not np.allclose(found.dependence / sums, found.alignment):
        words += (
            " The two truths differ: which token comes next can depend on more of the source than "
            "the one it is taken from."
        )
    if not alone:
        errors = found.stderr[np.isfinite(found.stderr)]
        if errors.size:
            words += (
                f" {_REPLACEMENTS} replacements of each source token are tried; standard error "
                f"over sequences: {errors.max():.3f} at most, without cells that one sequence has."
            )
    st.caption(words)
