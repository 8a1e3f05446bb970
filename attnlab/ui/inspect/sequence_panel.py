"""Inspect: one sequence in the hand, its pattern, its prediction and the arithmetic of a cell."""

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.charts import next_day_chart, next_day_table, pattern_chart, pattern_table
from attnlab.inspection import final_probs, surprise
from attnlab.models import AbstractModel, CellArithmetic
from attnlab.models.inside import trace_of
from attnlab.models.readout import readout_position
from attnlab.optimum import next_day
from attnlab.training.experiment import Experiment
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.inspect.maps_panel import map_height
from attnlab.ui.train.inside_panel import Choice, draw_head_choice

_HEIGHT = 320
_SHOWN_TERMS = 6


def draw_sequence(experiment: Experiment, model: AbstractModel, probes: np.ndarray) -> None:
    """An editor of the days, and all that follows from them."""
    tokens = edited_days(experiment, probes)
    _draw_editor(experiment, tokens, probes)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        _draw_prediction(experiment, model, tokens)
    trace = trace_of(model, tokens)
    if not trace.attention:
        return
    with right:
        choice = Choice(0, *draw_head_choice(trace, "cell"))
        found, pattern = choice.of(trace)
        query, key = _draw_pattern(experiment, tokens, pattern.astype(np.float64), found.mask)
    cell = model.cell(
        jnp.asarray(tokens), layer=found.layer, head=choice.head, query=query, key=key
    )
    with st.container(key="arithmetic"):
        if cell is not None:
            _draw_arithmetic(cell, query, key)


def edited_days(experiment: Experiment, probes: np.ndarray) -> np.ndarray:
    """The sequence in the hand; the first probe until somebody edits it."""
    size, length = experiment.generator.vocabulary.size, experiment.length
    tokens = st.session_state.get("edited_days")
    if tokens is None or len(tokens) != length or max(tokens) >= size:
        st.session_state["edited_days"] = tokens = tuple(int(token) for token in probes[0])
    return np.array(tokens)


def _draw_editor(experiment: Experiment, tokens: np.ndarray, probes: np.ndarray) -> None:
    """Buttons, one a day; a click puts the next symbol there."""
    vocabulary = experiment.generator.vocabulary
    st.markdown("Click a day to change it; the oldest is at the left.")
    with st.container(horizontal=True, gap="xxsmall", key="day_editor"):
        for day, token in enumerate(tokens):
            st.button(
                f"{as_text(vocabulary.symbols[token])} {day + 1}",
                key=f"edit_day_{day + 1}",
                on_click=_turn,
                args=(day, vocabulary.size),
            )
    st.selectbox(
        "take the days of sequence",
        range(len(probes)),
        key="edited_from",
        format_func=lambda i: f"{i + 1}: {vocabulary.render(probes[i])}",
        width=320,
        on_change=_take,
        args=(probes,),
    )


def _turn(day: int, size: int) -> None:
    tokens = list(st.session_state["edited_days"])
    tokens[day] = (tokens[day] + 1) % size
    st.session_state["edited_days"] = tuple(tokens)


def _take(probes: np.ndarray) -> None:
    row = probes[st.session_state["edited_from"]]
    st.session_state["edited_days"] = tuple(int(token) for token in row)


def _draw_prediction(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    vocabulary = experiment.generator.vocabulary
    learned = final_probs(model, tokens[None], experiment.training.readout)[0]
    try:
        true = next_day(experiment.generator, tokens.tolist())
    except ValueError as error:
        draw_error(f"{error} The model, which cannot know, says:", icon=":material/block:")
        rows = zip(vocabulary.symbols, learned, strict=True)
        shares = (f"{as_text(symbol)} {probability:.3f}" for symbol, probability in rows)
        st.markdown(" · ".join(shares))
        return
    parts = surprise(true, learned)
    with st.container(key="chart_next_day"):
        draw_chart(
            next_day_chart(
                next_day_table(true, learned, vocabulary),
                symbols=vocabulary.symbols,
                dark=on_dark(),
                height=_HEIGHT,
            ),
            name="The next day",
            alt=f"The next day. True: {_in_words(true, vocabulary.symbols)}; model: "
            f"{_in_words(learned, vocabulary.symbols)}.",
        )
    with st.container(horizontal=True, key="surprise"):
        st.metric(
            "unpredictable by anyone (nats)",
            f"{parts.unavoidable:.3f}",
            width="content",
            help="Entropy of the true law of the next day.",
        )
        st.metric(
            "the model's error (nats)",
            f"{parts.error:.3f}",
            width="content",
            help="KL divergence of the model's law from the true one. The expected loss is "
            "the sum of the two.",
        )


def _in_words(probs: np.ndarray, symbols: tuple[str, ...]) -> str:
    pairs = zip(symbols, probs, strict=True)
    return ", ".join(f"{symbol} {probability:.2f}" for symbol, probability in pairs)


def _draw_pattern(
    experiment: Experiment, tokens: np.ndarray, pattern: np.ndarray, mask: np.ndarray
) -> tuple[int, int]:
    """The heatmap of the edited sequence; the cell that is clicked, or the strongest read out."""
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
            name="Pattern of the edited sequence",
            key="cell_chart",
            on_select="rerun",
            alt=f"Pattern of the edited sequence. Day {read + 1} gives "
            f"{pattern[read, strongest]:.0%} to day {strongest + 1}.",
        )
    st.caption("Click a cell for its arithmetic below.")
    picked = event["selection"].get("cell") if event else None
    if picked and {"query", "key"} <= picked[0].keys():
        query, key = int(picked[0]["query"]) - 1, int(picked[0]["key"]) - 1
        if query < length and key < length:
            return query, key
    return read, strongest


def _draw_arithmetic(cell: CellArithmetic, query: int, key: int) -> None:
    st.markdown(f"**Query day {query + 1}, key day {key + 1}**")
    terms = [
        f"({q:.2f})({k:.2f})"
        for q, k in zip(cell.query[:_SHOWN_TERMS], cell.key[:_SHOWN_TERMS], strict=True)
    ]
    if cell.query.size > _SHOWN_TERMS:
        terms.append(r"\dots")
    # Two a line fit a phone.
    pairs = [" + ".join(terms[i : i + 2]) for i in range(0, len(terms), 2)]
    bias = f" + ({cell.bias:.3f})" if cell.bias else ""
    st.latex(
        r"\begin{aligned}\text{score} &= q \cdot k \\ &= "
        + r" \\ &\quad + ".join(pairs)
        + rf" \\ &= {cell.score:.3f} \\ \text{{scaled}} &= {cell.scale:.4g} \times "
        rf"{_signed(cell.score)}{bias} = {cell.scaled[key]:.3f}\end{{aligned}}"
    )
    if not cell.admitted[key]:
        st.latex(r"\text{masked: its share is exactly } 0")
        return
    admitted = cell.scaled[cell.admitted]
    total = np.exp(admitted - admitted.max()).sum()
    largest = float(admitted.max())
    st.latex(
        rf"\begin{{aligned}}\text{{share}} &= \frac{{\exp({cell.scaled[key]:.3f} - "
        rf"{_signed(largest)})}}{{\sum_{{{admitted.size}\ \text{{days}}}} \exp(s - "
        rf"{_signed(largest)})}} \\[4pt] &= "
        rf"\frac{{{np.exp(cell.scaled[key] - largest):.4f}}}{{{total:.4f}}}"
        rf" = {cell.pattern[key]:.3f}\end{{aligned}}"
    )
    st.caption(
        f"How to read it: s are the scaled scores of the {admitted.size} days that day "
        f"{query + 1} may look at; the largest of them, {largest:.3f}, is taken from each, which "
        "changes no share and keeps the exponentials small."
    )


def _signed(number: float) -> str:
    return f"({number:.3f})" if number < 0 else f"{number:.3f}"
