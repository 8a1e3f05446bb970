"""The parts of the blog post's comparison: its table, one change at a time, and other models."""

import functools
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.comparisons.grid import PRESET, Grid
from attnlab.comparisons.shipped import shipped
from attnlab.comparisons.summary import TARGET
from attnlab.comparisons.uncertainty import interval_text, known_text, reached_text, share_text
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present
from attnlab.known_results.blog_post import BLOG_POST, PARTS, PROCESSES, SWITCHED
from attnlab.known_results.post_verdicts import PublishedRow, rows_of, whole_gain
from attnlab.training.presets import switches_of
from attnlab.ui.compare.choice import choose
from attnlab.ui.compare.curves import DOTS, sampling_text
from attnlab.ui.controls.address import draw_train_menu, go_to
from attnlab.ui.core.display import COMPARE_PAGE, draw_button
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.page_charts import draw_chart

_ABOUT = {
    "table": (
        "The settings are those of the post's code, but every row has several seeds and 10,000 "
        "test sequences. A published accuracy is that of one run on 1,000 sequences, with a "
        "standard error of about 0.015. By chance, about one of the eighteen published numbers "
        "is off by at least two standard errors.\n\n"
        "On `markov` and `ndays` no predictor is more accurate than the best linear one. On "
        "`recall` and `dotmod` other predictors are. The table of `recall` is drawn with a seed "
        "that the "
        "post does not give. With another seed, the ceiling can move by a few hundredths."
    ),
    "ladder": (
        "What limits the published attention head:\n"
        "- **Mask:** a day sees itself and *later* days, so only the first day sees them all.\n"
        "- **Loss:** every day has to predict the final one, even if it sees too few days.\n"
        "- **Batches:** each of the 500 steps uses the same 5,000 sequences.\n"
        "- **Initial weights** are standard normal numbers, which are large.\n"
        "- **Position** is one number, t/20, which hardly distinguishes the days.\n"
        "- **After attention**, nothing combines the days: no residual connection, no MLP.\n\n"
        "A change that gains nothing may be needed by a later one: a causal mask helps only if "
        "the last day makes the prediction. Differences between rows are tested at the 5 % "
        "level, with Holm's correction over all changes for this process."
    ),
    "zoo": (
        "Every model has its default settings and the same training: 1,500 steps of 128 fresh "
        "sequences, with a learning rate that falls from 0.01. The attention head has a causal "
        "mask and learned positions."
    ),
}
_SCRIPT = """\
from attnlab.comparisons.many import run_all
from attnlab.known_results.blog_post import part_named
from attnlab.known_results.post_verdicts import rows_of

part = part_named("{part}", ["dotmod"])
for row in rows_of(part, run_all(part.runs)):
    print(row.process, row.model, row.row.accuracy, row.verdict)
"""
Rows = tuple[PublishedRow, ...]


def draw_parts() -> None:
    """Draw what the post asks, and one of the parts, which the user chooses."""
    st.markdown(
        "**Does attention lose to a linear model?** The blog post “Understanding what "
        "self-attention is doing” (May 2023) finds that it does on weather sequences. Here the "
        f"best possible accuracy ({link_to('ceiling')}) is known, so you can see what both models "
        "miss, and why."
    )
    draw = {
        "The table, reproduced": _draw_table,
        "One change at a time": _draw_ladder,
        "The same processes, other models": _draw_models,
    }
    draw[_choose("part", [*draw], "published_part")]()


draw_question = fragment(draw_parts, key="published_question")


@functools.cache
def _rows(part: str) -> Rows:
    stored = shipped(BLOG_POST.name)
    return rows_of(PARTS[part], stored.results, references=stored.references_of)


def _draw_table() -> None:
    """Draw our runs of the settings of the post's table, beside the post's results."""
    rows = _rows("table")
    st.markdown(
        "The linear model wins on every process but `markov`, where the difference is within the "
        "noise. On `recall` and `dotmod` both models stay far below the ceiling."
    )
    labels = tuple(f"{row.process} · {row.model}" for row in rows)
    post = (
        " Open marks are the post's results, one run each: □ English version, △ Japanese version."
    )
    _draw_dots("The published table", rows, labels, post, published=rows)
    presets = tuple(f"published-{row.process}-{row.model}" for row in rows)
    _draw_details("table", rows, labels, presets)


def _draw_ladder() -> None:
    """Draw the runs of one process in which one setting after another is changed."""
    process = _choose("process", SWITCHED, "published_process", default=-1)
    rows = tuple(row for row in _rows("ladder") if row.process == process)
    change = present(whole_gain(rows)).difference
    st.markdown(
        "Cumulative changes turn the post's attention head into a transformer that reaches the "
        f"ceiling. Accuracy on `{process}` rises by **{change.mean:.3f}** "
        f"({show_range(*change.ends)}). The gain of a step depends on the order."
    )
    switches = switches_of(process)
    labels = tuple(f"{number}  {says}" for number, says in enumerate(switches.values()))
    # Short, so that they fit beside the rows.
    names = ("published", *(preset.rpartition("-")[2] for preset in [*switches][1:]))
    short = tuple(f"{number}  {name}" for number, name in enumerate(names))
    keeps = " Each row keeps the changes above it."
    _draw_dots(f"One change at a time, {process}", rows, short, keeps, climbs=True)
    _draw_details("ladder", rows, labels, tuple(switches))


def _draw_models() -> None:
    """Draw what every model learns of every process."""
    st.markdown(
        "`mlp`, `conv`, `rnn` and `transformer` learn at least 90 % of what is possible on "
        "`recall` and `dotmod`. There `linear` and a single `attention` head learn less than half."
    )
    rows = _rows("zoo")
    settings = [row.row for row in rows]
    ordered = sorted(rows, key=lambda row: present(row.row.learned).mean)
    texts = (
        f"{present(row.row.learned).mean:.0%} by {row.model} on {row.process}"
        for row in (ordered[0], ordered[-1])
    )
    with st.container(key="chart_zoo"):
        draw_chart(
            charts.swept_chart(
                charts.swept_table(settings, "process", "model", "learned"),
                figure="learned",
                titles=("process", "model"),
                across=PROCESSES,
                down=tuple(dict.fromkeys(row.model for row in rows)),
                domain=(0.0, 1.0),
            ),
            name="What each model learns",
            alt=f"The share of what can be learned, by model and process: {' to '.join(texts)}.",
        )
    st.caption(
        "Each cell is (uniform guess − loss) / (uniform guess − floor), the mean over seeds. "
        + sampling_text(settings, "learned")
    )
    _draw_details("zoo", rows, [row.model for row in rows])


def _choose(label: str, names: Sequence[str], key: str, default: int = 0) -> str:
    return st.segmented_control(
        label,
        names,
        default=names[default],
        required=True,
        key=key,
        persist_state="session",
        label_visibility="collapsed" if label == "part" else "visible",
    )


def _draw_dots(name: str, rows: Rows, labels: Sequence[str], words: str, **look: Any) -> None:
    """Draw a dot plot below a caption, which says what its marks are and ends in `words`."""
    st.caption(DOTS + words)
    pairs = zip(labels, rows, strict=True)
    means = ", ".join(f"{label} {present(row.row.accuracy).mean:.3f}" for label, row in pairs)
    settings = [row.row for row in rows]
    draw_chart(
        charts.dots_chart(settings, labels, "accuracy", **look),
        name=name,
        alt=f"{name}: mean test accuracy of each row. {means}.",
    )
    if chance := sampling_text(settings, "accuracy"):
        st.caption(chance)


def _draw_details(
    part: str, rows: Rows, labels: Sequence[str], presets: tuple[str, ...] = ()
) -> None:
    """Draw the numbers of all rows in a panel; above it, if there are `presets`, train again."""
    pairs = list(zip(labels, rows, strict=True))

    def draw_menu(shown: Sequence[tuple[str, PublishedRow]]) -> None:
        settings = {label: row.row.experiment for label, row in shown}
        draw_train_menu(settings, f"published_{part}_train")

    @panel("Settings and all numbers", key=f"published_{part}_numbers", icon="table")
    def draw_numbers() -> None:
        st.markdown(_ABOUT[part])
        shown = pairs
        if not presets:
            process = _choose("process", PROCESSES, f"published_{part}_process", default=-1)
            shown = [pair for pair in pairs if pair[1].process == process]
            draw_menu(shown)
        # In half of the page it scrolls sideways, by the keyboard, too.
        st.dataframe(
            pd.DataFrame([_cells(part, *pair) for pair in shown]).set_index("row"),
            alt=f"All numbers of {len(shown)} rows.",
        )
        st.caption(
            f"Shipped with the program: {PARTS[part].seeds} seeds per row, computed "
            f"{shipped(BLOG_POST.name).made}. This script trains some rows again; `attnlab "
            f"reproduce --part {part}` trains all of them:"
        )
        st.code(_SCRIPT.format(part=part), language="python")

    if presets:
        with st.container(horizontal=True):
            draw_menu(pairs)
            grid = Grid(((PRESET, presets),), PARTS[part].seeds)
            key = f"published_{part}_compare"
            if draw_button("Train all again in Compare", key, "compare", choose, grid):
                go_to(COMPARE_PAGE)
    draw_numbers()


def _cells(part: str, label: str, row: PublishedRow) -> dict[str, str]:
    columns = ("post (English)", "post (Japanese)")
    post = ("–" if figure is None else f"{figure:.3f}" for figure in row.published)
    known = present(row.row.references).best
    return {
        "row": label,
        **(dict(zip(columns, post, strict=True)) if part == "table" else {}),
        "accuracy": interval_text(row.row.accuracy),
        "ceiling": known_text(known, "accuracy"),
        "loss (nats)": interval_text(row.row.nll),
        "floor": known_text(known, "nll"),
        "learned": share_text(row.row.learned),
        f"reached {TARGET:.0%}": reached_text(row.row.reached),
        "verdict": row.verdict,
    }
