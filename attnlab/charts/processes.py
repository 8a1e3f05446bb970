"""Charts of processes: rules and token frequencies."""

from functools import partial
from typing import Any

import altair as alt

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, shade, side, tip
from attnlab.charts.lines import by_name, top_legend
from attnlab.charts.style import HUES, TRUTHS

# Heights in pixels: of a row of bars, and of legend and axis together.
_ROW, _AROUND = 26, 120
# With more rows, they are half as high.
_MOST_TALL = 30
_MAP_ROW, _LEAST_MAP = 8, 240
# Heights in pixels for a rule: of a row, of the smallest row with numbers, and of all rows.
_RULE_ROW, _LEAST_RULE_ROW, _TALLEST = 40, 17, 460
_KNOWN, _COUNTED = "the process", "the sample"
# Names of columns with more letters do not fit beside each other, nor do large numbers below them.
_MOST_LEVEL = 50


@drawn_once
def rule_chart(
    table: Rows,
    *,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    row_title: str,
    column_title: str,
) -> Chart:
    """Draw a rule as a heatmap of probabilities: rows are pasts, columns the next tokens.

    The table has the `probability` of each `row` and `column`, from 0, with `row_name` and
    `column_name`.
    """
    look: dict[str, Any] = {"labelFontSize": 14, "labelOverlap": False}
    places = range(len(rows))
    is_long = len("".join(columns)) > _MOST_LEVEL
    angle: dict[str, Any] = {"labelAngle": -90} if is_long else {}
    height = min(_RULE_ROW * len(rows), max(_TALLEST, _LEAST_RULE_ROW * len(rows)))
    return heatmap(
        table,
        x=side(
            alt.X,
            "column",
            f"{column_title} →",
            range(len(columns)),
            names=columns,
            **look,
            **angle,
        ),
        y=side(alt.Y, "row", f"← {row_title}", places, names=rows, **look, values=list(places)),
        colour=shade("probability", "probability", TRUTHS, (0, 1)),
        tooltip=[
            tip("row_name:N", row_title),
            tip("column_name:N", column_title),
            tip("probability:Q", None, ".4g"),
        ],
        number=alt.Text("probability:Q", format=".3~g"),
        strong="datum.probability > 0.5",
        fontSize=11 if is_long else 13,
    ).properties(height=height + _AROUND * (2 if is_long else 1))


def _frequency_tips() -> list[alt.Tooltip]:
    return [
        tip("name:N", "what"),
        tip("known:Q", _KNOWN, ".4f"),
        tip("counted:Q", _COUNTED, ".4f"),
        tip("error:Q", "± standard error", ".4f"),
    ]


@drawn_once
def frequency_chart(table: Rows, *, names: tuple[str, ...], title: str) -> Chart:
    """Draw each `known` probability as a grey bar, each `counted` frequency as a point with error.

    The table has one row per name: also `row`, from 0, and `error`, `low` and `high`.
    """
    row, letters = (_ROW, 15) if len(names) <= _MOST_TALL else (_ROW // 2, 10)
    look = {"names": names, "labelFontSize": letters, "labelOverlap": False}
    look["values"] = list(range(len(names)))
    base = alt.Chart(table).encode(
        y=side(alt.Y, "row", None, range(len(names)), **look), tooltip=_frequency_tips()
    )
    series, hues = (_KNOWN, _COUNTED), (HUES.truth, HUES.sampled)
    colour = by_name(alt.Color, "series", series, hues, legend=top_legend())
    known, counted = (
        base.transform_calculate(series=f"'{name}'").encode(color=colour) for name in series
    )
    x = partial(alt.X, title=title, scale=alt.Scale(domain=[0, 1]))
    return alt.layer(
        known.encode(x=x("known:Q")).mark_bar(opacity=0.45, height=row * 0.65),
        counted.encode(x=x("low:Q"), x2="high:Q").mark_rule(strokeWidth=3),
        counted.encode(x=x("counted:Q")).mark_point(filled=True, size=45, opacity=1),
    ).properties(height=len(names) * row + _AROUND)


@drawn_once
def frequency_map_chart(
    table: Rows,
    *,
    symbols: tuple[str, ...],
    of: str,
    row_title: str,
    column_title: str,
    most: float,
) -> Chart:
    """Draw the pairs of `symbols` as a heatmap from 0 to `most`, from the same table.

    `of` is the column to draw: "known" for probabilities or "counted" for frequencies.
    """
    size, look = len(symbols), {"names": symbols, "labelFontSize": 11}
    chart = heatmap(
        table,
        x=side(alt.X, "second", column_title, range(size), labelAngle=-90, **look),
        y=side(alt.Y, "first", row_title, range(size), **look),
        colour=shade(of, _KNOWN if of == "known" else _COUNTED, TRUTHS, (0, most)),
        tooltip=_frequency_tips(),
    )
    pairs = {"first": f"floor(datum.row / {size})", "second": f"datum.row % {size}"}
    height = max(_LEAST_MAP, _MAP_ROW * size) + _AROUND
    return chart.transform_calculate(**pairs).properties(height=height)
