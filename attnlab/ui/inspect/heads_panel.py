"""Inspect: all heads at a glance, the one first whose removal costs most."""

from collections.abc import Iterable, Mapping

import streamlit as st

from attnlab.charts import overview_chart, overview_table
from attnlab.configuration.number_text import show_measured
from attnlab.inspection import Ablation, Effect, removals
from attnlab.models import Trace
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.train.inside.maps import head_picture

# So many that their names have room on a phone; pixels.
_MOST_COLUMNS, _LINE_HEIGHT, _LEGEND_HEIGHT = 6, 150, 24


# A head: the kind of its map, its layer and its number there, both from 0.
Head = tuple[str, int, int]


def removals_of_all(found: Iterable[Ablation]) -> dict[Head, Effect]:
    """As `removals`, of heads of every kind: the most costly first."""
    found = list(found)
    effects = {
        (kind, *head): effect
        for kind in dict.fromkeys(each.kind for each in found)
        for head, effect in removals(each for each in found if each.kind == kind).items()
    }
    return dict(sorted(effects.items(), key=lambda item: item[1].nll_change, reverse=True))


def draw_heads(trace: Trace, removed: Mapping[Head, Effect], *, of: int) -> None:
    """Every head's mean pattern over `of` sequences, and below it what its removal costs.

    `removed` are the effects known so far, the most costly first; heads without one stand behind
    them.
    """
    pictures = {
        (found.kind, found.layer, head): head_picture(found, head)
        for found in trace.attention
        for head in range(len(found.pattern))
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
