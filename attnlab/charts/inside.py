"""Charts of a model: its final prediction, its errors, its states and weights."""

from collections.abc import Mapping
from types import MappingProxyType

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import block_of, days_side, heatmap, in_squares, shade, side, tip
from attnlab.charts.lines import (
    ERROR,
    Scale,
    by_name,
    legend_columns,
    level_table,
    lines_chart,
    series_table,
    top_legend,
)
from attnlab.charts.style import HUES, SHARES, SIGNED, TRUTHS
from attnlab.generators.vocabulary import Vocabulary

# Name of the row with the truth.
TRUTH = "truth"
# Colours of distributions of the next token, by name.
_HUES = MappingProxyType(
    {
        "true": HUES.truth,
        "chosen belief": HUES.truth,
        "exact belief": HUES.training,
        "model": HUES.learned,
    }
)
# In pixels: a cell with room for its number, a cell of the confusion matrix at most, and the names
# beside the rows of the final query.
_NUMBER_WIDTH, _COUNT_CELL, _NAMES = 28, 72, 110
# On any screen, numbers have no room in more cells.
_MOST_NUMBERS = 50


def final_query_table(rows: Mapping[str, Float[np.ndarray, " day"]]) -> pd.DataFrame:
    """Return a table with one row per named series and position (from 1)."""
    parts = [
        pd.DataFrame({"row": name, "day": np.arange(1, len(values) + 1), "value": values})
        for name, values in rows.items()
    ]
    return pd.concat(parts, ignore_index=True)


@drawn_once
def final_query_chart(
    table: Rows,
    *,
    rows: tuple[str, ...],
    symbols: tuple[str, ...],
    most: float,
    title: str,
    word: str = "day",
) -> Chart:
    """Draw what the final prediction attends to, depends on, and should depend on.

    Each series is a row of cells on the scale from 0 to `most`: grey for `TRUTH`, violet for the
    others. `symbols` are the tokens of the positions.
    """
    days, domain = range(1, len(symbols) + 1), (0, most)
    return (
        heatmap(
            table,
            x=days_side(alt.X, "day", word, days, symbols, colour=HUES.key),
            # A fixed width of the labels, so that a page can put something above the columns.
            y=side(alt.Y, "row", None, rows, labelLimit=_NAMES, minExtent=_NAMES, maxExtent=_NAMES),
            colour={
                f"datum.row !== '{TRUTH}'": shade("value", title, SHARES, domain),
                f"datum.row === '{TRUTH}'": shade("value", title, TRUTHS, domain, legend=False),
            },
            tooltip=[tip("row:N"), tip("day:O", word), tip("value:Q", title, ".3f")],
            number=alt.Text("value:Q", format=".2f"),
            strong=f"datum.value > {0.55 * most}",
            fontSize=11,
            opacity=alt.ExprRef(f"width >= {_NUMBER_WIDTH * len(days)} ? 1 : 0"),
        )
        .resolve_scale(color="independent")
        .properties(usermeta={"picture": {"width": _NUMBER_WIDTH * min(len(days), _MOST_NUMBERS)}})
    )


def by_day_chart(
    days: Int[np.ndarray, " days"],
    losses: Float[np.ndarray, " days"],
    stderr: Float[np.ndarray, " days"],
    floors: Float[np.ndarray, " days"],
    *,
    word: str = "day",
    height: int | None = None,
) -> Drawing:
    """Draw the loss at each predicted position, with the lowest possible loss in grey dashes."""
    return lines_chart(
        series_table("", days, losses, stderr).assign(floor=floors),
        level_table({"floor": floors}, days),
        x=Scale(f"{word} predicted", kind="ordinal"),
        y=Scale("loss (nats)", ".4f", zero=False),
        look="dots",
        tips=(ERROR, ("floor", "floor (nats)", ".4f")),
        below=True,
        height=height,
    )


def by_lag_chart(
    influence: Float[np.ndarray, " day"],
    stderr: Float[np.ndarray, " day"],
    *,
    word: str = "day",
    height: int | None = None,
) -> Drawing:
    """Draw the influence of each position on the prediction, by its distance before the query.

    The last position is the query, with lag 0; unknown standard errors are NaN.
    """
    lags = np.arange(len(influence))
    return lines_chart(
        series_table("", lags, influence[::-1], stderr[::-1]).assign(day=lags[::-1] + 1),
        x=Scale(f"{word}s before the query", "d", labels="d"),
        y=Scale("influence (total variation)", ".1%", labels="%"),
        tips=(("error", "± standard error", ".1%"), ("day", word, "d")),
        height=height,
    )


def next_day_table(
    distributions: Mapping[str, Float[np.ndarray, " vocab"]], vocabulary: Vocabulary
) -> pd.DataFrame:
    """Return a table with one row per token and named distribution."""
    return pd.DataFrame(
        {
            "token": list(vocabulary.symbols) * len(distributions),
            "distribution": np.repeat(list(distributions), vocabulary.size),
            "probability": np.concatenate([*distributions.values()]),
        }
    )


@drawn_once
def next_day_chart(
    table: Rows,
    *,
    symbols: tuple[str, ...],
    names: tuple[str, ...] = ("true", "model"),
    word: str = "day",
) -> Chart:
    """Draw distributions of the next token, side by side, as bars from 0 to 1."""
    axis = alt.Axis(labelAngle=0, labelFontSize=16)
    hues = [_HUES[name] for name in names]
    legend = top_legend(columns=legend_columns(names))
    colour = by_name(alt.Color, "distribution", names, hues, legend=legend)
    return (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("token:N", title=f"next {word}", sort=list(symbols), axis=axis),
            xOffset=alt.XOffset("distribution:N", sort=list(names)),
            y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1])),
            color=colour,
            tooltip=[tip("token:N"), tip("distribution:N"), tip("probability:Q", None, ".3f")],
        )
    )


def confusion_table(
    counts: Int[np.ndarray, "observed predicted"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """Return a table with one row per pair of observed and predicted token."""
    observed, predicted = (index.ravel() for index in np.indices(counts.shape))
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    symbols = np.array(vocabulary.symbols)
    return pd.DataFrame(
        {
            "observed": symbols[observed],
            "predicted": symbols[predicted],
            "count": counts.ravel(),
            "share": (counts / total).ravel(),
        }
    )


@drawn_once
def confusion_chart(table: Rows, *, symbols: tuple[str, ...]) -> Chart:
    """Draw the counts of observed (rows) and predicted tokens (columns), coloured by row share."""
    cells = heatmap(
        table,
        x=side(alt.X, "predicted", "predicted", symbols, labelFontSize=16),
        y=side(alt.Y, "observed", "observed", symbols, labelFontSize=16),
        colour=shade("share", "share of row", SHARES, (0, 1)),
        tooltip=[
            tip("observed:N"),
            tip("predicted:N"),
            tip("count:Q", None, ",d"),
            tip("share:Q", None, ".3f"),
        ],
        number=alt.Text("count:Q", format=",d"),
        strong="datum.share > 0.5",
    )
    return in_squares(cells, len(symbols), len(symbols), most=_COUNT_CELL)


def calibration_chart(
    predicted: Float[np.ndarray, " bins"],
    observed: Float[np.ndarray, " bins"],
    stderr: Float[np.ndarray, " bins"],
    count: Int[np.ndarray, " bins"],
    *,
    height: int | None = None,
) -> Drawing:
    """Draw observed frequency by bin of predicted probability; on the diagonal they are equal."""
    corners = np.array([0.0, 1.0])
    return lines_chart(
        series_table("", predicted, observed, stderr).assign(count=count),
        level_table({"": corners}, corners),
        x=Scale("predicted probability", ".3f", domain=(0, 1)),
        y=Scale("observed frequency", ".3f", domain=(0, 1)),
        look="dots",
        tips=(ERROR, ("count", "predictions", ",d")),
        height=height,
    )


def state_table(states: Float[np.ndarray, "length width"]) -> pd.DataFrame:
    """Return a table with one row per position and component of the state, both from 1.

    In a long sequence only every second position is kept, or fewer.
    """
    every = block_of(len(states))
    states = states[every - 1 :: every].astype(float)
    day, component = (index.ravel() + 1 for index in np.indices(states.shape))
    return pd.DataFrame({"day": every * day, "component": component, "state": states.ravel()})


@drawn_once
def state_chart(
    table: Rows, *, length: int, symbols: tuple[str, ...] | None, word: str = "day"
) -> Chart:
    """Draw the hidden state after each position as a heatmap, one row per component."""
    every = block_of(length)
    days = range(every, length + 1, every)
    return heatmap(
        table,
        x=days_side(alt.X, "day", f"after {word}", days, symbols, colour=HUES.truth),
        y=alt.Y("component:O", title="component", axis=alt.Axis(labelOverlap=True)),
        colour=shade("state", "state", SIGNED, None),
        tooltip=[tip("day:O", word), tip("component:O"), tip("state:Q", None, "+.3f")],
    )


def time_scale_chart(
    scales: Float[np.ndarray, " width"],
    *,
    length: int,
    word: str = "day",
    height: int | None = None,
) -> Drawing:
    """Draw the time scale of each component of a linear state, with the length in grey dashes."""
    order = np.argsort(-scales, kind="stable")
    places = np.arange(1, len(scales) + 1)
    return lines_chart(
        series_table("", places, scales[order]).assign(component=order + 1),
        level_table({f"{length} {word}s": float(length)}, places),
        x=Scale("component, longest first", kind="ordinal"),
        y=Scale(f"time scale ({word}s)", ".3~g", kind="log", domain=(0.1, 1000)),
        look="dots",
        tips=(("component", "component", "d"),),
        height=height,
    )


def weight_table(
    weights: Float[np.ndarray, "length vocab outcomes"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """Return a table with one row per weight, centred over outcomes: this changes no prediction."""
    centred = weights.astype(float) - weights.astype(float).mean(axis=2, keepdims=True)
    day, seen, outcome = (index.ravel() for index in np.indices(weights.shape))
    symbols = np.array(vocabulary.symbols)
    return pd.DataFrame(
        {
            "day": day + 1,
            "row": outcome * vocabulary.size + seen,
            "seen": symbols[seen],
            "outcome": symbols[outcome],
            "weight": centred.ravel(),
        }
    )


@drawn_once
def weight_chart(table: Rows, *, length: int, vocabulary: Vocabulary, word: str = "day") -> Chart:
    """Draw what each token at each position adds to each outcome's logit, in nats."""
    symbols = vocabulary.symbols
    names = [f"{seen} → {outcome}" for outcome in symbols for seen in symbols]
    return heatmap(
        table,
        x=side(alt.X, "day", word, range(1, length + 1)),
        y=side(alt.Y, "row", "token seen → token predicted", range(len(names)), names=names),
        colour=shade("weight", "weight (nats)", SIGNED, None),
        tooltip=[
            tip("day:O", word),
            tip("seen:N", "token seen"),
            tip("outcome:N", "token predicted"),
            tip("weight:Q", "weight (nats)", "+.3f"),
        ],
    )
