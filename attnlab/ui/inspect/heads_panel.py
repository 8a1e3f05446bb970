"""Inspect: all heads at a glance, the one first whose removal costs most."""

from collections.abc import Mapping

import streamlit as st

from attnlab.charts import overview_chart, overview_table
from attnlab.configuration.number_text import show_measured
from attnlab.inspection import Effect
from attnlab.models import Trace
from attnlab.models.inside import heads_of
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.train.inside.maps import head_picture

# So many that their names have room on a phone; pixels.
_MOST_COLUMNS, _LINE_HEIGHT, _LEGEND_HEIGHT = 6, 150, 24


def draw_heads(trace: Trace, removed: Mapping[tuple[int, int], Effect], *, of: int) -> None:
    """Every head's mean pattern over `of` sequences, and below it what its removal costs.

    `removed` are the effects known so far, by (layer, head), the most costly first; heads without
    one stand behind them.
    """
    pictures = {
        (trace.attention[place].layer, head): head_picture(trace.attention[place], head)
        for place, head in heads_of(trace)
    }
    heads = [*removed, *(head for head in pictures if head not in removed)]
    shown = [
        pictures[head]._replace(
            text=show_measured(effect.nll_change, effect.nll_change_stderr)
            if (effect := removed.get(head))
            else ""
        )
        for head in heads
    ]
    lines = [shown[first : first + _MOST_COLUMNS] for first in range(0, len(shown), _MOST_COLUMNS)]
    order = "the one first whose removal costs most" if removed else "by layer"
    with st.container(key="chart_heads"):
        draw_chart(
            overview_chart(
                overview_table(lines, dark=on_dark()),
                lines=len(lines),
                columns=len(lines[0]),
                texts=True,
                cell="share of attention",
                dark=on_dark(),
                height=_LEGEND_HEIGHT + _LINE_HEIGHT * len(lines),
            ),
            name="Mean patterns of all heads",
            alt=f"Mean attention patterns of all {len(heads)} heads, {order}.",
        )
    st.caption(
        f"The mean pattern of each head over {of:,} test sequences: a pixel is a cell, each row a "
        "query and each column a key."
        + (
            " Below it, where there is room: what its removal adds to the loss, in nats."
            if removed
            else ""
        )
    )
