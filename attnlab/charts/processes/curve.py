"""A known figure against days or lags, with a band where it is estimated."""

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once


def curve_table(
    at: Float[np.ndarray, " points"] | Int[np.ndarray, " points"],
    values: Float[np.ndarray, " points"],
    stderr: Float[np.ndarray, " points"],
) -> pd.DataFrame:
    """A row a point; the band reaches one standard error to both sides."""
    return pd.DataFrame(
        {
            "at": at,
            "value": values,
            "error": stderr,
            "low": values - stderr,
            "high": values + stderr,
        }
    )


@drawn_once
def curve_chart(
    table: Rows,
    *,
    x_title: str,
    y_title: str,
    domain: tuple[float, float],
    reference: tuple[str, float],
    named_above: bool,
    dark: bool,
    height: int,
) -> alt.LayerChart:
    """The truth in grey; `reference` is a level drawn dotted, its name above or below."""
    hue = hues(dark=dark)
    name, level = reference
    x = alt.X("at:O", title=x_title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    scale = alt.Scale(domain=list(domain))
    y = alt.Y("value:Q", title=y_title, scale=scale)
    base = alt.Chart(table).encode(x=x)
    line = [{"level": float(level), "name": name}]
    rule = alt.Chart(alt.InlineData(values=line)).encode(y=alt.Y("level:Q", title=y_title))
    return alt.layer(
        rule.mark_rule(color=hue.truth, strokeDash=[2, 3], aria=False),
        rule.encode(text="name:N", x=alt.value("width")).mark_text(
            align="right",
            baseline="bottom" if named_above else "top",
            dx=-2,
            dy=-3 if named_above else 3,
            color=hue.truth,
            aria=False,
        ),
        base.encode(y=alt.Y("low:Q", title=y_title, scale=scale), y2="high:Q").mark_area(
            color=hue.truth, opacity=0.25, aria=False
        ),
        base.encode(y=y).mark_line(color=hue.truth, strokeDash=[5, 4], strokeWidth=1.5, aria=False),
        base.encode(
            y=y,
            tooltip=[
                alt.Tooltip("at:O", title=x_title),
                alt.Tooltip("value:Q", title=y_title, format=".4f"),
                alt.Tooltip("error:Q", title="± standard error", format=".4f"),
            ],
        ).mark_point(color=hue.truth, filled=True, size=50, opacity=1, aria=False),
    ).properties(height=height)
