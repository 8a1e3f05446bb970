"""Rankings of positions beside both truths, and the league table of the methods."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Shade, Side, cells_table, heatmap_chart
from attnlab.charts.style import SHARES, TRUTHS
from attnlab.comparisons.shipped import shipped
from attnlab.configuration.number_text import show_percent, show_positions, show_range
from attnlab.inspection.explanations import METHODS
from attnlab.lessons.examples import shipped_example
from attnlab.lessons.explanations import (
    NAME,
    SHOWN,
    Place,
    Ranked,
    explanation_study,
    largest,
    league_table,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.jobs import readable_example
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons.kit import beside, choose, link_to_settings

_PROCESS, _MODEL, _ATTENTION = "process depends on", "model depends on", "attention"
_FAMILIES = ("all", "attention", "transformer", "gru")
_COLUMNS = ("", "auc", "process", "process.auc", "untrained")
_LINE = 27


def draw_rankings() -> None:
    """Draw the rankings of one sequence, and a sentence on its attention."""
    text, picture = beside(
        "Many methods say which inputs a prediction came from. Here the right answer is known: "
        "resample one token, and see how far the prediction moves.",
        title="Which explanation is right?",
    )
    if (example := readable_example(lambda: shipped_example(NAME))) is None:
        return
    with text:
        name = choose("process", SHOWN, key="explained_process")
        found: Ranked = example.result[SHOWN.index(name)]
        misleads = [bool(_missed(found, at).any()) for at in range(len(found.tokens))]
        # The first in which attention misleads.
        at = linked(
            st.slider,
            "sequence",
            1,
            len(misleads),
            1 + int(np.argmax(misleads)),
            key=f"explained_sequence_{name}",
        )
        st.markdown(_in_words(found, at - 1))
        st.caption(
            "Each row is relative to its largest value. ▼ marks the positions that the process "
            "depends on.",
            help="Grey rows are exact: the expected change of the prediction, in total variation, "
            "if the token is resampled from the process given all others. The model is a "
            f"transformer of two layers. {link_to_settings(found.experiment)}",
        )
    with picture:
        _draw_picture(found, at - 1)


def _missed(found: Ranked, at: int) -> np.ndarray:
    """Return which positions that matter are not among those with the most attention."""
    matters = found.truths.process.matters[at]
    return matters & ~largest(found.scores[_ATTENTION][at], int(matters.sum()))


def _in_words(found: Ranked, at: int) -> str:
    """Return whether attention points to the positions that matter."""
    word = found.experiment.generator.position_word
    matters = found.truths.process.matters[at]
    if not matters.any():
        return f"Here the prediction depends on no single {word}."
    pattern = found.scores[_ATTENTION][at]
    answer = show_positions(1 + np.flatnonzero(matters), word)
    top = f"{word} {pattern.argmax() + 1} ({show_percent(float(pattern.max()))})"
    missed = _missed(found, at)
    if not missed.any():
        return f"Attention is right here: the answer is in {answer}, and so is most attention."
    missing = show_positions(1 + np.flatnonzero(missed), word)
    return (
        f"**Attention misleads here**: the last layer looks most at {top}, but the answer is in "
        f"{answer}. It misses {missing}."
    )


def _draw_picture(found: Ranked, at: int) -> None:
    truths = {_PROCESS: found.truths.process.size, _MODEL: found.truths.model.size}
    rows = truths | dict(found.scores)
    sizes = np.array([np.abs(each[at]) for each in rows.values()])
    values = sizes / np.maximum(sizes.max(axis=1, keepdims=True), 1e-9)
    process, tokens = found.experiment.generator, found.tokens[at]
    places = tuple(range(1, len(tokens) + 1))
    marks = found.truths.process.matters[at]
    names = tuple(
        (process.vocabulary.symbols[token], f"{place}", "▼" if mark else "")
        for place, token, mark in zip(places, tokens, marks, strict=True)
    )
    labels = tuple(rows)
    known = f"indexof({list(truths)}, datum.method)"
    draw_chart(
        heatmap_chart(
            cells_table(("method", labels), ("position", places), value=values),
            x=Side("position", process.position_word, places, names),
            y=Side("method", None, labels, look=(("labelLimit", 170),)),
            shades=(
                Shade(None, TRUTHS, legend=False, cells=f"{known} >= 0"),
                Shade(None, SHARES, legend=False, cells=f"{known} < 0"),
            ),
            tips=(
                ("method", "", ""),
                ("position", process.position_word, ""),
                ("value", "relative to the largest", ".2f"),
            ),
            height=_LINE * len(labels) + 70,
        ),
        name="Rankings of the positions",
        alt=f"Rankings of {len(places)} positions by {len(found.scores)} methods, beside both "
        f"truths. {_in_words(found, at).replace('**', '')}",
    )


def draw_league() -> None:
    """Draw the table of all methods, over the shipped runs."""
    stored, study = shipped(NAME), explanation_study()
    family = choose("model", _FAMILIES, key="explained_family")
    chosen = "" if family == _FAMILIES[0] else family
    found = {part: {each.method: each for each in league_table(part, chosen)} for part in _COLUMNS}
    st.markdown(_league_in_words(found[""]))
    table = [
        {
            "method": METHODS[method].label,
            **{
                title: _text(found[part].get(method))
                for part, title in zip(_COLUMNS, _TITLES, strict=True)
            },
        }
        for method in found[""]
    ]
    with st.container(key="explanation_table"):
        st.dataframe(pd.DataFrame(table).set_index("method"), height="content")
    st.caption(
        "Means over processes, with the 95 % interval over seeds in parentheses. Rank "
        "correlation is 0 and the area under the curve 0.5 for a random ranking.",
        help="The resampling patch is close to the truth by definition: it only ignores the other "
        "tokens. The last column reads the method off the untrained weights, and compares it with "
        "what the trained model depends on. Methods that need attention are means without `gru`. "
        f"{len(stored.results)} runs of {len(study.settings) // 3} processes and three families, "
        f"made {stored.made}. Jain and Wallace (2019), “Attention is not explanation”; Wiegreffe "
        "and Pinter (2019), “Attention is not not explanation”.",
    )


def _league_in_words(places: Mapping[str, Place]) -> str:
    best, *_ = places.values()
    text = (
        f"**{METHODS[best.method].label.capitalize()}** is closest to what the model depends on, "
        f"with a rank correlation of {_text(best)}."
    )
    if best.method != _ATTENTION and _ATTENTION in places:
        text += f" Attention reaches {_text(places[_ATTENTION])}."
    return text


_TITLES = (
    "model: rank correlation",
    "model: area under curve",
    "process: rank correlation",
    "process: area under curve",
    "untrained: rank correlation",
)


def _text(place: Place | None) -> str:
    if place is None:
        return "–"
    mean, interval = f"{place.interval.mean:.2f}".replace("-", "−"), place.interval
    if interval.low is None:
        return mean
    return f"{mean} ({show_range(*interval.ends, places=2)})"
