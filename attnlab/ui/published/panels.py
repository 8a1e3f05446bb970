"""The three parts of the page: the table, the ladders of switches, the other models."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from attnlab.charts import (
    climb_chart,
    dots_chart,
    gains_chart,
    gains_table,
    means_table,
    published_chart,
    published_table,
    references_table,
    seeds_table,
    swept_chart,
    swept_table,
)
from attnlab.comparisons.published.parts import PROCESSES, SWITCHED, Part, part_named
from attnlab.comparisons.published.rows import PublishedRow, differences, whole_gain
from attnlab.configuration.number_text import show_measured, show_percent, show_range
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.uncertainty import OF_SEEDS
from attnlab.ui.published.words import (
    families_in_words,
    full_label_of,
    label_of,
    short_label_of,
    table_of,
    verdicts_of,
)
from attnlab.ui.published.work import Shown, draw_progress, draw_start, shown, work_name, work_of

_DOTS = (
    f"A small dot is a run, the diamond the mean of a row, the bar the {OF_SEEDS}. Grey dashes are "
    "predictors that need no training; the best possible one is at the ceiling."
)


def draw_table_part() -> None:
    """The rows as published."""
    part = part_named("table")
    draw_start(part)
    _draw_live(part, partial(_draw_table, part))


def draw_ladder_part() -> None:
    """The switches of one process."""
    process = st.segmented_control(
        "process",
        SWITCHED,
        default=SWITCHED[-1],
        required=True,
        key="published_process",
        persist_state="session",
    )
    part = part_named("ladder")
    draw_start(part)
    _draw_live(part, partial(_draw_ladder, part, process))


def draw_zoo_part() -> None:
    """All families on all processes."""
    part = part_named("zoo")
    draw_start(part)
    process = st.segmented_control(
        "process in the dot plot and the list",
        PROCESSES,
        default=PROCESSES[-1],
        required=True,
        key="published_zoo_process",
        persist_state="session",
    )
    _draw_live(part, partial(_draw_zoo, part, process))


def _draw_live(part: Part, draw: Callable[[], None]) -> None:
    work = work_of(part)

    def is_running() -> bool:
        return work is not None and work.state().running

    draw_while(is_running, draw, key=f"{work_name(part)}_live")


def _draw_source(part: Part, found: Shown) -> None:
    draw_progress(part)
    with st.container(key=f"{work_name(part)}_source"):
        st.caption(f":material/inventory_2: These figures are {found.source}.")


def _draw_table(part: Part) -> None:
    found = shown(part)
    _draw_source(part, found)
    rows, inner = found.rows, [row.row for row in found.rows]
    labels = tuple(map(full_label_of, rows))
    with st.container(key="chart_published"):
        draw_chart(
            published_chart(
                seeds_table(inner, labels, "accuracy"),
                means_table(inner, labels, "accuracy"),
                references_table(inner, "accuracy"),
                published_table(rows),
                labels=labels,
                dark=on_dark(),
            ),
            name="The published table",
            alt="Test accuracy of each row: our runs, the post's figures, the ceiling. "
            + " ".join(f"{label}: {row.verdict}" for row, label in zip(rows, labels, strict=True)),
        )
    st.caption(f"How to read it: {_DOTS} Open marks are the post's figures, one run each.")
    _draw_verdicts(rows, labels, published=True)
    _draw_conclusion(rows)


def _draw_verdicts(
    rows: tuple[PublishedRow, ...], labels: tuple[str, ...], *, published: bool
) -> None:
    st.markdown(verdicts_of(rows, labels))
    st.table(table_of(rows, labels, published=published))


def _draw_conclusion(rows: tuple[PublishedRow, ...]) -> None:
    found = differences(rows)
    if not found:
        return
    told = []
    for process, each in found.items():
        half = each.difference.high - each.difference.mean
        words = show_measured(each.difference.mean, half)
        told.append(f"{process} {words}" + (" (within the noise)" if each.within_noise else ""))
    st.markdown(
        "**Linear minus attention**, in accuracy, paired by seed with the same data, ± half of the "
        f"95 % interval, {len(found)} comparisons at once: {'; '.join(told)}."
    )


def _draw_ladder(part: Part, process: str) -> None:
    found = shown(part)
    _draw_source(part, found)
    rows = tuple(row for row in found.rows if row.process == process)
    inner, labels = [row.row for row in rows], tuple(map(short_label_of, rows))
    left, right = st.columns((3, 2), gap="medium")
    with left, st.container(key="chart_ladder"):
        draw_chart(
            climb_chart(
                seeds_table(inner, labels, "accuracy"),
                means_table(inner, labels, "accuracy"),
                references_table(inner, "accuracy"),
                labels=labels,
                dark=on_dark(),
            ),
            name=f"One switch at a time, {process}",
            alt=f"Test accuracy on {process}, one switch more in every row. "
            + " ".join(f"{label}: {row.verdict}" for row, label in zip(rows, labels, strict=True)),
        )
    with right, st.container(key="chart_gains"):
        draw_chart(
            gains_chart(gains_table(rows, labels), labels=labels, dark=on_dark()),
            name=f"The gain of each switch, {process}",
            alt=f"What each switch adds to the accuracy on {process}. {_gains(rows, labels)}",
        )
    st.caption(
        f"How to read it: each row keeps the switches above it. {_DOTS} At the right is what a "
        "switch adds, paired over seeds; grey where seeds alone may make such a difference, all "
        "switches of the process taken together (Holm)."
    )
    if (whole := whole_gain(rows)) is not None:
        change = whole.difference
        st.markdown(
            f"**All switches together** add {change.mean:.3f} "
            f"({show_range(change.low, change.high)}) to the accuracy on {process}."
        )
    _draw_verdicts(rows, tuple(map(label_of, rows)), published=False)


def _draw_zoo(part: Part, process: str) -> None:
    found = shown(part)
    _draw_source(part, found)
    left, right = st.columns(2, gap="medium")
    everything = [row.row for row in found.rows]
    families = tuple(dict.fromkeys(row.model for row in found.rows))
    with left, st.container(key="chart_zoo"):
        draw_chart(
            swept_chart(
                swept_table(everything, "process", "model", "learned"),
                figure="learned",
                titles=("process", "model"),
                across=PROCESSES,
                down=families,
                domain=(0.0, 1.0),
                dark=on_dark(),
            ),
            name="What each family learns",
            alt=f"The share of what can be learned, by family and process. {_extremes(found.rows)}",
        )
    rows = tuple(row for row in found.rows if row.process == process)
    inner, labels = [row.row for row in rows], tuple(map(label_of, rows))
    with right, st.container(key="chart_zoo_dots"):
        draw_chart(
            dots_chart(
                seeds_table(inner, labels, "accuracy"),
                means_table(inner, labels, "accuracy"),
                references_table(inner, "accuracy"),
                figure="accuracy",
                labels=labels,
                dark=on_dark(),
            ),
            name=f"All families on {process}",
            alt=f"Test accuracy of each family on {process}. "
            + " ".join(f"{label}: {row.verdict}" for row, label in zip(rows, labels, strict=True)),
        )
    st.caption(
        "At the left: (uniform guess − loss) / (uniform guess − floor). 100% is the best possible; "
        f"a mean above it is luck of the tests, within the interval of the table. {_DOTS}"
    )
    if words := families_in_words(found.rows):
        st.markdown(words)
    _draw_verdicts(rows, labels, published=False)


def _gains(rows: Sequence[PublishedRow], labels: Sequence[str]) -> str:
    """The mean gain of every switch, in words."""
    told = zip(rows, labels, strict=True)
    return "; ".join(f"{name} {row.gain.difference.mean:+.3f}" for row, name in told if row.gain)


def _extremes(rows: Sequence[PublishedRow]) -> str:
    """Where least and most is learned, in words."""
    known = [row for row in rows if row.row.learned is not None]
    known.sort(key=lambda row: row.row.learned.mean)
    ends = zip(("Least", "most"), (known[0], known[-1]), strict=True) if known else ()
    return ", ".join(
        f"{word} {show_percent(row.row.learned.mean)} by {row.model} on {row.process}"
        for word, row in ends
    )
