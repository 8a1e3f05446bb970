"""What three small models attend to, beside the alignment and the dependence of their tasks."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.charts import token_map_chart, token_map_table
from attnlab.configuration.number_text import show_percent
from attnlab.lessons.small_models import (
    ALIGNED_FAMILIES,
    ALIGNED_TASKS,
    Looked,
    Truth,
    aligning,
    look,
    share_aligned,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.bottleneck.letters import draw_source
from attnlab.ui.lessons.bottleneck.waiting import draw_answered

_FIRST = "fbhdbc"
_TITLES = ("source token →", "← target token")
_WHAT = {
    "copy": "The same letters: token j is taken from place j, a diagonal.",
    "reverse": "Backwards: token j is taken from place n + 1 − j, the other diagonal.",
    "sort": "In order: the place depends on all letters; equal letters have several places.",
}


class TokenMap(NamedTuple):
    """One map: its shares, what may be seen, what is framed, and the tokens along its axes."""

    shares: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    titles: tuple[str, str] = _TITLES
    seen: np.ndarray | None = None
    framed: np.ndarray | None = None
    known: bool = False
    meaning: str = "share of attention"


def draw_alignments() -> None:
    """Letters, a family, and a column of maps for each task."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        family = linked(
            st.segmented_control, "model", ALIGNED_FAMILIES, default=ALIGNED_FAMILIES[0],
            required=True, key="align_model",
        )  # fmt: skip
        tokens = draw_source(aligning("copy", family).generator, _FIRST, key="align_source")
    draw_answered(
        *((look, aligning(task, family), tokens) for task in ALIGNED_TASKS),
        draw=_draw_tasks,
        key="alignments",
    )


def _draw_tasks(*found: Looked) -> None:
    for column, looked in zip(st.columns(3, gap="medium"), found, strict=True):
        with column:
            _draw_task(looked)
    st.caption(
        "How to read it: a row is a target token and a column a source token. Violet is what the "
        "model attends to while it writes that token, given the true ones before it; a row sums to "
        "1. Dashed frames, and 1 in the grey maps, are the true alignment: where the token is "
        "taken from. The models come with the program, 2,000 steps of 64 sequences each; their "
        "shares and exact matches are of 500 test sources, the latter with ± one standard error."
    )


def draw_token_map(found: TokenMap, *, name: str, alt: str, key: str) -> None:
    """The chart of a map."""
    with st.container(key=f"chart_{key}"):
        draw_chart(
            token_map_chart(
                token_map_table(
                    found.shares, found.rows, found.columns, seen=found.seen, framed=found.framed
                ),
                rows=found.rows,
                columns=found.columns,
                titles=found.titles,
                known=found.known,
                meaning=found.meaning,
                dark=on_dark(),
            ),
            name=name,
            alt=alt,
        )


def largest_in_words(shares: np.ndarray, rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Where each row is largest, for those who do not see the map."""
    most = shares.argmax(axis=1)
    return "; ".join(
        f"{at + 1} {rows[at]}: {key + 1} {columns[key]} ({shares[at, key]:.2f})"
        for at, key in enumerate(most)
    )


def _draw_task(found: Looked) -> None:
    source, small, truth, written = found
    task, letters = small.experiment.generator.name, small.experiment.generator.vocabulary.symbols
    pattern = written.maps["cross"].pattern
    columns, rows = (tuple(letters[t] for t in each) for each in (source, truth.target))
    st.markdown(f"**{task}** {_WHAT[task]}")
    wrong = [f"{n} ({letters[t]})" for n, (t, true) in
             enumerate(zip(written.tokens, truth.target, strict=True), 1) if t != true]  # fmt: skip
    said = f"{''.join(columns)} → {''.join(rows)}, " + (
        f"wrong at {', '.join(wrong)}" if wrong else "all right"
    )
    st.caption(
        f"{said}. On the true alignment: "
        f"{show_percent(share_aligned(pattern, truth.alignment))} of the attention here, "
        f"{show_percent(small.aligned)} on all test sources, of which "
        f"{100 * small.exact_match:.1f} ± {100 * small.exact_match_stderr:.1f} % are written "
        "without a mistake."
    )
    draw_one = _draw_one(task, rows, columns)
    draw_one("learned", pattern, truth.alignment, "Learned attention")
    draw_one("alignment", truth.alignment.astype(float), None, "True alignment")
    if task == "sort":
        draw_one("dependence", truth.dependence.astype(float), None, "True dependence")
        _draw_why(truth, rows)


def _draw_one(task: str, rows: tuple[str, ...], columns: tuple[str, ...]) -> Callable[..., None]:
    def draw(kind: str, shares: np.ndarray, framed: np.ndarray | None, title: str) -> None:
        known = framed is None
        st.markdown(f"{title}")
        meaning = "1: yes, 0: no" if known else "share of attention"
        draw_token_map(
            TokenMap(shares, rows, columns, framed=framed, known=known, meaning=meaning),
            name=f"{title} of {task}",
            alt=f"{title} of {task}, target by source. Largest in each row: "
            + largest_in_words(shares, rows, columns),
            key=f"{kind}_{task}",
        )

    return draw


def _draw_why(truth: Truth, rows: tuple[str, ...]) -> None:
    """What the first token of this very source depends on, and is taken from."""
    taken, depends = (int(part[0].sum()) for part in (truth.alignment, truth.dependence))
    st.markdown(
        f"The first token, {rows[0]}, is taken from {_places(taken)} and depends on "
        f"{_places(depends)}."
    )


def _places(count: int) -> str:
    return f"{count} place" + ("" if count == 1 else "s")
