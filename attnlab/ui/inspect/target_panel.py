"""What a model writes for a source, and how its target tokens depend on the source."""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Drawing, alignment_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, as_task
from attnlab.inspection import SourceInfluence, can_align, probs_by_query, source_influence
from attnlab.inspection.decoding import write_target
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import map_name, trace_of
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.inspect.view import mean_patterns
from attnlab.ui.sequence_to_sequence.hands import draw_source_field
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.sequence_panel import chosen_sequence
from attnlab.ui.train.inside.shown import Choice

_SOURCE = "edited_source"
# Number of sequences to average over, and number of replacements tried per source token.
_SEQUENCES, _REPLACEMENTS = 64, 8
_HEIGHT = 320
_ONE = "the sequence above"


def draw_target(snapshot: Snapshot, model: AbstractModel) -> np.ndarray:
    """Draw the source, which can be edited, and the target that the model writes for it.

    At first the source is that of the film, and again whenever another one is chosen there. Return
    it with its true target, without the last token.
    """
    task = as_task(snapshot.experiment.generator)
    count = task.prompt_length()
    shown = tuple(map(int, present(snapshot.probes)[chosen_sequence(snapshot)][:count]))

    def take(source: np.ndarray) -> None:
        st.session_state[_SOURCE] = (task, shown), tuple(int(token) for token in source)

    of, own = st.session_state.get(_SOURCE, (None, ()))
    source = np.array(own if of == (task, shown) else shown, np.int32)
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
    tokens = np.concatenate([source, target[:-1]])
    _draw_written(task, model, tokens)
    return tokens


def draw_source_maps(
    task: AbstractTask, model: AbstractModel, test: np.ndarray, tokens: np.ndarray
) -> Choice:
    """Draw what target tokens attend to and depend on in the source; return layer and head."""
    _draw_source_maps(task, model, test, tokens)
    # At first the last layer that attends to the source.
    trace = trace_of(model, tokens)
    places = [place for place, found in enumerate(trace.attention) if can_align(found)]
    return Choice(0, *draw_head_choice(trace, "map", first=(places or [0])[-1]))


def _draw_written(task: AbstractTask, model: AbstractModel, tokens: np.ndarray) -> None:
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
        table = pd.DataFrame(columns, [str(n) for n in range(1, count + 1)])
        st.table(table.T.rename_axis("token"))
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
