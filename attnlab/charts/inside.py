"""Charts of a model: its final prediction, its errors, its states and weights."""

from collections.abc import Mapping
from types import MappingProxyType

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import Shade, Side, cells_table, heatmap_chart, tip
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
from attnlab.charts.maps import position_names
from attnlab.charts.style import HUES, TRUTHS

# Name of the bar of a whole gap; heights in pixels of the row of a bar, and of the axis.
_GAP, _LEDGER_ROW, _LEDGER_AXIS = "loss − floor", 30, 80
# Name of the row with the truth.
TRUTH = "truth"
# Colours of distributions of the next token, by name.
_HUES = MappingProxyType(
    {
        "best reference": HUES.reference,
        "true": HUES.truth,
        "chosen belief": HUES.truth,
        "exact belief": HUES.training,
        "model": HUES.learned,
    }
)
# In pixels: a cell with room for its number, and a cell of the confusion matrix at most.
_NUMBER_WIDTH, _COUNT_CELL = 28, 72


def final_query_chart(
    rows: Mapping[str, Float[np.ndarray, " day"]],
    *,
    symbols: tuple[str, ...],
    most: float,
    title: str,
    word: str = "day",
    height: int | None = None,
) -> Drawing:
    """Draw what the final prediction attends to, depends on, and should depend on.

    Each named series is a row of cells on the scale from 0 to `most`: grey for `TRUTH`, violet for
    the others. `symbols` are the tokens of the positions.
    """
    days, domain = tuple(range(1, len(symbols) + 1)), (0, most)
    return heatmap_chart(
        cells_table(("row", [*rows]), ("day", days), value=np.stack([*rows.values()])),
        x=Side("day", word, days, position_names(days, symbols), HUES.key),
        y=Side("row", None, tuple(rows)),
        shades=(
            Shade(title, domain=domain, cells=f"datum.row !== '{TRUTH}'"),
            Shade(title, TRUTHS, domain, legend=False, cells=f"datum.row === '{TRUTH}'"),
        ),
        tips=(("row", "row", ""), ("day", word, ""), ("value", title, ".3f")),
        number=("value", ".2f"),
        strong=0.55 * most,
        number_width=_NUMBER_WIDTH,
        height=height,
    )


def by_day_chart(
    days: Int[np.ndarray, " days"],
    losses: Float[np.ndarray, " days"],
    stderr: Float[np.ndarray, " days"],
    floors: Float[np.ndarray, " days"],
    *,
    word: str = "day",
    level: str = "floor",
    height: int | None = None,
) -> Drawing:
    """Draw the loss at each predicted position, with the lowest one, named `level`, in dashes."""
    return lines_chart(
        series_table("", days, losses, stderr).assign(floor=floors),
        level_table({level: floors}, days),
        x=Scale(f"{word} predicted", kind="ordinal"),
        y=Scale("loss (nats)", ".4f", zero=False),
        look="dots",
        tips=(ERROR, ("floor", f"{level} (nats)", ".4f")),
        below=True,
        height=height,
    )


def ledger_chart(parts: Mapping[str, float]) -> Drawing:
    """Draw the parts of a gap in nats as bars, each of which begins where the last one ends."""
    ends = np.cumsum([0.0, *parts.values()])
    table = pd.DataFrame(
        {"part": [*parts], "nats": [*parts.values()], "start": ends[:-1], "end": ends[1:]}
    )
    total = pd.DataFrame([{"part": _GAP, "nats": ends[-1], "start": 0.0, "end": ends[-1]}])
    return _ledger_chart(pd.concat([table, total]), parts=tuple(parts))


@drawn_once
def _ledger_chart(table: Rows, *, parts: tuple[str, ...]) -> Chart:
    names, axis = (*parts, _GAP), alt.Axis(labelLimit=160)
    base = alt.Chart(table).encode(
        y=alt.Y("part:N", title=None, sort=list(names), axis=axis),
        tooltip=[tip("part:N"), tip("nats:Q", "nats", ".6f")],
    )
    bar = base.encode(x=alt.X("start:Q", title="nats above the floor"), x2="end:Q")
    hue = alt.condition(f"datum.part === '{_GAP}'", alt.value(HUES.truth), alt.value(HUES.learned))
    number = base.encode(x="end:Q", text=alt.Text("nats:Q", format=".4f"))
    text = number.mark_text(align="left", dx=6, color=HUES.truth)
    height = _LEDGER_ROW * len(names) + _LEDGER_AXIS
    return alt.layer(bar.mark_bar(height=18).encode(color=hue), text).properties(height=height)


def next_day_chart(
    distributions: Mapping[str, Float[np.ndarray, " vocab"]],
    *,
    symbols: tuple[str, ...],
    word: str = "day",
    height: int | None = None,
) -> Drawing:
    """Draw named distributions of the next token, side by side, as bars from 0 to 1."""
    table = cells_table(
        ("distribution", [*distributions]),
        ("token", symbols),
        probability=np.stack([*distributions.values()]),
    )
    return _next_day(table, symbols=symbols, names=tuple(distributions), word=word, height=height)


@drawn_once
def _next_day(table: Rows, *, symbols: tuple[str, ...], names: tuple[str, ...], word: str) -> Chart:
    axis = alt.Axis(labelAngle=0, labelFontSize=16)
    hues = [_HUES[name] for name in names]
    legend = top_legend(columns=legend_columns(names))
    return (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X("token:N", title=f"next {word}", sort=list(symbols), axis=axis),
            xOffset=alt.XOffset("distribution:N", sort=list(names)),
            y=alt.Y("probability:Q", scale=alt.Scale(domain=[0, 1])),
            color=by_name(alt.Color, "distribution", names, hues, legend=legend),
            tooltip=[tip("token:N"), tip("distribution:N"), tip("probability:Q", None, ".3f")],
        )
    )


def confusion_chart(
    counts: Int[np.ndarray, "observed predicted"], *, symbols: tuple[str, ...]
) -> Drawing:
    """Draw the counts of observed (rows) and predicted tokens (columns), coloured by row share."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    large = (("labelFontSize", 16),)
    return heatmap_chart(
        cells_table(("observed", symbols), ("predicted", symbols), count=counts, share=shares),
        x=Side("predicted", "predicted", symbols, look=large),
        y=Side("observed", "observed", symbols, look=large),
        shades=(Shade("share of row"),),
        tips=(
            ("observed", "observed", ""),
            ("predicted", "predicted", ""),
            ("count", "count", ",d"),
            ("share", "share", ".3f"),
        ),
        value="share",
        number=("count", ",d"),
        most_cell=_COUNT_CELL,
    )


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
