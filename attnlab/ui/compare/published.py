"""The three parts of the published comparison: the post's table, switches, model families."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.comparisons.published import PROCESSES, SWITCHED, part_named
from attnlab.comparisons.summary import TARGET
from attnlab.comparisons.verdicts import PublishedRow, differences, whole_gain
from attnlab.configuration.number_text import show_measured, show_percent, show_range
from attnlab.configuration.options import present
from attnlab.training.presets import switches_of
from attnlab.ui.compare.published_runs import draw_live, draw_start
from attnlab.ui.controls.link_bar import draw_train_menu
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.uncertainty import (
    OF_SEEDS,
    interval_text,
    known_text,
    reached_text,
    share_text,
)

_DOTS = (
    f"Small dots are runs, the diamond is the mean of a row, the bar the {OF_SEEDS}. Grey dashes "
    "are predictors that need no training; the best possible one is at the ceiling."
)
# Shares learned at which a family is called able, and below which it is called unable.
_ABLE, _FAR = 0.9, 0.5
# Labels of the switches by preset: the number and what the switch changes.
_SAYS = {
    switch.preset: f"{number}  {switch.says}"
    for process in SWITCHED
    for number, switch in enumerate(switches_of(process))
}

Rows = tuple[PublishedRow, ...]


def draw_table_part() -> None:
    """Draw our runs of the settings of the post's table, beside the post's results."""
    part = part_named("table")
    draw_start(part)
    draw_live(part, _draw_table)


def draw_ladder_part() -> None:
    """Draw the runs of one process in which one switch after another is flipped."""
    process = _choose_process("process", SWITCHED, "published_process")
    part = part_named("ladder")
    draw_start(part)
    draw_live(part, partial(_draw_ladder, process=process))


def draw_zoo_part() -> None:
    """Draw the runs of all model families on all processes."""
    part = part_named("zoo")
    draw_start(part)
    label = "process in the dot plot and the list"
    process = _choose_process(label, PROCESSES, "published_zoo_process")
    draw_live(part, partial(_draw_zoo, process=process))


def _choose_process(label: str, processes: Sequence[str], key: str) -> str:
    return st.segmented_control(
        label,
        processes,
        default=processes[-1],
        required=True,
        key=key,
        persist_state="session",
    )


class _Figure(NamedTuple):
    """Labels and chart of the accuracy of some rows, and the verdicts on them as text."""

    labels: tuple[str, ...]
    drawing: charts.Drawing
    words: str


def _figure(rows: Rows, label: Callable[[PublishedRow], str], **look: Any) -> _Figure:
    labels = tuple(map(label, rows))
    drawing = charts.dots_chart([row.row for row in rows], labels, "accuracy", **look)
    pairs = zip(labels, rows, strict=True)
    return _Figure(labels, drawing, " ".join(f"{label}: {row.verdict}" for label, row in pairs))


def _draw_table(rows: Rows) -> None:
    labels, drawing, words = _figure(
        rows, lambda row: f"{row.process} · {row.model}", published=rows
    )
    with st.container(key="chart_published"):
        draw_chart(
            drawing,
            name="The published table",
            alt="Test accuracy of each row: our runs, the post's results, the ceiling. " + words,
        )
    st.caption(f"How to read it: {_DOTS} Open marks are the post's results, one run each.")
    _draw_verdicts("table", rows, labels, published=True)
    found = differences(rows)
    said = []
    for process, each in found.items():
        mean, (_, high) = each.difference.mean, each.difference.ends
        noise = " (within the noise)" if each.within_noise else ""
        said.append(f"{process} {show_measured(mean, high - mean)}{noise}")
    if said:
        st.markdown(
            "**Linear minus attention**, in accuracy, paired by seed with the same data, ± half "
            f"of the 95 % interval, corrected for {len(found)} comparisons: {'; '.join(said)}."
        )


def _draw_ladder(rows: Rows, process: str) -> None:
    rows = tuple(row for row in rows if row.process == process)
    labels, drawing, words = _figure(rows, _short_label, climbs=True)
    left, right = st.columns((3, 2), gap="medium")
    with left, st.container(key="chart_ladder"):
        draw_chart(
            drawing,
            name=f"One switch at a time, {process}",
            alt=f"Test accuracy on {process}, with one more switch in every row. {words}",
        )
    pairs = zip(labels, rows, strict=True)
    gains = (f"{label} {row.gain.difference.mean:+.3f}" for label, row in pairs if row.gain)
    with right, st.container(key="chart_gains"):
        draw_chart(
            charts.gains_chart(charts.gains_table(rows, labels), labels=labels),
            name=f"The gain of each switch, {process}",
            alt=f"What each switch adds to the accuracy on {process}. {'; '.join(gains)}",
        )
    st.caption(
        f"How to read it: each row keeps the switches above it. {_DOTS} At the right: what a "
        "switch adds, paired over seeds. Grey: seeds alone could cause such a difference (Holm, "
        "all switches of the process)."
    )
    if (whole := whole_gain(rows)) is not None:
        change = whole.difference
        st.markdown(
            f"**All switches together** add {change.mean:.3f} "
            f"({show_range(*change.ends)}) to the accuracy on {process}."
        )
    _draw_verdicts("ladder", rows, tuple(map(_label, rows)))


def _draw_zoo(every_row: Rows, process: str) -> None:
    left, right = st.columns(2, gap="medium")
    everything = [row.row for row in every_row]
    with left, st.container(key="chart_zoo"):
        draw_chart(
            charts.swept_chart(
                charts.swept_table(everything, "process", "model", "learned"),
                figure="learned",
                titles=("process", "model"),
                across=PROCESSES,
                down=tuple(dict.fromkeys(row.model for row in every_row)),
                domain=(0.0, 1.0),
            ),
            name="What each family learns",
            alt=f"The share of what can be learned, by family and process. {_extremes(every_row)}",
        )
    rows = tuple(row for row in every_row if row.process == process)
    labels, drawing, words = _figure(rows, _label)
    with right, st.container(key="chart_zoo_dots"):
        draw_chart(
            drawing,
            name=f"All families on {process}",
            alt=f"Test accuracy of each family on {process}. {words}",
        )
    st.caption(
        "On the left: (uniform guess − loss) / (uniform guess − floor). 100% is the best "
        f"possible; means may slightly exceed it by test noise. {_DOTS}"
    )
    if words := families_in_words(every_row):
        st.markdown(words)
    _draw_verdicts("zoo", rows, labels)


def _draw_verdicts(
    part: str, rows: Rows, labels: Sequence[str], *, published: bool = False
) -> None:
    """Draw verdicts as a list, and results as a table, with the post's results if `published`."""
    pairs = list(zip(rows, labels, strict=True))
    settings = {label: present(row.row.setting.experiment) for row, label in pairs}
    draw_train_menu(settings, f"published_{part}_train")
    st.markdown(
        "\n".join(f"- **{label}**: {row.verdict or 'no result yet.'}" for row, label in pairs)
    )
    table = []
    for row, label in pairs:
        post = ("–" if figure is None else f"{figure:.3f}" for figure in row.published)
        known = present(row.row.references).best
        table.append(
            {
                "row": label,
                **(dict(zip(("English", "Japanese"), post, strict=True)) if published else {}),
                "ours": interval_text(row.row.accuracy),
                "ceiling": known_text(known, "accuracy"),
                "loss (nats)": interval_text(row.row.nll),
                "floor": known_text(known, "nll"),
                "learned": share_text(row.row.learned),
                f"reached {TARGET:.0%}": reached_text(row.row.reached),
            }
        )
    st.table(pd.DataFrame(table).set_index("row"))


def _label(row: PublishedRow) -> str:
    """Return the number of a row's switch and what it changes, or the name of its model."""
    return _SAYS.get(row.model, row.model)


def _short_label(row: PublishedRow) -> str:
    """Return the number and the name of a row's switch."""
    number, _, name = row.model.removeprefix(f"{row.process}-").partition("-")
    return f"{number}  {name}" if number.isdecimal() else "0  published"


def _extremes(rows: Rows) -> str:
    """Return text with the family and process of the smallest and of the largest share learned."""
    found = ((row.row.learned, row) for row in rows)
    known = sorted(((each.mean, row) for each, row in found if each), key=itemgetter(0))
    ends = zip(("Least", "most"), (known[0], known[-1]), strict=True) if known else ()
    return ", ".join(
        f"{word} {show_percent(share)} by {row.model} on {row.process}"
        for word, (share, row) in ends
    )


def families_in_words(rows: Sequence[PublishedRow]) -> str:
    """Return text that groups the families by how much of the `SWITCHED` processes they learn."""
    learned: dict[str, list[float]] = {}
    for row in rows:
        if row.process in SWITCHED and row.row.learned is not None:
            learned.setdefault(row.model, []).append(row.row.learned.mean)
    learned = {name: each for name, each in learned.items() if len(each) == len(SWITCHED)}
    able = [name for name, each in learned.items() if min(each) >= _ABLE]
    far = [name for name, each in learned.items() if max(each) < _FAR]
    rest = [name for name in learned if name not in (*able, *far)]
    groups = (
        (f"{_ABLE:.0%} or more of both is learned by", able),
        (f"less than {_FAR:.0%} of either by", far),
        ("mixed results by", rest),
    )
    parts = "; ".join(f"{words} {', '.join(names)}" for words, names in groups if names)
    return f"**{' and '.join(SWITCHED)}**: {parts}." if parts else ""
