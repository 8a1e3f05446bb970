"""The arithmetic of one cell of an attention pattern, and the terms of the logits."""

from collections.abc import Mapping
from typing import Any, SupportsFloat

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import map_chart
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.models import AbstractModel, CellArithmetic, CellPlace
from attnlab.models.inside import trace_of
from attnlab.training.experiment import Experiment
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.inspect.view import View

_SHOWN_TERMS, _SHOWN_COMPONENTS = 6, 3
# For each kind of score: its formula, one term of its sum, and the factor before the sum.
_SCORES = {
    "dot": (r"q \cdot k", "({q:.2f})({k:.2f})", ""),
    "weighted": (
        r"\textstyle\sum_i v_i \tanh(q_i + k_i)", r"{v}\tanh({q:.2f} + {k_signed})", "",
    ),
    "additive": (r"\textstyle\sum_i \tanh(q_i + k_i)", r"\tanh({q:.2f} + {k_signed})", ""),
    "gaussian": (
        r"-\tfrac{1}{2} \lVert q - k \rVert^2", "({q:.2f} - {k_signed})^2", r"-\tfrac{1}{2}",
    ),
}  # fmt: skip


@panel("How is one cell computed?", key="cell_panel", icon="calculate")
def draw_cell(experiment: Experiment, model: AbstractModel, tokens: np.ndarray, view: View) -> None:
    """Draw the chosen head's pattern on a sequence, and how one clicked cell is computed.

    The model must have attention.
    """
    found, pattern = view.of(trace_of(model, tokens).attention)
    head = min(view.choice.heads[0], len(found.pattern) - 1)
    left, right = st.columns(2, gap="medium")
    with left:
        query, key = _draw_pattern(experiment, tokens, pattern.astype(np.float64), found.mask)
    cell = model.cell(jnp.asarray(tokens), CellPlace(found.layer, head, query, key, found.kind))
    with right, st.container(key="arithmetic"):
        if cell is not None:
            _draw_arithmetic(cell, query, key, experiment, found.kind)


def _draw_pattern(
    experiment: Experiment, tokens: np.ndarray, pattern: np.ndarray, mask: np.ndarray
) -> tuple[int, int]:
    """Draw the pattern; return (query, key) of the clicked cell.

    Before a click, return the strongest cell of the query that predicts.
    """
    length, vocabulary = experiment.length, experiment.generator.vocabulary
    word = experiment.generator.position_word
    symbols = tuple(vocabulary.symbols[token] for token in tokens)
    read = experiment.read_position
    if not mask[read].any():
        # Self-attention within the source has no row for this query; take its last row.
        read = int(np.flatnonzero(mask.any(axis=1))[-1])
    strongest = int(pattern[read].argmax())
    # Leave out rows and columns without cells: some maps cover only the source or the target.
    queries, keys = (
        tuple(int(place) + 1 for place in np.flatnonzero(mask.any(axis=axis))) for axis in (1, 0)
    )
    chart = map_chart(
        pattern,
        seen=mask,
        title="share of attention",
        titles=(f"key: {word} attended to →", f"← query: {word} that attends"),
        symbols=symbols,
        queries=queries,
        keys=keys,
        word=word,
        clicked="cell",
    )
    with st.container(key="chart_cells"):
        event = draw_chart(
            chart,
            name="Attention pattern of this sequence",
            key="cell_chart",
            on_select="rerun",
            alt=f"Attention pattern of this sequence. {word.capitalize()} {read + 1} gives "
            f"{show_percent(pattern[read, strongest])} of its attention to {word} "
            f"{strongest + 1}.",
        )
    st.caption("Click a cell to see its arithmetic.")
    picked = event["selection"].get("cell") if event else None
    if picked and {"query", "key"} <= picked[0].keys():
        query, key = int(picked[0]["query"]) - 1, int(picked[0]["key"]) - 1
        if query < length and key < length and mask[query].any() and mask[:, key].any():
            return query, key
    return read, strongest


def _draw_arithmetic(
    cell: CellArithmetic, query: int, key: int, experiment: Experiment, kind: str
) -> None:
    word, prompt = experiment.generator.position_word, experiment.generator.prompt_length()
    st.markdown(f"**Query {word} {query + 1}, key {word} {key + 1}**")
    if prompt and kind != "source" and query + 1 >= prompt:
        begins = query + 1 == prompt and experiment.model.reads_source
        st.caption(
            f"At {word} {query + 1} the model predicts target token {query + 2 - prompt}. The "
            f"source is {word}s 1 to {prompt}."
            + " The query here is the token that begins the target."
            * begins
        )
    if cell.state is not None:
        # The query is a projection of the decoder's previous state.
        some = ", ".join(f"{value:.2f}" for value in cell.state[:_SHOWN_COMPONENTS])
        more = r", \dots" if cell.state.size > _SHOWN_COMPONENTS else ""
        st.latex(
            rf"\begin{{aligned}}h_{{t-1}} &= ({some}{more}) \\ "
            r"q &= h_{t-1} W_q + b_q \end{aligned}"
        )
    weights = np.ones(cell.query.size) if cell.weights is None else cell.weights
    formula, term, before = _SCORES[cell.kind if cell.weights is None else "weighted"]
    terms = [
        term.format(q=q, k=k, v=_signed(v, 2), k_signed=_signed(k, 2))
        for q, k, v in [*zip(cell.query, cell.key, weights, strict=True)][:_SHOWN_TERMS]
    ]
    if cell.query.size > _SHOWN_TERMS:
        terms.append(r"\dots")
    # On a phone a line has room for two terms, or for one term with a weight.
    line = 2 if cell.weights is None else 1
    pairs = [" + ".join(terms[i : i + line]) for i in range(0, len(terms), line)]
    bias = f" + ({cell.bias:.3f})" if cell.bias else ""
    st.latex(
        rf"\begin{{aligned}}\text{{score}} &= {formula} \\ &= "
        + (rf"{before} \big(" if before else "")
        + r" \\ &\quad + ".join(pairs)
        + (r"\big)" if before else "")
        + rf" \\ &= {cell.score:.3f} \\ \text{{scaled}} &= {cell.scale:.4g} \times "
        rf"{_signed(cell.score)}{bias} = {cell.scaled[key]:.3f}\end{{aligned}}"
    )
    if not cell.unmasked[key]:
        st.latex(r"\text{masked: its share is exactly } 0")
        return
    unmasked = cell.scaled[cell.unmasked]
    total = np.exp(unmasked - unmasked.max()).sum()
    largest = float(unmasked.max())
    st.latex(
        rf"\begin{{aligned}}\text{{share}} &= \frac{{\exp({cell.scaled[key]:.3f} - "
        rf"{_signed(largest)})}}{{\sum_{{{unmasked.size}\ \text{{{word}s}}}} \exp(s - "
        rf"{_signed(largest)})}} \\[12pt] &= "
        rf"\frac{{{np.exp(cell.scaled[key] - largest):.4f}}}{{{total:.4f}}}"
        rf" = {cell.pattern[key]:.3f}\end{{aligned}}"
    )
    st.caption(
        f"s are the scaled scores of the {unmasked.size} {word}s that {word} {query + 1} may "
        "attend to. Subtracting the largest changes no share and keeps the exponentials small."
    )


def _signed(number: SupportsFloat, places: int = 3) -> str:
    text = f"{float(number):.{places}f}"
    return f"({text})" if float(number) < 0 else text


@panel("Which parts produce the prediction?", key="contributions_panel", icon="stacked_bar_chart")
def draw_contributions(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw the contribution of each part to the logits; the model needs `logits_are_a_sum`."""
    query, process = experiment.read_position, experiment.generator
    found = present(model.contributions(jnp.asarray(tokens), query))
    st.table(contribution_table(found, process.vocabulary.symbols))
    st.caption(
        "How to read it: each number is what a part adds to the logits after "
        f"{process.position_word} {query + 1}, in nats, minus the mean over tokens.",
        help="These are direct effects: what a later head or MLP reads from a head is "
        "credited to the later part.",
    )


def contribution_table(found: Mapping[str, Any], symbols: tuple[str, ...]) -> pd.DataFrame:
    """Return a table with one row per part, in the model's order, and a last row with their sum."""
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in found.items()}
    rows["logits"] = np.sum(list(rows.values()), axis=0)
    centred = pd.DataFrame([row - row.mean() for row in rows.values()], list(rows), list(symbols))
    shown = centred.map(lambda value: f"{value:+.2f}".replace("-", "−"))
    return shown.rename_axis("part")
