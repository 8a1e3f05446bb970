"""The legend of a colour scale."""

from typing import Any

import altair as alt


def ramp_legend(*, length: int = 100, **more: Any) -> alt.Legend:
    """A bar of `length` pixels above the chart, behind its title; `more` as in Altair."""
    return alt.Legend(
        orient="top",
        direction="horizontal",
        titleOrient="left",
        gradientLength=length,
        gradientThickness=10,
        **more,
    )
