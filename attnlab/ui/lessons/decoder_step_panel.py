"""One step of a recurrent decoder with attention, with its arithmetic."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import streamlit as st
from jaxtyping import Float

from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.generators import as_task
from attnlab.lessons.small_models import (
    DecoderStep,
    decoder_steps,
    small_model,
    stepping,
    sums_apart,
    written_by,
)
from attnlab.models import RNNAttentionOptions
from attnlab.models.recurrent_seq2seq import EncodedRNN
from attnlab.training.shares import share_in_training
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.lessons.alignment_panel import draw_source
from attnlab.ui.lessons.kit import (
    KEPT,
    Grid,
    bold,
    choose,
    control_row,
    draw_grids,
    link_to_settings,
    number,
    products,
    softmax_of,
)

# Decimals of all numbers in the arithmetic.
_bold, _number, _products, _softmax_of = (
    partial(show, places=4) for show in (bold, number, products, softmax_of)
)
# Explanation and formula of each stage.
_STAGES = {
    "query": (
        "The state of the decoder times :blue[W_q] is the query.",
        r"q_t = h_{t-1} W_q + b_q",
    ),
    "scores": (
        "A score is how well the :blue[query] matches the :red[key] of a state of the encoder.",
        r"e_{ti} = q_t \cdot k_i, \quad k_i = s_i W_k + b_k",
    ),
    "softmax": (
        "The softmax turns scores into shares between 0 and 1 that sum to 1.",
        r"\alpha_{ti} = \frac{e^{e_{ti}}}{\sum_j e^{e_{tj}}}",
    ),
    "a": (
        "The context a is the sum of the encoder's states, weighted by attention.",
        r"a_t = \sum_i \alpha_{ti}\, s_i",
    ),
    "state": (
        "The next state is computed from the last letter, the context a and the state before.",
        r"h_t = \tanh(y_{t-1} W_x + a_t W_a + b + h_{t-1} W_h)",
    ),
    "letter": (
        "The softmax of h U + b_u gives the probabilities of the next letter. The most probable "
        "letter is written, and is the input of the next step.",
        r"p_t = \text{softmax}(h_t U + b_u)",
    ),
}


class Chosen(NamedTuple):
    """The chosen step, source token and component, from 0."""

    step: int
    source: int
    component: int


def draw_step() -> None:
    """Draw controls, and the matrices and arithmetic of the chosen stage of a decoder step."""
    experiment = stepping()
    task, options = as_task(experiment.generator), cast(RNNAttentionOptions, experiment.model)
    count, size = task.prompt_length(), options.hidden_size
    st.markdown(
        "A network small enough to follow writes five letters backwards. Choose the stage "
        "`softmax` and move step t from 1 to 5. The largest attention weight moves from the last "
        "source token to the first."
    )
    st.latex(
        r"e_{ti} = q_t \cdot k_i, \quad \alpha_t = \text{softmax}(e_t), \quad "
        r"a_t = \textstyle\sum_i \alpha_{ti}\, s_i, \quad "
        r"h_t = \tanh(y_{t-1} W_x + a_t W_a + b + h_{t-1} W_h)"
    )
    with control_row():
        tokens = draw_source(task, "fadbe", key="decoder_source")
        t, i, c = (
            linked(st.number_input, label, 1, most, value, key=f"decoder_{key}", width=140, **KEPT)
            for label, most, value, key in (
                ("step t", count, 1, "step"),
                ("source token i", count, count, "at"),
                ("component", size, 1, "component"),
            )
        )
    stage = choose("stage", tuple(_STAGES), "scores", key="decoder_stage", **KEPT)
    at = Chosen(t - 1, i - 1, c - 1)
    small = small_model(experiment)
    model = cast(EncodedRNN, small.model)
    steps = decoder_steps(model, tokens)
    step, letters = steps[at.step], small.experiment.generator.vocabulary.symbols
    source, written = ([letters[token] for token in each] for each in (tokens, written_by(steps)))
    says, formula = _STAGES[stage]
    st.markdown(
        f"Source **{''.join(source)}**; written so far: "
        f"**{''.join(written[: t - 1]) or 'nothing'}**. Step {t} writes "
        f"**{written[t - 1]}** with probability {step.probabilities.max():.3f}"
        f" (true: {source[-t]})."
    )
    st.markdown(says)
    grids = enumerate(_grids(stage, model, step, at))
    draw_grids({f"decoder_{stage}_{place}": grid for place, grid in grids}, prefix="One step: ")
    st.caption(
        "The framed numbers are written out below. Violet numbers are above 0, brown ones below."
    )
    with st.container(key="decoder_arithmetic"):
        st.latex(formula)
        st.latex(_line(stage, model, step, at, letters))
    st.caption(
        "States have 8 components, queries and keys 4; weights are rounded to three decimals. "
        f"Exact match of this model: {100 * small.exact_match:.1f} ± "
        f"{100 * small.exact_match_stderr:.1f} %, ± one standard error over 500 test sources. Its "
        f"training saw {show_percent(share_in_training(small.experiment))} of all sources. "
        f"{link_to_settings(experiment)}"
    )


def _grids(stage: str, model: EncodedRNN, step: DecoderStep, at: Chosen) -> list[Grid]:
    """Return the matrices of a stage; the last one is the result."""
    i, c = at.source + 1, at.component + 1
    in_query, letter = min(c, step.query.size), int(step.probabilities.argmax()) + 1
    scores = Grid("scores e", step.scores[None], "", "source", None, i)
    pattern = Grid("shares α", step.pattern[None], "", "source", None, i, shares=True)

    def row(title: str, values: Float[np.ndarray, " size"], column: int | None = None) -> Grid:
        return Grid(title, values[None], "", "component", None, column)

    if stage == "query":
        weight = np.asarray(present(model.heads).query.weight)
        return [
            row("state h before", step.state),
            Grid("W_q", weight, "component of h", "component of q", None, in_query),
            row("query q", step.query, in_query),
        ]
    if stage == "scores":
        keys = Grid("keys k", step.keys, "source", "component", i)
        return [row("query q", step.query), keys, scores]
    if stage == "softmax":
        return [scores, pattern]
    if stage == "a":
        states = Grid("states s", step.encoded, "source", "component", None, c)
        return [pattern._replace(column=None), states, row("context a", step.context, c)]
    if stage == "state":
        before = row("context a", step.context), row("state h before", step.state)
        return [*before, row("next state h", step.next_state, c)]
    logits, shares = step.logits[None], step.probabilities[None]
    return [
        row("next state h", step.next_state),
        Grid("logits", logits, "", "letter (1 is a)", None, letter),
        Grid("probabilities", shares, "", "letter (1 is a)", None, letter, shares=True),
    ]


def _line(
    stage: str, model: EncodedRNN, step: DecoderStep, at: Chosen, letters: Sequence[str]
) -> str:
    """Return the formula of a stage in LaTeX, with the numbers of the chosen cell."""
    t, i, c = (place + 1 for place in at)
    if stage == "query":
        column = min(at.component, step.query.size - 1)
        weight, shift = map(np.asarray, present(model.heads).query)
        terms = _products(step.state, weight[:, column])
        bias, result = _number(shift[column]), _bold(step.query[column])
        return rf"q_{{{t},{column + 1}}} = {terms} + ({bias}) = {result}"
    if stage == "scores":
        terms = _products(step.query, step.keys[at.source])
        return rf"e_{{{t},{i}}} = {terms} = {_bold(step.scores[at.source])}"
    if stage == "softmax":
        share = _softmax_of(step.scores, at.source, step.pattern)
        return rf"\alpha_{{{t},{i}}} = {share}"
    if stage == "a":
        terms = _products(step.pattern, step.encoded[:, at.component])
        return rf"a_{{{t},{c}}} = {terms} = {_bold(step.context[at.component])}"
    if stage == "state":
        names = (r"y_{t-1}W_x", "a_tW_a", r"h_{t-1}W_h", "b")
        parts = " + ".join(
            rf"\underbrace{{({_number(part[at.component])})}}_{{{name}}}"
            for part, name in zip(sums_apart(model, step), names, strict=True)
        )
        result = _bold(step.next_state[at.component])
        return rf"h_{{{t},{c}}} = \tanh\Big({parts}\Big) = {result}"
    letter = int(step.logits.argmax())
    share = _softmax_of(step.logits, letter, step.probabilities)
    return rf"p_{{{t}}}(\text{{{letters[letter]}}}) = {share}"
