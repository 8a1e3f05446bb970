"""What the spread of a figure over all runs is due to."""

import dataclasses
from collections.abc import Mapping, Sequence

import streamlit as st

from attnlab.charts import share_names, shares_chart, shares_table
from attnlab.comparisons.intervals import LEVEL
from attnlab.comparisons.shares import Share, shares_of
from attnlab.comparisons.summary import Row
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import OptionError
from attnlab.ui.compare.findings.dots_panel import FIGURES, figure_shown
from attnlab.ui.compare.findings.words import plain_label
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark

# Smaller interplays are many, and a page has room for so many bars.
_MOST_BARS = 12


def draw_spread(rows: Sequence[Row]) -> None:
    """A bar for every option, for what they do together, and for the seed."""
    if len(rows) < 2:
        return
    st.header("What the spread is due to", anchor=False, divider="gray")
    figure = figure_shown(rows)
    try:
        shares = [
            dataclasses.replace(share, options=tuple(map(plain_label, share.options)))
            for share in shares_of(rows, figure)
        ]
    except OptionError as error:
        st.caption(as_message(f"It can be told of a full grid with 2 seeds or more. {error}"))
        return
    seed, names = shares[-1], dict(zip(shares, share_names(shares), strict=True))
    shown = [*sorted(shares[:-1], key=lambda each: -each.share)[: _MOST_BARS - 1], seed]
    st.markdown(as_message(_in_words(shares, names)))
    with st.container(key="chart_compare_shares"):
        draw_chart(
            shares_chart(shares_table(shown), parts=share_names(shown), dark=on_dark()),
            name=f"What the spread of the {FIGURES[figure]} is due to",
            alt=f"Shares of the variance of the {FIGURES[figure]}: "
            + ", ".join(f"{names[each]} {show_percent(each.share)}" for each in shown)
            + ".",
        )
    st.caption(
        "The variance over all runs, divided up exactly (analysis of variance). × is what options "
        "do together beyond what each does alone. The grey tick is about what a share would be if "
        "options had no effect; an effect counts as real if Holm's p of its F-test is below 5 %."
    )


def _in_words(shares: Sequence[Share], names: Mapping[Share, str]) -> str:
    """The largest share beyond chance, and the seed's."""
    seed = shares[-1]
    real = [each for each in shares[:-1] if each.adjusted_p <= 1 - LEVEL]
    if not real:
        most = "No option has an effect beyond chance here."
    else:
        largest = max(real, key=lambda each: each.share)
        share = show_percent(largest.share)
        most = f"Most of what options explain is due to {names[largest]}: {share}."
    shares = show_percent(seed.share), show_percent(1 - seed.share)
    return f"{most} Seeds explain {shares[0]} of the spread, the options {shares[1]}."
