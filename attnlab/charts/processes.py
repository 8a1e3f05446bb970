"""Charts of processes: rules, token frequencies, and known quantities."""

from collections.abc import Sequence
from functools import partial

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import heatmap, shade, side, tip
from attnlab.charts.lines import (
    Scale,
    Series,
    by_name,
    level_table,
    lines_chart,
    series_table,
    top_legend,
)
from attnlab.charts.style import HUES, TRUTHS
from attnlab.generators import RuleTable

# Heights in pixels: of a row of bars, and of legend and axis together.
_ROW, _AROUND = 26, 120
# With more rows, they are half as high.
_MOST_TALL = 30
_MAP_ROW, _LEAST_MAP = 8, 240
# Heights in pixels for a rule: of a row, of the smallest row with numbers, and of all rows.
_RULE_ROW, _LEAST_RULE_ROW, _TALLEST = 40, 17, 460
_KNOWN, _COUNTED = "the process", "the sample"


def rule_table(rule: RuleTable) -> pd.DataFrame:
    """Return a table with one row per probability of a rule."""
    probs = np.array(rule.probs)
    row, column = (index.ravel() for index in np.indices(probs.shape))
    return pd.DataFrame(
        {
            "row": row,
            "column": column,
            "row_name": np.array(rule.outline.rows)[row],
            "column_name": np.array(rule.outline.columns)[column],
            "probability": probs.ravel(),
        }
    )


@drawn_once
def rule_chart(table: Rows, *, rule: RuleTable) -> Chart:
    """Draw a rule as a heatmap of probabilities: rows are pasts, columns the next tokens."""
    outline, look = rule.outline, {"labelFontSize": 14, "labelOverlap": False}
    rows, columns = range(len(outline.rows)), range(len(outline.columns))
    height = min(_RULE_ROW * len(rows), max(_TALLEST, _LEAST_RULE_ROW * len(rows)))
    return heatmap(
        table,
        x=side(
            alt.X, "column", f"{outline.column_title} →", columns, names=outline.columns, **look
        ),
        y=side(
            alt.Y,
            "row",
            f"← {outline.row_title}",
            rows,
            names=outline.rows,
            **look,
            values=list(rows),
        ),
        colour=shade("probability", "probability", TRUTHS, (0, 1)),
        tooltip=[
            tip("row_name:N", outline.row_title),
            tip("column_name:N", outline.column_title),
            tip("probability:Q", None, ".4g"),
        ],
        number=alt.Text("probability:Q", format=".3~g"),
        strong="datum.probability > 0.5",
        fontSize=13,
    ).properties(height=height + _AROUND)


def frequency_table(
    known: Float[np.ndarray, " outcomes"],
    counted: Float[np.ndarray, " outcomes"],
    stderr: Float[np.ndarray, " outcomes"],
    names: Sequence[str],
) -> pd.DataFrame:
    """Return a table with one row per outcome in `names`, except outcomes with unknown values."""
    table = pd.DataFrame(
        {
            "row": np.arange(len(names)),
            "name": names,
            "known": known,
            "counted": counted,
            "error": stderr,
            "low": np.maximum(counted - stderr, 0),
            "high": np.minimum(counted + stderr, 1),
        }
    )
    return table.dropna(subset=["known"])


def _frequency_tips() -> list[alt.Tooltip]:
    return [
        tip("name:N", "what"),
        tip("known:Q", _KNOWN, ".4f"),
        tip("counted:Q", _COUNTED, ".4f"),
        tip("error:Q", "± standard error", ".4f"),
    ]


@drawn_once
def frequency_chart(table: Rows, *, names: tuple[str, ...], title: str) -> Chart:
    """Draw each probability as a grey bar, and each sampled frequency as a point with its error."""
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
    """Draw the pairs of `symbols` as a heatmap from 0 to `most`.

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


def curve_chart(
    at: Int[np.ndarray, " points"],
    values: Float[np.ndarray, " points"],
    stderr: Float[np.ndarray, " points"],
    *,
    x_title: str,
    y_title: str,
    domain: tuple[float, float],
    reference: tuple[str, float],
    below: bool = False,
) -> Drawing:
    """Draw a known quantity as a grey line, with a band of ± one standard error.

    `reference` is the name and value of a level, with its name above or `below` it.
    """
    name, level = reference
    return lines_chart(
        series_table("", at, values, stderr),
        level_table({name: level}, at),
        x=Scale(x_title, kind="ordinal"),
        y=Scale(y_title, ".4f", domain=domain),
        series=(Series("", HUES.truth, dash=(5, 4)),),
        look="band",
        below=below,
        height=260,
    )
