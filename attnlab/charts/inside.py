"""Charts of a model: its final prediction, its errors, its states and weights."""

from collections.abc import Mapping
from functools import partial

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heatmap import block_of, days_side, heatmap, shade, side, tip
from attnlab.charts.lines import by_name, measured, top_legend
from attnlab.charts.style import HUES, KNOWN_LINE, SHARES, SIGNED, TRUTHS
from attnlab.generators.vocabulary import Vocabulary

# Name of the row with the truth.
TRUTH = "truth"
_DISTRIBUTIONS = ["true", "model"]
# Width in pixels from which a cell has room for its number.
_NUMBER_WIDTH = 28


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
    return heatmap(
        table,
        x=days_side(alt.X, "day", word, days, symbols, colour=HUES.key),
        y=side(alt.Y, "row", None, rows, labelLimit=120),
        colour={
            f"datum.row !== '{TRUTH}'": shade("value", title, SHARES, domain),
            f"datum.row === '{TRUTH}'": shade("value", title, TRUTHS, domain, legend=False),
        },
        tooltip=[tip("row:N"), tip("day:O", word), tip("value:Q", title, ".3f")],
        number=alt.Text("value:Q", format=".2f"),
        strong=f"datum.value > {0.55 * most}",
        fontSize=11,
        opacity=alt.ExprRef(f"width >= {_NUMBER_WIDTH * len(days)} ? 1 : 0"),
    ).resolve_scale(color="independent")


def by_day_table(
    days: Int[np.ndarray, " days"],
    losses: Float[np.ndarray, " days"],
    stderr: Float[np.ndarray, " days"],
    floors: Float[np.ndarray, " days"],
) -> pd.DataFrame:
    """Return a table with one row per predicted position: loss, standard error and floor."""
    ends = {"low": losses - stderr, "high": losses + stderr}
    return pd.DataFrame({"day": days, "loss": losses, "error": stderr, **ends, "floor": floors})


@drawn_once
def by_day_chart(table: Rows, *, word: str = "day") -> Chart:
    """Draw the loss at each predicted position, with the lowest possible loss in grey dashes."""
    axis = alt.Axis(labelAngle=0, labelOverlap=True)
    base = alt.Chart(table).encode(x=alt.X("day:O", title=f"{word} predicted", axis=axis))
    y = partial(alt.Y, title="loss (nats)", scale=alt.Scale(zero=False))
    tooltip = [
        tip("day:O", f"{word} predicted"),
        tip("loss:Q", "loss of the model (nats)", ".4f"),
        tip("error:Q", "± standard error", ".2g"),
        tip("floor:Q", "floor (nats)", ".4f"),
    ]
    floor = base.encode(y=y("floor:Q"))
    return alt.layer(
        floor.mark_line(**KNOWN_LINE),
        floor.mark_point(color=HUES.truth, filled=True, size=20, opacity=1),
        *measured(base, y, "loss", tooltip, joined=False, color=HUES.learned),
    )


def by_lag_table(
    influence: Float[np.ndarray, " day"], stderr: Float[np.ndarray, " day"]
) -> pd.DataFrame:
    """Return a table with one row per lag (0 is the query), ± one standard error if known."""
    error, value = np.nan_to_num(stderr[::-1]), influence[::-1].astype(float)
    return pd.DataFrame(
        {
            "lag": np.arange(len(value)),
            "day": np.arange(len(value), 0, -1),
            "influence": value,
            "error": stderr[::-1].astype(float),
            "low": value - error,
            "high": value + error,
        }
    )


@drawn_once
def by_lag_chart(table: Rows, *, word: str = "day") -> Chart:
    """Draw the influence of a position on the prediction, by its distance before the query."""
    x = alt.X(
        "lag:Q",
        title=f"{word}s before the query",
        axis=alt.Axis(tickMinStep=1, format="d"),
        scale=alt.Scale(nice=False, padding=8),
    )
    y = partial(
        alt.Y,
        title="influence (total variation)",
        scale=alt.Scale(zero=True, domainMin=0),
        axis=alt.Axis(format="%"),
    )
    tooltip = [
        tip("lag:Q", f"{word}s before"),
        tip("day:Q", word),
        tip("influence:Q", None, ".1%"),
        tip("error:Q", "± standard error", ".1%"),
    ]
    base = alt.Chart(table).encode(x=x)
    return alt.layer(*measured(base, y, "influence", tooltip, color=HUES.learned))


def next_day_table(
    true: Float[np.ndarray, " vocab"], model: Float[np.ndarray, " vocab"], vocabulary: Vocabulary
) -> pd.DataFrame:
    """Return a table with one row per token and distribution, true or the model's."""
    return pd.DataFrame(
        {
            "token": list(vocabulary.symbols) * 2,
            "distribution": np.repeat(_DISTRIBUTIONS, vocabulary.size),
            "probability": np.concatenate([true, model]),
        }
    )


@drawn_once
def next_day_chart(table: Rows, *, symbols: tuple[str, ...], word: str = "day") -> Chart:
    """Draw the next token's true distribution and the model's, as bars from 0 to 1."""
    axis = alt.Axis(labelAngle=0, labelFontSize=16)
    hues = (HUES.truth, HUES.learned)
    colour = by_name(alt.Color, "distribution", _DISTRIBUTIONS, hues, legend=top_legend())
    return (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("token:N", title=f"next {word}", sort=list(symbols), axis=axis),
            xOffset=alt.XOffset("distribution:N", sort=_DISTRIBUTIONS),
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
    return heatmap(
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


def calibration_table(
    predicted: Float[np.ndarray, " bins"],
    observed: Float[np.ndarray, " bins"],
    stderr: Float[np.ndarray, " bins"],
    count: Int[np.ndarray, " bins"],
) -> pd.DataFrame:
    """Return a table with one row per bin of predicted probabilities, ± one standard error."""
    ends = (np.clip(observed + side * stderr, 0, 1) for side in (-1, 1))
    columns = ("low", "high")
    return pd.DataFrame(
        {"predicted": predicted, "observed": observed, **dict(zip(columns, ends, strict=True))}
        | {"count": count}
    )


@drawn_once
def calibration_chart(table: Rows) -> Chart:
    """Draw observed frequency against predicted probability; on the diagonal they are equal."""
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("predicted:Q", title="predicted probability", scale=unit)
    y = partial(alt.Y, title="observed frequency", scale=unit)
    corners = alt.InlineData([{"predicted": at, "observed": at} for at in (0.0, 1.0)])
    tooltip = [
        tip("predicted:Q", None, ".3f"),
        tip("observed:Q", None, ".3f"),
        tip("count:Q", "predictions", ",d"),
    ]
    base = alt.Chart(table).encode(x=x)
    return alt.layer(
        alt.Chart(corners).encode(x=x, y=y("observed:Q")).mark_line(**KNOWN_LINE),
        *measured(base, y, "observed", tooltip, joined=False, color=HUES.learned),
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


def time_scale_table(scales: Float[np.ndarray, " width"]) -> pd.DataFrame:
    """Return a table with one row per component, the longest time scale first."""
    order = np.argsort(-scales, kind="stable")
    place = np.arange(1, len(scales) + 1)
    days = scales[order].astype(float)
    return pd.DataFrame({"place": place, "component": order + 1, "days": days})


@drawn_once
def time_scale_chart(table: Rows, *, length: int, word: str = "day") -> Chart:
    """Draw the time scale of each component of a linear state, with the length as a rule."""
    title = f"time scale ({word}s)"
    axis = alt.Axis(labelAngle=0, labelOverlap=True)
    y = alt.Y("days:Q", title=title, scale=alt.Scale(type="log", domain=[0.1, 1000], clamp=True))
    points = alt.Chart(table).encode(
        x=alt.X("place:O", title="component, longest first", axis=axis),
        y=y,
        tooltip=[tip("component:O"), tip("days:Q", title, ".3~g")],
    )
    level = alt.Chart(alt.InlineData([{"days": length}])).encode(y=y)
    return alt.layer(
        points.mark_point(filled=True, size=60, color=HUES.learned),
        level.mark_rule(color=HUES.truth, strokeDash=[4, 4]),
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
