"""The loss of a run against its steps, with what is known of the process beside it."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from attnlab.charts.colours import hues
from attnlab.history import History, loss_curve
from attnlab.training import Evaluation

_TRAIN, _TEST, _TRUTH, _CURSOR = "training", "test", "known", "shown step"


def loss_table(
    history: History,
    *,
    known: Mapping[str, float],
    last_step: int,
    latest: tuple[int, Evaluation] | None,
    cursor: int | None,
) -> pd.DataFrame:
    """Rows of the chart: series, step, nats, the standard error where there is one, a label.

    Training losses are batch means before the update of their step; test losses follow it.
    `known` are losses that do not depend on the run, such as chance and the floor, by name.
    """
    steps, values = loss_curve(history)
    tests = dict(history.tests)
    if latest is not None:
        tests[latest[0]] = latest[1]
    parts = [
        {"series": _TRAIN, "step": steps, "nats": values},
        {
            "series": _TEST,
            "step": list(tests),
            "nats": [test.nll for test in tests.values()],
            "error": [test.nll_stderr for test in tests.values()],
        },
    ]
    for name, nats in known.items():
        label = f"{name} {nats:.3f}"
        parts.append({"series": _TRUTH, "step": [0, last_step], "nats": nats, "label": label})
    if cursor is not None:
        parts.append({"series": _CURSOR, "step": [cursor]})
    table = pd.concat([pd.DataFrame(part) for part in parts if len(part["step"])])
    columns = {"series": None, "step": np.nan, "nats": np.nan, "error": np.nan, "label": None}
    table = table.reindex(columns=list(columns)).reset_index(drop=True)
    return table.astype({"step": float, "nats": float, "error": float})


def loss_chart(table: pd.DataFrame, *, last_step: int, dark: bool, height: int) -> alt.LayerChart:
    """Training and test loss in nats; what is known dashed; the shown step as an upright line.

    Only `table` may change from picture to picture: everything else is fixed by the length of
    the run, so that a browser moves the lines without drawing the chart anew.
    """
    hue, series = hues(dark=dark), [_TRAIN, _TEST, _TRUTH]
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=series, range=[hue.training, hue.learned, hue.truth]),
        legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=300),
    )
    dash = alt.StrokeDash(
        "series:N", title=None, scale=alt.Scale(domain=series, range=[[1, 0], [1, 0], [5, 4]])
    )
    step = alt.X(
        "step:Q",
        title="step",
        scale=alt.Scale(domain=[0, last_step], nice=False),
        axis=alt.Axis(format=",d", tickMinStep=1),
    )
    nats = alt.Y("nats:Q", title="loss (nats)", scale=alt.Scale(zero=False, nice=True))
    upright = alt.Chart(table).encode(x=step)
    base = upright.encode(y=nats, color=colour, strokeDash=dash)
    tooltip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("label:N"),
        alt.Tooltip("step:Q", format=",d"),
        alt.Tooltip("nats:Q", title="loss (nats)", format=".4f"),
        alt.Tooltip("error:Q", title="± standard error", format=".4f"),
    ]

    is_test, is_training = alt.datum.series == _TEST, alt.datum.series == _TRAIN
    # One layer, since one of training alone would be empty at first and have no extent.
    lines = (
        base.transform_filter(alt.datum.series != _CURSOR)
        .mark_line(aria=False)
        .encode(
            detail="label:N",
            strokeWidth=alt.condition(is_test, alt.value(2.5), alt.value(1.3)),
            opacity=alt.condition(is_training, alt.value(0.6), alt.value(1)),
        )
    )
    labels = (
        upright.encode(y=nats, text="label:N")
        .transform_filter((alt.datum.series == _TRUTH) & (alt.datum.step > 0))
        .mark_text(align="right", baseline="top", dx=-4, dy=3, color=hue.truth, aria=False)
    )
    return alt.layer(
        lines,
        labels,
        upright.transform_filter(alt.datum.series == _CURSOR).mark_rule(
            color=hue.cursor, strokeWidth=2, aria=False
        ),
        base.transform_filter(alt.datum.series != _CURSOR)
        .mark_point(size=90, opacity=0, aria=False)
        .encode(tooltip=tooltip),
    ).properties(height=height)
