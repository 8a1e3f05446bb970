"""Time and memory of plain and chunked attention, and of generation, measured here and now."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from attnlab.charts import cost_chart, cost_table
from attnlab.lessons.costs import (
    CostProgress,
    Measured,
    over_rounds,
)
from attnlab.live.background import Background
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.session_work import (
    draw_while_working,
    draw_work_buttons,
    session_work,
    work_in_words,
)

_HEIGHT = 320


class Quantity(NamedTuple):
    """What a chart shows of what was measured: `of` gives value, least and most."""

    name: str
    y_title: str
    of: Callable[[Measured], tuple[float, float, float]]
    ranges: bool = True


def milliseconds_of(measured: Measured) -> tuple[float, float, float]:
    """Of one call, over the rounds."""
    return over_rounds(1_000 * measured.seconds)


def rate_of(measured: Measured) -> tuple[float, float, float]:
    """Tokens a second, over the rounds."""
    return over_rounds(1 / measured.seconds)


def megabytes_of(measured: Measured) -> tuple[float, float, float]:
    """Of scratch; a number of the compiler's, without a spread."""
    return (measured.scratch / 1e6,) * 3


def draw_buttons(name: str, plan: object, make: Callable[[], Iterator[CostProgress]]) -> None:
    """Measure and Stop; `plan` is what the controls say, and is kept with what they measured."""

    def start() -> None:
        st.session_state[f"{name}_plan"] = plan
        session_work().start(name, make)

    draw_work_buttons(name, "Measure", start=f"{name}_start", stop=f"{name}_stop", on_start=start)


def draw_measured(
    name: str,
    plan: object,
    quantities: tuple[Quantity, ...],
    sentences: Callable[[CostProgress, Any], str],
    *,
    invitation: str,
) -> None:
    """What was measured so far, side by side, and what it comes to in words.

    `sentences` are told the plan that was measured, which the controls may have left since.
    """
    if session_work().of(name) is None:
        st.info(invitation, icon=":material/timer:")
        return
    measured = st.session_state[f"{name}_plan"]
    if measured != plan:
        st.info(
            "Settings changed: **Measure** applies them. Below is what was measured before.",
            icon=":material/change_circle:",
        )
    draw_while_working(
        name,
        partial(
            _draw_work,
            name=name,
            quantities=quantities,
            sentences=lambda progress: sentences(progress, measured),
        ),
    )


def _draw_work(
    work: Background,
    *,
    name: str,
    quantities: tuple[Quantity, ...],
    sentences: Callable[[CostProgress], str],
) -> None:
    state = work.state()
    progress: CostProgress = state.latest or CostProgress(0.0, "", (), 0.0)
    with st.container(key=f"{name}_status"):
        if state.error:
            draw_error(f"Measuring ended by an error. {state.error}")
        else:
            words = work_in_words(state, progress.share)
            st.progress(progress.share, " · ".join(filter(None, (words, progress.doing))))
    if not progress.measured:
        return
    for column, quantity in zip(st.columns(len(quantities), gap="medium"), quantities, strict=True):
        with column, st.container(key=f"chart_{quantity.name.lower().replace(' ', '_')}"):
            _draw_quantity(quantity, progress)
    with st.container(key=f"{name}_sentences"):
        st.markdown(sentences(progress))


def _draw_quantity(quantity: Quantity, progress: CostProgress) -> None:
    rows = [(m.way, m.length, *quantity.of(m)) for m in progress.measured]
    lengths = sorted({m.length for m in progress.measured})
    ways = tuple(dict.fromkeys(m.way for m in progress.measured))
    draw_chart(
        cost_chart(
            cost_table(rows),
            series=ways,
            lengths=tuple(lengths if len(lengths) > 1 else (lengths[0], 2 * lengths[0])),
            y_title=quantity.y_title,
            ranges=quantity.ranges,
            dark=on_dark(),
            height=_HEIGHT,
        ),
        name=quantity.name,
        # A text that changes draws the chart anew, so it names figures of the end alone.
        alt=f"{quantity.y_title} against length, for {' and '.join(ways)}."
        + (_ends(rows) if progress.share == 1 else ""),
    )


def _ends(rows: list[tuple]) -> str:
    longest = max(length for _, length, *_ in rows)
    last = [f"{way} {value:.3g}" for way, length, value, *_ in rows if length == longest]
    return f" At {longest:,}: {', '.join(last)}."
