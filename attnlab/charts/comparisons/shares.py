"""What the spread of a figure is due to: a bar for each option, their interplay and the seed."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.comparisons.paired import Share

_ROW, _AROUND = 30, 70
SEED = "the seed"


def share_names(shares: Sequence[Share]) -> tuple[str, ...]:
    """What each share is due to, in words."""
    return tuple(" × ".join(share.options) or SEED for share in shares)


def shares_table(shares: Sequence[Share]) -> pd.DataFrame:
    """A row for every share; `kind` tells the seed's from the others."""
    names = share_names(shares)
    return pd.DataFrame(
        {
            "part": names,
            "share": [share.share for share in shares],
            "chance": [share.by_chance for share in shares],
            "kind": ["seed" if name == SEED else "option" for name in names],
        }
    )


@drawn_once
def shares_chart(table: Rows, *, parts: Sequence[str], dark: bool) -> alt.LayerChart:
    """Bars from 0 to 1; a dashed tick where a share would be by chance alone."""
    hue = hues(dark=dark)
    y = alt.Y(
        "part:N",
        title=None,
        scale=alt.Scale(domain=list(parts)),
        axis=alt.Axis(labelLimit=260, ticks=False, domain=False),
    )
    scale = alt.Scale(domain=[0, 1])

    def x(field: str) -> alt.X:
        return alt.X(
            field,
            title="share of the variance",
            scale=scale,
            axis=alt.Axis(format=".0%", tickCount=5),
        )

    tooltip = [
        alt.Tooltip("part:N", title="due to"),
        alt.Tooltip("share:Q", title="share of the variance", format=".1%"),
        alt.Tooltip("chance:Q", title="by chance alone about", format=".1%"),
    ]
    base = alt.Chart(table).encode(y=y, tooltip=tooltip)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["option", "seed"], range=[hue.learned, hue.sampled]),
        legend=None,
    )
    return alt.layer(
        base.encode(x=x("share:Q"), color=colour).mark_bar(aria=False, cornerRadius=2),
        base.encode(x=x("chance:Q")).mark_tick(
            color=hue.truth, thickness=2, bandSize=22, aria=False
        ),
        base.encode(x=x("share:Q"), text=alt.Text("share:Q", format=".0%")).mark_text(
            align="left", dx=5, color=hue.truth, aria=False
        ),
    ).properties(height=_ROW * len(parts) + _AROUND, padding={"right": 40})
