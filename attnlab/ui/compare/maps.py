"""Heatmap of a result against two options, and parallel coordinates of all options."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row, interval_of
from attnlab.inspection import measure_label
from attnlab.ui.compare.choice import draw_menu, option_label
from attnlab.ui.compare.curves import figure_shown, metrics_of
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.page_charts import draw_chart

_PARALLEL_HEIGHT = 340
_FEWEST_LINES, _MOST_LISTED = 3, 6


def draw_maps(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw the heatmap of two options and, with at least three settings, parallel coordinates."""
    names = differing_options(rows)
    if len(names) >= 2:
        _draw_two_options(rows, names)
    if len(names) >= 2 and len(rows) >= _FEWEST_LINES:
        _draw_all_options(rows, labels, names)


def _draw_two_options(rows: Sequence[Row], names: Sequence[str]) -> None:
    st.header("Two options", anchor=False, divider="gray")
    numeric = [name for name in names if _are_numbers(_values(rows, name))]
    first = [*numeric, *(name for name in names if name not in numeric)]
    with st.container(horizontal=True, gap="small"):
        how = {"format_func": option_label, "width": 200}
        across = draw_menu("across", first, "compare_across", **how)
        down = draw_menu("down", first, "compare_down", 1, **how)
    if across == down:
        st.caption("Choose two different options.")
        return
    figure = figure_shown(rows)
    columns, lines = _ordered(_values(rows, across)), _ordered(_values(rows, down))
    table = charts.swept_table(rows, across, down, figure)
    more = "" if table.empty else f" From {table.value.min():.3f} to {table.value.max():.3f}."
    with st.container(key="chart_compare_map"):
        draw_chart(
            charts.swept_chart(
                table,
                figure=figure,
                titles=(option_label(across), option_label(down)),
                across=columns,
                down=lines,
                domain=_domain(rows, figure),
            ),
            name=f"{measure_label(figure).capitalize()} by {option_label(across)} and "
            f"{option_label(down)}",
            alt=f"The {measure_label(figure)}, mean over seeds, for {len(columns)} × {len(lines)} "
            f"values of {option_label(across)} and {option_label(down)}.{more}",
        )
    others = [option_label(name) for name in names if name not in (across, down)]
    ends = "a uniform guess to the best possible"
    if figure == "exact_match":
        ends = "0 to 1"
    elif figure in metrics_of(rows):
        ends = "the lowest to the highest mean"
    st.caption(
        "Each cell is the mean over seeds"
        + (f", and over {', '.join(others)}" if others else "")
        + f". Colours range from {ends}."
    )


def _values(rows: Sequence[Row], name: str) -> tuple[str, ...]:
    texts = (dict(row.setting.options).get(name) for row in rows)
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def _are_numbers(texts: Sequence[str]) -> bool:
    try:
        return bool(list(map(float, texts)))
    except ValueError:
        return False


def _ordered(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=float)) if _are_numbers(texts) else texts


def _domain(rows: Sequence[Row], figure: str) -> tuple[float, float]:
    """Return the range of the colours: from a uniform guess to the best result of any process.

    For a metric it is that of the means.
    """
    if figure in metrics_of(rows):
        means = [each.mean for row in rows if (each := interval_of(row, figure)) is not None]
        return round(min(means), 3), round(max(means), 3)
    known = [row.references for row in rows if row.references is not None]
    if figure in ("learned", "exact_match") or not known:
        return 0.0, 1.0
    ends = [getattr(each, figure) for one in known for each in (one.uniform, one.best)]
    return round(min(ends), 3), round(max(ends), 3)


def _draw_all_options(rows: Sequence[Row], labels: Sequence[str], names: Sequence[str]) -> None:
    st.header("All options at once", anchor=False, divider="gray")
    axes: list[Any] = []
    for name in names:
        texts = [dict(row.setting.options).get(name) for row in rows]
        axes.append(charts.axis_of_texts(option_label(name), texts, _ordered(_values(rows, name))))
    for title, form, values in (
        ("parameters", ",.0f", [row.parameters for row in rows]),
        ("seconds", ".1f", [row.seconds for row in rows]),
        ("loss", ".3f", [row.nll and row.nll.mean for row in rows]),
        ("accuracy", ".3f", [row.accuracy and row.accuracy.mean for row in rows]),
        ("exact match", ".3f", [row.exact_match and row.exact_match.mean for row in rows]),
        *(
            (
                measure_label(name),
                ".3f",
                [each.metrics.get(name) and each.metrics[name].mean for each in rows],
            )
            for name in metrics_of(rows)
        ),
    ):
        if all(value is None for value in values):
            continue
        axes.append(charts.axis_of_numbers(title, values, form))
    lit = _lit(axes, st.session_state.get("compare_parallel"))
    with st.container(key="chart_compare_parallel"):
        draw_chart(
            charts.parallel_chart(axes, labels, lit, height=_PARALLEL_HEIGHT),
            name="All options at once",
            alt=f"{len(rows)} settings as lines through {len(axes)} axes; {sum(lit)} of them are "
            "within the box.",
            key="compare_parallel",
            on_select="rerun",
            selection_mode=charts.BRUSH,
        )
    st.caption(
        "Each line is a setting; the axes at the right are its mean results. Draw a box over axes "
        "to highlight the lines through it; double-click to remove it."
    )
    inside = [label for label, is_lit in zip(labels, lit, strict=True) if is_lit]
    if len(inside) < len(rows):
        more = "; ".join(inside[:_MOST_LISTED]) + ("; …" if len(inside) > _MOST_LISTED else "")
        st.markdown(as_message(f"In the box: {len(inside)} of {len(rows)}. {more}"))


def _lit(axes: Sequence[Any], state: Any) -> tuple[bool, ...]:
    box = (state or {}).get("selection", {}).get(charts.BRUSH, {})
    across, heights = (np.ravel(box.get(field, ())) for field in ("axis", "height"))
    if across.size < 2 or heights.size < 2:
        return (True,) * len(axes[0].heights)
    return charts.within(axes, (across.min(), across.max()), (heights.min(), heights.max()))
