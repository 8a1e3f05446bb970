"""The task as a picture: a sample sequence, the positions that matter, and the token to predict."""

import functools
import html
from collections.abc import Collection, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from attnlab.configuration.number_text import show_percent, show_positions
from attnlab.generators import AbstractGenerator, is_task, log_predictives
from attnlab.inspection import final_probs, probs_by_query
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import on_dark

QUESTION = "Can the model discover this rule from examples?"
# The most tokens in the picture, and the most tokens whose probabilities are shown beside it.
_MOST_SHOWN, _MOST_LIKELY = 11, 3
_GAP = '<div class="gap">…</div>'


class Picture(NamedTuple):
    """A sample sequence and the token to predict.

    Attributes:
        symbols: The symbols that the prediction may use.
        marked: The positions that the prediction depends on, from 1.
        number: The position of the token to predict, from 1; for a task, within the target.
        goes_on: Whether more tokens are predicted after it.
        chances: Its most probable values, each with the model's probability, or None if there is
            no model yet, and the true probability.
    """

    symbols: Sequence[str]
    marked: Collection[int]
    number: int
    goes_on: bool
    chances: Sequence[tuple[str, float | None, float]]


def true_probs(
    generator: AbstractGenerator, tokens: tuple[int, ...]
) -> Float[np.ndarray, "positions vocab"]:
    """Return p(next token | the first t tokens) in row t."""
    # With one token more than is visible, row t exists for all of them.
    padded = jnp.asarray((*tokens, 0))
    return np.exp(np.asarray(log_predictives(generator.at_length(len(tokens)), padded)))


@functools.lru_cache(64)
def final_sources(generator: AbstractGenerator, tokens: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the positions, from 1, that this sequence's final prediction is read from.

    The result is None unless each sequence has its own sources.
    """
    sources = generator.at_length(len(tokens)).true_sources(jnp.asarray(tokens))
    return None if sources is None else tuple(map(int, np.flatnonzero(sources[-1]) + 1))


@functools.lru_cache(64)
def _read_until(generator: AbstractGenerator, tokens: tuple[int, ...]) -> int:
    """Return the number of tokens before the last one in the loss; all if none is."""
    process = generator.at_length(len(tokens))
    mask = process.loss_mask(jnp.asarray((*tokens, 0)))
    in_loss = np.flatnonzero(mask) if mask is not None else np.zeros(0)
    return int(in_loss[-1]) if in_loss.size else len(tokens)


def picture_of(
    experiment: Experiment,
    tokens: Int[np.ndarray, " length"],
    informative: Collection[int],
    model: AbstractModel | None,
    true: Float[np.ndarray, "positions vocab"] | None,
) -> Picture:
    """Return the picture of an experiment's task on one sequence of visible tokens.

    Args:
        experiment: The experiment.
        tokens: The visible tokens.
        informative: The positions that the final prediction truly depends on, from 1.
        model: The model whose prediction is shown, if there is one.
        true: The result of `true_probs` for these tokens, once it is known.
    """
    process, training = experiment.generator, experiment.training
    symbols = process.vocabulary.symbols
    prompt = process.prompt_length()
    seen = prompt or _read_until(process, tuple(map(int, tokens)))
    marked = set(informative)
    if is_task(process):
        source = jnp.asarray(tokens[:prompt])
        aligned = np.flatnonzero(np.asarray(process.true_alignment(source))[0])
        marked = {int(place) + 1 for place in aligned}
    elif (sources := final_sources(process, tuple(map(int, tokens[:seen])))) is not None:
        marked = set(sources)
    chances = []
    if true is not None:
        learned = None
        if model is not None and (prompt or seen < len(tokens)):
            learned = probs_by_query(model, tokens[None])[0, seen - 1]
        elif model is not None:
            learned = final_probs(model, tokens[None], training.readout)[0]
        likely = np.argsort(-true[seen], kind="stable")[:_MOST_LIKELY]
        chances = [
            (symbols[i], None if learned is None else float(learned[i]), float(true[seen][i]))
            for i in likely
            if true[seen][i] > 0
        ]
    return Picture(
        tuple(symbols[token] for token in tokens[:seen]),
        marked,
        1 if prompt else seen + 1,
        prompt > 1,
        chances,
    )


def draw_task(experiment: Experiment, picture: Picture | None) -> None:
    """Draw the question, the rule in words, and the picture, once there is a sample sequence."""
    st.markdown(f"**{QUESTION}**")
    st.markdown(experiment.generator.rule_in_words(experiment.length))
    if picture is not None:
        word = experiment.generator.position_word
        st.html(picture_html(picture, word=word, dark=on_dark()))


def picture_html(picture: Picture, *, word: str, dark: bool) -> str:
    """Return the picture as HTML with a text alternative; `word` is the noun for a position."""
    cells, last = [], 0
    for place in _shown(len(picture.symbols), picture.marked):
        if place > last + 1:
            cells.append(_GAP)
        marked = " marked" if place in picture.marked else ""
        cells.append(_cell(picture.symbols[place - 1], str(place), marked))
        last = place
    cells.append(f'<div class="gap">→</div>{_cell("?", str(picture.number), " question")}')
    if picture.goes_on:
        cells.append(_GAP)
    chances = "".join(
        f"<tr><td>{html.escape(symbol)}</td><td>{_bar(model, 'learned')}</td>"
        f"<td>{_bar(true, 'truth')}</td></tr>"
        for symbol, model, true in picture.chances
    )
    table = (
        f"<table><tr><th>?</th><th>model</th><th>true</th></tr>{chances}</table>" if chances else ""
    )
    caption = f'<div class="place">underlined: {word}s that matter</div>' if picture.marked else ""
    return (
        f'<div class="attnlab-task {"on-dark" if dark else ""}" role="img" '
        f'aria-label="{html.escape(_in_words(picture, word), quote=True)}">'
        f'<div><div class="tokens">{"".join(cells)}</div>{caption}</div>{table}</div>'
    )


def _shown(count: int, marked: Collection[int]) -> list[int]:
    """Return the positions in the picture: the marked ones first, then the last and first ones."""
    if count <= _MOST_SHOWN:
        return list(range(1, count + 1))
    ends = sorted(range(1, count + 1), key=lambda place: min(place - 0.5, count - place))
    shown = sorted(marked)[-(_MOST_SHOWN - 2) :]
    shown += [place for place in ends if place not in shown][: _MOST_SHOWN - 1 - len(shown)]
    return sorted(shown)


def _cell(symbol: str, number: str, kind: str) -> str:
    return (
        f'<div class="token{kind}"><div class="symbol">{html.escape(symbol)}</div>'
        f'<div class="place">{number}</div></div>'
    )


def _bar(probability: float | None, kind: str) -> str:
    if probability is None:
        return "–"
    width = f"{100 * probability:.1f}%"
    return (
        f'<div class="bar {kind}"><div style="width:{width}"></div></div>'
        f'<span class="percent">{show_percent(probability)}</span>'
    )


def _in_words(picture: Picture, word: str) -> str:
    source = show_positions(picture.marked, word)
    parts = [
        f"A sample sequence: {' '.join(picture.symbols)}, then a {word} to predict.",
        f"It depends on {source}." if picture.marked else "",
    ]
    parts += [
        f"{symbol}: model {'unknown' if model is None else show_percent(model)}, "
        f"true {show_percent(true)}."
        for symbol, model, true in picture.chances
    ]
    return " ".join(filter(None, parts))
