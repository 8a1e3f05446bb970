"""A table of probabilities as a heatmap: rows are what is known, columns what may come."""

import json

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.core.colours import truth_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import ramp_legend
from attnlab.charts.core.scale import cell_scale
from attnlab.generators import RuleTable

_TALLEST = 460
_ROW = 40
# Rows lower than this have no room for numbers.
_LEAST_ROW = 16
# What the legend and the lower axis take of the height.
_AROUND = 105


def rule_table(rule: RuleTable) -> pd.DataFrame:
    """A row for every probability."""
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
def rule_chart(table: Rows, *, rule: RuleTable, dark: bool) -> alt.LayerChart:
    """The probabilities on a fixed scale from 0 to 1, with their numbers where there is room."""
    outline, ramp = rule.outline, truth_ramp(dark=dark)
    rows = len(outline.rows)
    height = min(_ROW * rows, max(_TALLEST, _LEAST_ROW * rows))
    every = 1 if height / rows >= _LEAST_ROW - 2 else 3
    base = alt.Chart(table).encode(
        x=alt.X(
            "column:O",
            title=f"{outline.column_title} →",
            scale=cell_scale(range(len(outline.columns))),
            axis=_axis(outline.columns, 1, labelAngle=0),
        ),
        y=alt.Y(
            "row:O",
            title=f"← {outline.row_title}",
            scale=cell_scale(range(rows)),
            axis=_axis(outline.rows, every),
        ),
        tooltip=[
            alt.Tooltip("row_name:N", title=outline.row_title),
            alt.Tooltip("column_name:N", title=outline.column_title),
            alt.Tooltip("probability:Q", format=".4g"),
        ],
    )
    colour = alt.Color(
        "probability:Q",
        title="probability",
        scale=alt.Scale(domain=[0, 1], range=list(ramp), clamp=True),
        legend=ramp_legend(values=[0, 0.5, 1], format=".1f"),
    )
    number = base.encode(
        text=alt.Text("probability:Q", format=".3~g"),
        color=alt.condition(alt.datum.probability > 0.5, alt.value(ramp.low), alt.value(ramp.high)),
    ).mark_text(fontSize=13, aria=False)
    cells = base.encode(color=colour).mark_rect(aria=False)
    return alt.layer(cells, number).properties(height=height + _AROUND, padding={"right": 16})


def _axis(names: tuple[str, ...], every: int, **rest) -> alt.Axis:
    labels = json.dumps(names, ensure_ascii=False)
    return alt.Axis(
        values=list(range(0, len(names), every)),
        labelExpr=f"{labels}[datum.value]",
        labelOverlap=False,
        labelFontSize=14,
        ticks=False,
        domain=False,
        **rest,
    )
