"""Inspect: the attention pattern of the sequence, and the arithmetic of one of its cells."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.charts import pattern_chart, pattern_table
from attnlab.models import AbstractModel, CellArithmetic
from attnlab.models.inside import trace_of
from attnlab.models.readout import readout_position
from attnlab.training.experiment import Experiment
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.inspect.maps_panel import map_height
from attnlab.ui.inspect.view import View

_SHOWN_TERMS = 6
# Of each score the formula, one term of its sum, and what stands before the sum.
_SCORES = {
    "dot": (r"q \cdot k", "({q:.2f})({k:.2f})", ""),
    "additive": (r"\textstyle\sum_i \tanh(q_i + k_i)", r"\tanh({q:.2f} + {k_signed})", ""),
    "gaussian": (
        r"-\tfrac{1}{2} \lVert q - k \rVert^2", "({q:.2f} - {k_signed})^2", r"-\tfrac{1}{2}",
    ),
}  # fmt: skip


def draw_cell(experiment: Experiment, model: AbstractModel, tokens: np.ndarray, view: View) -> None:
    """The pattern of the chosen head on a sequence, and how a cell of it comes about.

    Nothing for a model without attention.
    """
    trace = trace_of(model, tokens)
    if not trace.attention:
        return
    # Drawn when opened: a model's first arithmetic takes seconds.
    panel = st.expander(
        "The arithmetic of a cell", key="cell_panel", on_change="rerun", icon=":material/calculate:"
    )
    if not panel.open:
        return
    found, pattern = view.of(trace.attention)
    head = min(view.choice.heads[0], len(found.pattern) - 1)
    with panel:
        left, right = st.columns(2, gap="medium")
        with left:
            query, key = _draw_pattern(experiment, tokens, pattern.astype(np.float64), found.mask)
        cell = model.cell(jnp.asarray(tokens), layer=found.layer, head=head, query=query, key=key)
        with right, st.container(key="arithmetic"):
            if cell is not None:
                _draw_arithmetic(cell, query, key)


def _draw_pattern(
    experiment: Experiment, tokens: np.ndarray, pattern: np.ndarray, mask: np.ndarray
) -> tuple[int, int]:
    """The heatmap of the sequence; the cell that is clicked, or the strongest read out."""
    length, vocabulary = experiment.length, experiment.generator.vocabulary
    symbols = tuple(vocabulary.symbols[token] for token in tokens)
    read = readout_position(experiment.training.readout, length)
    strongest = int(pattern[read].argmax())
    chart = pattern_chart(
        pattern_table(pattern, mask, symbols),
        length=length,
        symbols=symbols,
        dark=on_dark(),
        height=map_height(length),
        clicked="cell",
    )
    with st.container(key="chart_cells"):
        event = draw_chart(
            chart,
            name="Pattern of the sequence",
            key="cell_chart",
            on_select="rerun",
            alt=f"Pattern of the sequence. Day {read + 1} gives {pattern[read, strongest]:.0%} to "
            f"day {strongest + 1}.",
        )
    st.caption("Click a cell for its arithmetic.")
    picked = event["selection"].get("cell") if event else None
    if picked and {"query", "key"} <= picked[0].keys():
        query, key = int(picked[0]["query"]) - 1, int(picked[0]["key"]) - 1
        if query < length and key < length:
            return query, key
    return read, strongest


def _draw_arithmetic(cell: CellArithmetic, query: int, key: int) -> None:
    st.markdown(f"**Query day {query + 1}, key day {key + 1}**")
    formula, term, before = _SCORES[cell.kind]
    terms = [
        term.format(q=q, k=k, k_signed=f"({k:.2f})" if k < 0 else f"{k:.2f}")
        for q, k in zip(cell.query[:_SHOWN_TERMS], cell.key[:_SHOWN_TERMS], strict=True)
    ]
    if cell.query.size > _SHOWN_TERMS:
        terms.append(r"\dots")
    # Two a line fit a phone.
    pairs = [" + ".join(terms[i : i + 2]) for i in range(0, len(terms), 2)]
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
        rf"{_signed(largest)})}}{{\sum_{{{unmasked.size}\ \text{{days}}}} \exp(s - "
        rf"{_signed(largest)})}} \\[4pt] &= "
        rf"\frac{{{np.exp(cell.scaled[key] - largest):.4f}}}{{{total:.4f}}}"
        rf" = {cell.pattern[key]:.3f}\end{{aligned}}"
    )
    st.caption(
        f"How to read it: s are the scaled scores of the {unmasked.size} days that day "
        f"{query + 1} may attend to; the largest of them, {largest:.3f}, is subtracted from "
        "each, which changes no share and keeps the exponentials small."
    )


def _signed(number: float) -> str:
    return f"({number:.3f})" if number < 0 else f"{number:.3f}"
