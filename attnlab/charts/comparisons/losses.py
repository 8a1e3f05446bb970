"""Single runs side by side: their test losses against the step."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from attnlab.charts.core.colours import hues, past_hue
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.training.evaluation import Evaluation


def losses_table(
    runs: Mapping[str, Sequence[tuple[int, Evaluation]]], known: Mapping[str, float]
) -> pd.DataFrame:
    """A row a test of every run, and the two ends of every loss that is known, by their names."""
    rows = [
        {"name": name, "known": False, "step": step, "nats": test.nll, "error": test.nll_stderr}
        for name, tests in runs.items()
        for step, test in tests
    ]
    last = max((row["step"] for row in rows), default=0)
    rows += [
        {"name": f"{name} {nats:.3f}", "known": True, "step": step, "nats": nats}
        for name, nats in known.items()
        for step in (0, last)
    ]
    return pd.DataFrame(rows, columns=["name", "known", "step", "nats", "error"])


@drawn_once
def losses_chart(table: Rows, *, names: tuple[str, ...], dark: bool, height: int) -> alt.LayerChart:
    """A line for each of the `names`, by colour and dashes; what is known in grey."""
    grey = hues(dark=dark).truth
    dashes = ([1, 0], [9, 3], [2, 2], [9, 3, 2, 3], [2, 5], [14, 4], [5, 2])
    scale = alt.Scale(
        domain=list(names), range=[past_hue(place, dark=dark) for place in range(len(names))]
    )
    step = alt.X("step:Q", title="step", axis=alt.Axis(format=",d", tickMinStep=1))
    nats = alt.Y("nats:Q", title="test loss (nats)", scale=alt.Scale(zero=False))
    base = alt.Chart(table).encode(x=step, y=nats)
    runs = base.transform_filter("!datum.known").encode(
        color=alt.Color(
            "name:N",
            title=None,
            scale=scale,
            legend=alt.Legend(
                orient="top", symbolType="stroke", symbolStrokeWidth=3, columns=3, labelLimit=300
            ),
        )
    )
    levels = base.transform_filter("datum.known")
    return alt.layer(
        levels.encode(detail="name:N").mark_line(
            color=grey, strokeDash=[5, 4], strokeWidth=1.5, aria=False
        ),
        levels.transform_filter("datum.step > 0")
        .encode(text="name:N")
        .mark_text(align="right", baseline="bottom", dx=-4, dy=-3, color=grey, aria=False),
        runs.encode(
            strokeDash=alt.StrokeDash(
                "name:N",
                title=None,
                scale=alt.Scale(
                    domain=list(names),
                    range=[dashes[place % len(dashes)] for place in range(len(names))],
                ),
            )
        ).mark_line(strokeWidth=2, aria=False),
        runs.encode(
            tooltip=[
                alt.Tooltip("name:N", title="run"),
                alt.Tooltip("step:Q", format=",d"),
                alt.Tooltip("nats:Q", title="test loss (nats)", format=".4f"),
                alt.Tooltip("error:Q", title="± standard error", format=".4f"),
            ]
        ).mark_point(filled=True, size=22, aria=False),
    ).properties(height=height, padding={"right": 16})
