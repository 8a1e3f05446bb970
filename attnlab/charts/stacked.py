"""A chart of shares over steps: stacked areas that sum to 1."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import Series, by_name, legend_columns, top_legend
from attnlab.charts.style import HUES


def stacked_table(
    names: Sequence[str], steps: Sequence[int], shares: Float[np.ndarray, "steps names"]
) -> pd.DataFrame:
    """Return a table with one row per step and name; `order` is that of the areas."""
    return pd.DataFrame(
        [
            (step, name, share, order)
            for step, row in zip(steps, shares.tolist(), strict=True)
            for order, (name, share) in enumerate(zip(names, row, strict=True))
        ],
        columns=["at", "series", "share", "order"],
    )


@drawn_once
def stacked_chart(
    table: Rows, rules: Rows | None, *, series: tuple[Series, ...], title: str, noun: str
) -> Chart:
    """Draw shares over steps as stacked areas, the first name at the bottom, and vertical rules.

    Args:
        table: One row per step and name, as returned by `stacked_table`.
        rules: The steps `at` of vertical rules, each with a `name`, if there are any.
        series: The areas, with their colours.
        title: The title of the vertical axis.
        noun: What a series is, for the tooltip.
    """
    names = [one.name for one in series]
    legend = top_legend(columns=legend_columns(names), labelLimit=330, symbolType="square")
    colours = [one.colour for one in series]
    steps = alt.Axis(format=",d", tickMinStep=1, labelOverlap=True)
    base = alt.Chart(table).encode(
        x=alt.X("at:Q", title="step", axis=steps, scale=alt.Scale(nice=False)),
        y=alt.Y(
            "share:Q",
            title=title,
            stack="zero",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
        ),
        color=by_name(alt.Color, "series", names, colours, legend=legend),
        order=alt.Order("order:Q"),
        tooltip=[tip("series:N", noun), tip("at:Q", "step", ",d"), tip("share:Q", title, ".1%")],
    )
    layers = [base.mark_area(opacity=0.75, line=False)]
    if rules is not None:
        rule = alt.Chart(rules).encode(x="at:Q")
        layers.append(rule.mark_rule(strokeWidth=1.5, strokeDash=[4, 4], color=HUES.cursor))
    return alt.layer(*layers)
