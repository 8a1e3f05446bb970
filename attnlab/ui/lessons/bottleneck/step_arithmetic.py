"""The arithmetic of one step of a decoder, written out with its numbers."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnlab.lessons.small_models import DecoderStep, sums_apart
from attnlab.models.recurrent_seq2seq import EncodedRNN
from attnlab.ui.lessons.head.stage_arithmetic import number

# Longer sums are cut in the middle.
_MOST_TERMS = 5

FORMULAS = MappingProxyType(
    {
        "query": r"q_t = h_{t-1} W_q + b_q",
        "scores": r"e_{ti} = q_t \cdot k_i, \quad k_i = s_i W_k + b_k",
        "softmax": r"\alpha_{ti} = \frac{e^{e_{ti}}}{\sum_j e^{e_{tj}}}",
        "a": r"a_t = \sum_i \alpha_{ti}\, s_i",
        "state": r"h_t = \tanh(y_{t-1} W_x + a_t W_a + b + h_{t-1} W_h)",
        "letter": r"p_t = \text{softmax}(h_t U + b_u)",
    }
)
STAGES = tuple(FORMULAS)


class Chosen(NamedTuple):
    """The chosen step, source token and component, from 0."""

    step: int
    source: int
    component: int


def line_of(
    stage: str, model: EncodedRNN, step: DecoderStep, at: Chosen, letters: Sequence[str]
) -> str:
    """The formula of the stage for the chosen cell, with its numbers plugged in."""
    t, i, c = (place + 1 for place in at)
    if stage == "query":
        column = min(at.component, step.query.size - 1)
        terms = _products(step.state, model.heads.query.weight[:, column])
        bias = number(_short(model.heads.query.bias[column]))
        return rf"q_{{{t},{column + 1}}} = {terms} + ({bias}) = {_bold(step.query[column])}"
    if stage == "scores":
        terms = _products(step.query, step.keys[at.source])
        return rf"e_{{{t},{i}}} = {terms} = {_bold(step.scores[at.source])}"
    if stage == "softmax":
        below = _sum(f"e^{{{number(_short(score))}}}" for score in step.scores)
        above = f"e^{{{number(_short(step.scores[at.source]))}}}"
        share = _bold(step.pattern[at.source])
        return rf"\alpha_{{{t},{i}}} = \frac{{{above}}}{{{below}}} = {share}"
    if stage == "a":
        terms = _products(step.pattern, step.encoded[:, at.component])
        return rf"a_{{{t},{c}}} = {terms} = {_bold(step.context[at.component])}"
    if stage == "state":
        return _state_line(model, step, at)
    letter = int(step.logits.argmax())
    below = _sum(f"e^{{{number(_short(logit))}}}" for logit in step.logits)
    above = f"e^{{{number(_short(step.logits[letter]))}}}"
    share = _bold(step.probabilities[letter])
    return rf"p_{{{t}}}(\text{{{letters[letter]}}}) = \frac{{{above}}}{{{below}}} = {share}"


def _state_line(model: EncodedRNN, step: DecoderStep, at: Chosen) -> str:
    c = at.component
    of = (r"y_{t-1}W_x", "a_tW_a", r"h_{t-1}W_h", "b")
    parts = " + ".join(
        rf"\underbrace{{({number(_short(part[c]))})}}_{{{name}}}"
        for part, name in zip(sums_apart(model, step), of, strict=True)
    )
    result = _bold(step.next_state[c])
    return rf"h_{{{at.step + 1},{c + 1}}} = \tanh\Big({parts}\Big) = {result}"


def _products(left: Float[np.ndarray, " terms"], right: Float[np.ndarray, " terms"]) -> str:
    return _sum(
        f"({number(_short(a))})({number(_short(b))})" for a, b in zip(left, right, strict=True)
    )


def _sum(terms: Iterable[str]) -> str:
    terms = list(terms)
    if len(terms) > _MOST_TERMS:
        terms = [*terms[: _MOST_TERMS - 2], r"\dots", terms[-1]]
    return " + ".join(terms)


def _bold(value: float | np.floating) -> str:
    return rf"\mathbf{{{number(_short(value))}}}"


def _short(value: float | np.floating) -> float:
    """Four decimals, and no sign where nothing is left."""
    return round(float(value), 4) + 0.0
