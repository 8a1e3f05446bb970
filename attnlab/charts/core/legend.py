"""The legend of a colour scale: Vega's own, or drawn where a chart places its marks itself."""

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


def drawn_ramp(words: str, x: str, y: str, *, colour: alt.Color, ink: str) -> list[alt.Chart]:
    """`words` and a bar from 0 to 1 that begins at `x`, with its middle at `y`: expressions.

    `colour` encodes the column `share`, as it does in the chart.
    """

    def text(words: str, x: str, align: str) -> alt.Chart:
        look = {"aria": False, "baseline": "middle", "color": ink, "align": align}
        return alt.Chart(alt.InlineData([{"name": words}])).mark_text(
            x=alt.ExprRef(x), y=alt.ExprRef(y), **look
        ).encode(text="name:N")  # fmt: skip

    bar = (
        alt.Chart(alt.InlineData([{"share": step / 20, "step": step} for step in range(21)]))
        .mark_rect(
            aria=False,
            x=alt.ExprRef(f"{x} + datum.step * 2"),
            x2=alt.ExprRef(f"{x} + datum.step * 2 + 2"),
            y=alt.ExprRef(f"{y} - 5"),
            y2=alt.ExprRef(f"{y} + 5"),
        )
        .encode(color=colour)
    )
    return [text(f"{words}  0", f"{x} - 6", "right"), bar, text("1", f"{x} + 46", "left")]
