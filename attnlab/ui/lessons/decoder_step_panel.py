"""One step of a recurrent decoder with attention, with its arithmetic."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import streamlit as st

from attnlab.charts import Matrix
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
from attnlab.ui.lessons import kit
from attnlab.ui.lessons.alignment_panel import draw_source

# Decimals of all numbers in the arithmetic.
_bold, _number, _products, _softmax_of = (
    partial(show, places=4) for show in (kit.bold, kit.number, kit.products, kit.softmax_of)
)
_STAGES = ("query", "scores", "softmax", "a", "state", "letter")


class Chosen(NamedTuple):
    """The chosen step, source token and component, from 0."""

    step: int
    source: int
    component: int


class Stage(NamedTuple):
    """A stage of a step: its explanation, its formula, and the formula with numbers, in LaTeX.

    The last of the matrices is the result.
    """

    says: str
    formula: str
    numbers: str
    matrices: list[Matrix]


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
    with kit.control_row():
        tokens = draw_source(task, "fadbe", key="decoder_source")
        t, i, c = (
            linked(
                st.number_input, label, 1, most, value, key=f"decoder_{key}", width=140, **kit.KEPT
            )
            for label, most, value, key in (
                ("step t", count, 1, "step"),
                ("source token i", count, count, "at"),
                ("component", size, 1, "component"),
            )
        )
    stage = kit.choose("stage", _STAGES, "scores", key="decoder_stage", **kit.KEPT)
    at = Chosen(t - 1, i - 1, c - 1)
    small = small_model(experiment)
    model = cast(EncodedRNN, small.model)
    steps = decoder_steps(model, tokens)
    step, letters = steps[at.step], small.experiment.generator.vocabulary.symbols
    source, written = ([letters[token] for token in each] for each in (tokens, written_by(steps)))
    shown = _stages(model, step, at, letters)[stage]
    st.markdown(
        f"Source **{''.join(source)}**; written so far: "
        f"**{''.join(written[: t - 1]) or 'nothing'}**. Step {t} writes "
        f"**{written[t - 1]}** with probability {step.probabilities.max():.3f}"
        f" (true: {source[-t]})."
    )
    st.markdown(shown.says)
    kit.draw_matrices(shown.matrices, prefix="One step: ")
    st.caption(
        "The framed numbers are written out below. Violet numbers are above 0, brown ones below."
    )
    with st.container(key="decoder_arithmetic"):
        st.latex(shown.formula)
        st.latex(shown.numbers)
    st.caption(
        "States have 8 components, queries and keys 4; weights are rounded to three decimals. "
        f"Exact match of this model: {100 * small.exact_match:.1f} ± "
        f"{100 * small.exact_match_stderr:.1f} %, ± one standard error over 500 test sources. Its "
        f"training saw {show_percent(share_in_training(small.experiment))} of all sources. "
        f"{kit.link_to_settings(experiment)}"
    )


def _stages(
    model: EncodedRNN, step: DecoderStep, at: Chosen, letters: Sequence[str]
) -> dict[str, Stage]:
    """Return all stages of a step, with the chosen numbers framed and written out."""
    t, i, c = (place + 1 for place in at)

    def row(title: str, values: np.ndarray, column: int | None = None) -> Matrix:
        return Matrix(title, values[None], "", "component", None, column)

    # Queries have fewer components than states.
    in_query, letter = min(at.component, step.query.size - 1), int(step.logits.argmax())
    weight, shift = map(np.asarray, present(model.heads).query)
    state, following = row("state h before", step.state), row("next state h", step.next_state)
    query, context = row("query q", step.query), row("context a", step.context)
    scores = Matrix("scores e", step.scores[None], "", "source", None, i)
    pattern = Matrix("shares α", step.pattern[None], "", "source", None, i, shares=True)
    logits = Matrix("logits", step.logits[None], "", "letter (1 is a)", None, letter + 1)
    probabilities = logits._replace(
        title="probabilities", values=step.probabilities[None], shares=True
    )
    names = (r"y_{t-1}W_x", "a_tW_a", r"h_{t-1}W_h", "b")
    sums = " + ".join(
        rf"\underbrace{{({_number(part[at.component])})}}_{{{name}}}"
        for part, name in zip(sums_apart(model, step), names, strict=True)
    )
    of_query = _products(step.state, weight[:, in_query])
    of_key = _products(step.query, step.keys[at.source])
    of_states = _products(step.pattern, step.encoded[:, at.component])
    return {
        "query": Stage(
            "The state of the decoder times :blue[W_q] is the query.",
            r"q_t = h_{t-1} W_q + b_q",
            rf"q_{{{t},{in_query + 1}}} = {of_query} + ({_number(shift[in_query])}) = "
            f"{_bold(step.query[in_query])}",
            [
                state,
                Matrix("W_q", weight, "component of h", "component of q", None, in_query + 1),
                query._replace(column=in_query + 1),
            ],
        ),
        "scores": Stage(
            "A score is how well the :blue[query] matches the :red[key] of a state of the encoder.",
            r"e_{ti} = q_t \cdot k_i, \quad k_i = s_i W_k + b_k",
            rf"e_{{{t},{i}}} = {of_key} = {_bold(step.scores[at.source])}",
            [query, Matrix("keys k", step.keys, "source", "component", i), scores],
        ),
        "softmax": Stage(
            "The softmax turns scores into shares between 0 and 1 that sum to 1.",
            r"\alpha_{ti} = \frac{e^{e_{ti}}}{\sum_j e^{e_{tj}}}",
            rf"\alpha_{{{t},{i}}} = {_softmax_of(step.scores, at.source, step.pattern)}",
            [scores, pattern],
        ),
        "a": Stage(
            "The context a is the sum of the encoder's states, weighted by attention.",
            r"a_t = \sum_i \alpha_{ti}\, s_i",
            rf"a_{{{t},{c}}} = {of_states} = {_bold(step.context[at.component])}",
            [
                pattern._replace(column=None),
                Matrix("states s", step.encoded, "source", "component", None, c),
                context._replace(column=c),
            ],
        ),
        "state": Stage(
            "The next state is computed from the last letter, the context a and the state before.",
            r"h_t = \tanh(y_{t-1} W_x + a_t W_a + b + h_{t-1} W_h)",
            rf"h_{{{t},{c}}} = \tanh\Big({sums}\Big) = {_bold(step.next_state[at.component])}",
            [context, state, following._replace(column=c)],
        ),
        "letter": Stage(
            "The softmax of h U + b_u gives the probabilities of the next letter. The most "
            "probable letter is written, and is the input of the next step.",
            r"p_t = \text{softmax}(h_t U + b_u)",
            rf"p_{{{t}}}(\text{{{letters[letter]}}}) = "
            f"{_softmax_of(step.logits, letter, step.probabilities)}",
            [following, logits, probabilities],
        ),
    }
