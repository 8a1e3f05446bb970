"""Cards and letters as HTML, and the probabilities of the next token."""

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import streamlit as st
from jaxtyping import Float

from attnlab.configuration.number_text import show_percent
from attnlab.generators import AbstractTask
from attnlab.ui.core.display import has_large_type, on_dark

_RED = ("♥", "♦")
# Without this character, browsers draw hearts and other suits as coloured emoji.
_AS_TEXT = "\N{VARIATION SELECTOR-15}"
# Number of the model's most probable tokens to show.
_MOST = 5


class Hand(NamedTuple):
    """A row of the table: a source, the target written so far (`laid`), and the correct target.

    `attention` is the last written token's attention to each source token, or None. `text` is the
    row as text, for screen readers.
    """

    source: Sequence[str]
    laid: Sequence[str]
    right: Sequence[str]
    attention: Float[np.ndarray, " source"] | None
    text: str


def draw_hands(hands: Sequence[Hand], *, chosen: int) -> None:
    """Draw one row per hand; the row with index `chosen` is marked."""
    rows = []
    for place, hand in enumerate(hands):
        shares = [None] * len(hand.source) if hand.attention is None else hand.attention.tolist()
        source = "".join(
            _card(s, share=share) for s, share in zip(hand.source, shares, strict=True)
        )
        empty = '<div class="card empty"></div>' * (len(hand.right) - len(hand.laid))
        wrong = sum(a != b for a, b in zip(hand.laid, hand.right, strict=False))
        verdict = f"{wrong} wrong" if wrong else "" if empty else "✓ right"
        words = html.escape(f"{place + 1}: {hand.text}. {verdict}", quote=True)
        kind = "hand chosen" if place == chosen else "hand"
        rows.append(
            f'<div class="{kind}" role="img" aria-label="{words}">'
            f'<div class="number">{place + 1}</div>'
            f'<div class="cards source">{source}</div><div class="arrow">→</div>'
            f'<div class="cards target">{_laid(hand)}{empty}</div>'
            f'<div class="verdict{" bad" if wrong else ""}">{verdict}</div></div>'
        )
    _draw_html(rows)


def _draw_html(parts: Iterable[str]) -> None:
    """Draw HTML in the theme and type size of the page."""
    kind = f"attnlab-table {'on-dark' if on_dark() else ''} {'large' if has_large_type() else ''}"
    st.html(f'<div class="{kind}">{"".join(parts)}</div>')


def _laid(hand: Hand) -> str:
    cards = []
    for index, (symbol, right) in enumerate(zip(hand.laid, hand.right, strict=False), 1):
        kind = "wrong" if symbol != right else ""
        if index == len(hand.laid) < len(hand.right):
            kind = f"{kind} last".strip()
        cards.append(_card(symbol, kind=kind, note=f"✓ {right}" if symbol != right else ""))
    return "".join(cards)


def _card(symbol: str, *, kind: str = "", share: float | None = None, note: str = "") -> str:
    colour = "red" if symbol[-1] in _RED else ""
    below = ""
    if share is not None:
        below = f'<div class="share"><div style="width:{100 * share:.0f}%"></div></div>'
        below += f'<div class="percent">{100 * share:.0f}</div>'
    if note:
        below = f'<div class="note">{_text(note)}</div>'
    return f'<div class="card {colour} {kind}"><div class="face">{_text(symbol)}</div>{below}</div>'


def _bar(probability: float, kind: str) -> str:
    words = show_percent(probability)
    return (
        f'<div class="bar {kind}"><div style="width:{100 * probability:.1f}%"></div></div>'
        f'<span class="percent">{words}</span>'
    )


def _text(symbol: str) -> str:
    return html.escape("".join(c + _AS_TEXT if c in "♣♦♥♠" else c for c in symbol))


def draw_next(
    task: AbstractTask,
    source: np.ndarray,
    target: np.ndarray,
    probs: np.ndarray,
    laid: int,
    *,
    is_heated: bool,
) -> None:
    """Draw the most probable tokens after the first `laid` tokens of the target.

    If the target is complete, draw those of its last position. `probs` are at temperature 1, which
    the caption states if `is_heated`.
    """
    place = min(laid, task.prompt_length() - 1)
    belief = task.start()
    for token in (*source, *target[:place]):
        belief = task.update(belief, jnp.asarray(token))
    true = np.exp(np.asarray(task.log_probs(belief)))
    likely = np.argsort(-probs[place], kind="stable")[:_MOST]
    shown = [*likely, *(token for token in np.argsort(-true)[:1] if token not in likely)]
    rest = 1 - float(probs[place, shown].sum())
    lines = ["<tr><th></th><th>model</th><th>true</th></tr>"]
    for token in shown:
        symbol = task.vocabulary.symbols[token]
        lines.append(
            f'<tr><td class="{"red" if symbol[-1] in _RED else ""}">{_text(symbol)}</td>'
            f"<td>{_bar(float(probs[place, token]), 'learned')}</td>"
            f"<td>{_bar(float(true[token]), 'truth')}</td></tr>"
        )
    which = "Next" if laid < task.prompt_length() else "Last"
    st.markdown(f"**{which} {task.token_name}: {place + 1} of {task.prompt_length()}**")
    _draw_html(['<table class="next">', *lines, "</table>"])
    heat = " at temperature 1" if is_heated else ""
    st.caption(
        f"The model's {_MOST} most probable tokens{heat}, beside the true probabilities. "
        f"All other tokens together have {show_percent(max(rest, 0.0))}."
    )
