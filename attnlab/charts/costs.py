"""The chart of the bottleneck: exact match by length and width of the state."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from attnlab.charts.drawing import Drawing
from attnlab.charts.lines import SHAPES, Scale, Series, lines_chart
from attnlab.charts.style import HUES
from attnlab.configuration.number_text import show_range

# Horizontal distance between the marks of two widths at the same length, in units of length.
_APART = 0.14


def exact_match_chart(
    points: Iterable[tuple[int, int, float, float, float]],
    *,
    lengths: tuple[int, ...],
    bits: Sequence[str],
    widths: Sequence[int],
    attends: bool,
    height: int | None = None,
) -> Drawing:
    """Draw exact match against length, one line per width; the widest line is the strongest.

    `points` are (length, width, mean, low, high). `bits` are labels below the lengths. `attends`
    selects the colour of models with attention.
    """
    table = pd.DataFrame(points, columns=["length", "width", "value", "low", "high"])
    place = table["width"].map(list(widths).index)
    table["at"] = table["length"] + (place - (len(widths) - 1) / 2) * _APART
    table["series"] = [f"width {width}" for width in table["width"]]
    table["interval"] = [
        f"{show_range(100 * low, 100 * high, places=1)} %"
        for low, high in zip(table["low"], table["high"], strict=True)
    ]
    hue = HUES.learned if attends else HUES.cursor
    looks = zip(widths, SHAPES, np.linspace(0.45, 1, len(widths)).tolist(), strict=False)
    return lines_chart(
        table,
        x=Scale(
            "hand size (bits needed to identify the hand)",
            domain=(min(lengths) - 0.6, max(lengths) + 0.6),
            ticks=lengths,
            names=tuple((str(n), f"{b} bits") for n, b in zip(lengths, bits, strict=True)),
        ),
        y=Scale("exact match (% of hands)", ".1%", labels=".0%", domain=(0, 1)),
        series=tuple(
            Series(f"width {width}", hue, shape, opacity=strength)
            for width, shape, strength in looks
        ),
        noun="state",
        tips=(("length", "cards", "d"), ("interval", "95 % interval over seeds", "")),
        height=height,
    )
