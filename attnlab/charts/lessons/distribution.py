"""How values are distributed, beside a normal distribution."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.series import SCALED, UNSCALED
from attnlab.lessons.saturation import Histogram


def distribution_table(histograms: Mapping[str, Histogram]) -> pd.DataFrame:
    """A row for every bin of every series."""
    parts = [
        pd.DataFrame(
            {"series": name, "at": one.centres, "density": one.density, "normal": one.normal}
        )
        for name, one in histograms.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def distribution_chart(table: Rows, *, dark: bool, height: int) -> alt.LayerChart:
    """Histograms as filled steps; normal densities of the theoretical variances in grey dashes."""
    hue, names = hues(dark=dark), [SCALED, UNSCALED]
    legend = alt.Legend(orient="top", symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2)
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=names, range=[hue.learned, hue.cursor]),
        legend=legend,
    )
    dots = alt.StrokeDash(
        "series:N",
        title=None,
        scale=alt.Scale(domain=names, range=[[1, 0], [2, 2]]),
        legend=legend,
    )
    base = alt.Chart(table).encode(x=alt.X("at:Q", title="score: q · k, scaled or not"))
    density = {"title": "share of the draws per unit"}
    tooltip = [
        alt.Tooltip("series:N", title="scores"),
        alt.Tooltip("at:Q", title="score", format=".3g"),
        alt.Tooltip("density:Q", title="drawn", format=".3f"),
        alt.Tooltip("normal:Q", title="normal distribution", format=".3f"),
    ]
    return alt.layer(
        base.encode(y=alt.Y("density:Q", stack=None, **density), color=colour).mark_area(
            interpolate="step", opacity=0.35, aria=False
        ),
        base.encode(
            y=alt.Y("density:Q", **density), color=colour, strokeDash=dots, tooltip=tooltip
        ).mark_line(interpolate="step", strokeWidth=1.5, aria=False),
        base.encode(y=alt.Y("normal:Q", **density), detail="series:N").mark_line(
            color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False
        ),
    ).properties(height=height)
