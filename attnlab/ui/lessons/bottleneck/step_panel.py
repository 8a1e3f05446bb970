"""One step of the decoder with its arithmetic."""

from functools import partial

import numpy as np
import streamlit as st

from attnlab.charts import Lit, matrix_chart, matrix_table
from attnlab.charts.core.colours import hues, share_ramp, signed_ramp
from attnlab.configuration.number_text import show_percent
from attnlab.lessons.small_models import DecoderStep, SmallModel, small_steps, stepping, written_by
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.bottleneck.letters import draw_source
from attnlab.ui.lessons.bottleneck.step_arithmetic import FORMULAS, STAGES, Chosen, line_of
from attnlab.ui.lessons.bottleneck.waiting import draw_answered

_KEY = "decoder_stage"
_TEXTS = {
    "query": "The state of the decoder asks: its row times :blue[W_q].",
    "scores": "How well the :blue[query] matches the :red[key] of each state of the encoder.",
    "softmax": "Shares between 0 and 1 that sum to 1.",
    "a": "The states of the encoder, each times its share, summed: what is handed over at this "
    "step.",
    "state": "The next state, of the last letter written, a and the state before.",
    "letter": "The next state times U, and a softmax: the likeliest letter is written, and is what "
    "the next step reads.",
}


def draw_step() -> None:
    """Which source, step, stage and cell; its matrices and its arithmetic."""
    experiment = stepping()
    task = experiment.generator
    st.latex(
        r"e_{ti} = q_t \cdot k_i, \quad \alpha_t = \text{softmax}(e_t), \quad "
        r"a_t = \textstyle\sum_i \alpha_{ti}\, s_i, \quad "
        r"h_t = \tanh(y_{t-1} W_x + a_t W_a + b + h_{t-1} W_h)"
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        tokens = draw_source(task, "fadbe", key="decoder_source")
        count = task.source_length
        t = linked(st.number_input, "step t", 1, count, 1, key="decoder_step", width=120)
        i = linked(st.number_input, "source token i", 1, count, count, key="decoder_at", width=140)
        size = experiment.model.hidden_size
        c = linked(st.number_input, "component", 1, size, 1, key="decoder_component", width=130)
    stage = linked(st.segmented_control, "stage", STAGES, default="scores", required=True, key=_KEY)
    at = Chosen(t - 1, i - 1, c - 1)
    draw_answered(
        (small_steps, experiment, tokens),
        draw=partial(_draw_found, tokens, stage, at),
        key="decoder_stages",
    )


def _draw_found(
    tokens: tuple[int, ...],
    stage: str,
    at: Chosen,
    found: tuple[SmallModel, tuple[DecoderStep, ...]],
) -> None:
    (small, steps), t = found, at.step + 1
    model, letters = small.model, small.experiment.generator.vocabulary.symbols
    written = [letters[token] for token in written_by(steps)]
    source = [letters[token] for token in tokens]
    so_far = "".join(written[: t - 1]) or "nothing yet"
    st.markdown(
        f"Source **{''.join(source)}**, written so far **{so_far}**; step {t} writes "
        f"**{written[t - 1]}** with probability {steps[t - 1].probabilities.max():.3f}"
        f" (true: {source[-t]})."
    )
    st.markdown(_TEXTS[stage])
    for number, (column, grid) in enumerate(
        zip(st.columns(3), _grids(stage, model, steps[t - 1], at), strict=False)
    ):
        with column:
            _draw_grid(*grid, key=f"{stage}_{number}")
    st.caption(
        "How to read it: the framed numbers are those written out below; a stronger colour is "
        "further from 0, violet above it and orange below. Hover for all digits. Weights have "
        "three decimals; "
        f"this model writes {100 * small.exact_match:.1f} ± {100 * small.exact_match_stderr:.1f} % "
        "of test sources without a mistake, ± one standard error over 500 of them; its training "
        f"met {show_percent(share_in_training(small.experiment))} of all sources."
    )
    with st.container(key="decoder_arithmetic"):
        st.latex(FORMULAS[stage])
        st.latex(line_of(stage, model, steps[t - 1], at, letters))


def _grids(stage: str, model, step: DecoderStep, at: Chosen) -> list[tuple]:
    """Title, numbers, what rows and columns are, and the framed row and column, from 1."""
    i, c = at.source + 1, at.component + 1
    width = step.query.size
    in_query = min(c, width)
    query = ("query q", step.query, "", "component", None, None)
    keys = ("keys k", step.keys, "source", "component", i, None)
    scores = ("scores e", step.scores, "", "source", None, i)
    pattern = ("shares α", step.pattern, "", "source", None, i)
    letter = int(step.probabilities.argmax()) + 1
    return {
        "query": [
            ("state h before", step.state, "", "component", None, None),
            ("W_q", model.heads.query.weight, "component of h", "component of q", None, in_query),
            (*query[:5], in_query),
        ],
        "scores": [query, keys, scores],
        "softmax": [scores, pattern],
        "a": [(*pattern[:5], None), ("states s", step.encoded, "source", "component", None, c),
              ("a", step.context, "", "component", None, c)],
        "state": [("a", step.context, "", "component", None, None),
                  ("state h before", step.state, "", "component", None, None),
                  ("next state h", step.next_state, "", "component", None, c)],
        "letter": [("next state h", step.next_state, "", "component", None, None),
                   ("logits", step.logits, "", "letter (1 is a)", None, letter),
                   ("probabilities", step.probabilities, "", "letter (1 is a)", None, letter)],
    }[stage]  # fmt: skip


def _draw_grid(
    title: str,
    values: np.ndarray,
    rows: str,
    columns: str,
    row: int | None,
    column: int | None,
    *,
    key: str,
) -> None:
    values, dark = np.atleast_2d(values), on_dark()
    hue = hues(dark=dark)
    shares = title in ("shares α", "probabilities")
    largest = float(np.abs(values).max()) or 1.0
    lit = [Lit(hue.key, row=row)] if row else []
    lit += [Lit(hue.key if columns == "source" else hue.cursor, column=column)] if column else []
    st.markdown(f"**{title}** {values.shape[0]} × {values.shape[1]}")
    with st.container(key=f"chart_decoder_{key}"):
        draw_chart(
            matrix_chart(
                matrix_table(values),
                shape=values.shape,
                row_title=f"← {rows}" if rows else "row",
                column_title=f"{columns} →",
                domain=(0.0, 1.0) if shares else (-largest, largest),
                ramp=share_ramp(dark=dark) if shares else signed_ramp(dark=dark),
                dark=dark,
                lit=tuple(lit),
            ),
            name=f"One step: {title}",
            alt=_in_words(title, values, columns),
        )


def _in_words(title: str, values: np.ndarray, columns: str) -> str:
    if len(values) == 1:
        numbers = ", ".join(f"{number:.3g}" for number in values[0])
        return f"{title}, one row by {columns}: {numbers}."
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return (
        f"{title}, {values.shape[0]} rows by {values.shape[1]} columns. The largest number is "
        f"{values[row, column]:.3g}, in row {row + 1}, column {column + 1}."
    )
