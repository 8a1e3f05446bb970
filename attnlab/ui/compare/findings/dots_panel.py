"""A figure of every setting as dots, beside what is known."""

from collections.abc import Sequence

import streamlit as st

from attnlab.charts import dots_chart, means_table, references_table, seeds_table
from attnlab.comparisons.summary import TARGET, Row, reached_of
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.uncertainty import OF_SEEDS, interval_text, share_text

_FIGURE, _CHANGED = "compare_figure", "compare_figure_changed"
_MOST_TOLD = 4
FIGURES = {
    "accuracy": "accuracy",
    "nll": "loss",
    "learned": "learned share",
    "exact_match": "exact match",
}


def draw_dots(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """The choice of the figure, and a line for every setting."""
    st.session_state[_FIGURE] = figure_shown(rows)
    figure = st.segmented_control(
        "figure",
        _figures_of(rows),
        format_func=FIGURES.get,
        required=True,
        key=_FIGURE,
        persist_state="session",
        on_change=lambda: st.session_state.update({_CHANGED: True}),
    )
    # What is drawn of the figure further down is outside this fragment.
    if st.session_state.pop(_CHANGED, False):
        st.rerun()
    with st.container(key="chart_compare_dots"):
        draw_chart(
            dots_chart(
                seeds_table(rows, labels, figure),
                means_table(rows, labels, figure),
                references_table(rows, figure),
                figure=figure,
                labels=tuple(labels),
                dark=on_dark(),
            ),
            name=f"{FIGURES[figure].capitalize()} by setting",
            alt=f"The {FIGURES[figure]} of {len(rows)} settings over their seeds."
            + _extremes(rows, labels, figure),
        )
    st.caption(
        f"A small dot is a run, the diamond the mean, the bar the {OF_SEEDS}. "
        + _reached(rows, labels, figure)
        + (
            "Exact match is the share of the test's sources whose target is written without a "
            "mistake, each token after those that the model itself wrote."
            if figure == "exact_match"
            else "Grey dashes are predictors that need no training: a uniform guess, always the "
            "commonest token, the best linear rule, and the best that is possible."
        )
    )


def _reached(rows: Sequence[Row], labels: Sequence[str], figure: str) -> str:
    """How many seeds reached the level, of settings of which some did and some did not."""
    found = zip(labels, (reached_of(row, figure) for row in rows), strict=True)
    mixed = [(label, each) for label, each in found if each and 0 < each.runs < each.n]
    told = [f"{each.runs} of {each.n} seeds of {label}" for label, each in mixed[:_MOST_TOLD]]
    told += ["…"] * (len(mixed) > _MOST_TOLD)
    if not told:
        return ""
    of = "targets" if figure == "exact_match" else "the way from a guess to the best"
    return as_message(f"Only {', '.join(told)} reached {TARGET:.0%} of {of}. ")


def figure_shown(rows: Sequence[Row]) -> str:
    """The chosen figure if these rows have it, for what else is drawn of it."""
    chosen = st.session_state.get(_FIGURE)
    return chosen if chosen in _figures_of(rows) else "accuracy"


def _figures_of(rows: Sequence[Row]) -> list[str]:
    finished = [row for row in rows if row.finished]
    have_matches = bool(finished) and all(row.exact_match is not None for row in finished)
    return [name for name in FIGURES if have_matches or name != "exact_match"]


def _extremes(rows: Sequence[Row], labels: Sequence[str], figure: str) -> str:
    """The best and the worst setting in words."""
    found = [(getattr(row, figure), name) for row, name in zip(rows, labels, strict=True)]
    found = sorted((each for each in found if each[0] is not None), key=lambda e: e[0].mean)
    if not found:
        return ""
    say = share_text if figure == "learned" else interval_text
    low, high = found[0], found[-1]
    return f" Lowest: {low[1]}, {say(low[0])}; highest: {high[1]}, {say(high[0])}."
