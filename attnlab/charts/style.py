"""The style of charts: the meaning of colours, their dark counterparts, and large type.

Charts use the colours of the light theme; `on_dark` replaces them in the specification.
"""

import re
from typing import Any, NamedTuple


class Hues(NamedTuple):
    """Colours by meaning. Learned values are always violet; the truth is grey and dashed.

    `sampled` is the colour of samples of the process, `reference` that of the best reference
    predictor, which a model may beat.
    """

    learned: str
    training: str
    truth: str
    cursor: str
    query: str
    key: str
    sampled: str
    value: str
    reference: str


class Ramp(NamedTuple):
    """Three colours of a scale, from the lowest to the highest value."""

    low: str
    middle: str
    high: str


HUES = Hues(
    "#5048c8", "#9aa2b3", "#5c6577", "#b0560f", "#1f6fc4", "#c93a4b", "#8a6400", "#1c8058",
    "#b0159e",
)  # fmt: skip
INK, GROUND = "#1d2433", "#ffffff"
# Fractions, from the background to a strong colour: of a model, and of the truth.
SHARES = Ramp("#f4f3fd", "#8b83e2", "#362f8c")
TRUTHS = Ramp("#f4f5f8", "#9aa2b4", "#1d2433")
# From negative through the background to positive.
SIGNED = Ramp("#7a4b36", "#f4f5f8", "#5048c8")
# As many as there are model families in `MODELS`.
_PAST = (
    "#0b7a75", "#a12c7d", "#5d6b14", "#2a6f97", "#8e24aa", "#2e7d32", "#d6336c", "#5f3dc4",
    "#37474f",
)  # fmt: skip
# On a dark background: the colours in the same order.
_DARK_HUES = Hues(
    "#9a92ff", "#7f8798", "#a0a8b8", "#f0a265", "#6cb0f5", "#f5858f", "#e8c04c", "#62cfa0",
    "#f07be0",
)  # fmt: skip
_DARK_PAST = (
    "#4fc4bd", "#e07fc0", "#b5c45a", "#74b9dd", "#d58cf0", "#7bc47f", "#ff8fb1", "#b39df3",
    "#c3cad6",
)  # fmt: skip
_COUNTERPARTS = dict(
    zip(
        (*HUES, *_PAST, INK, GROUND, *SHARES, *TRUTHS, SIGNED.low),
        (
            *_DARK_HUES, *_DARK_PAST, "#e6e9f0", "#12151c", "#1e1d33", "#6e67cb", "#dbd9ff",
            "#1b1f29", "#6f7888", "#e6e9f0", "#c99b84",
        ),
        strict=True,
    )
)  # fmt: skip

# The name of a level that has the colour of the best reference predictor.
REFERENCE = "best reference"
# Style of lines that show the truth.
KNOWN_LINE = {"color": HUES.truth, "strokeDash": [5, 4], "strokeWidth": 1.5}

# With even larger type, labels below a heatmap would overlap.
_TIMES = 4 / 3
# The Vega parameter by which a chart that places its own text follows the size of type.
TYPE_SIZE = "type"
# Text size in pixels where a chart sets none.
_PLAIN = 16
_SIZES = ("fontSize", "labelFontSize", "titleFontSize")


def past_hue(number: int) -> str:
    """Return a colour for a past run or a series, different from all `HUES`."""
    return _PAST[number % len(_PAST)]


def past_css(number: int) -> str:
    """Return the same colour for the style sheet of a page, where it follows the theme."""
    return f"light-dark({past_hue(number)}, {_DARK_PAST[number % len(_PAST)]})"


def on_dark(text: str) -> str:
    """Replace every light-theme colour in a text by its dark counterpart."""
    return re.sub(r"#[0-9a-f]{6}", lambda found: _COUNTERPARTS.get(found[0], found[0]), text)


def with_large_type(specification: dict[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification with text a third larger, for a projector.

    Text whose size follows from the size of its cell is not changed.
    """
    words = {"labelFontSize": _PLAIN, "titleFontSize": _PLAIN}
    letters = {"text": {"fontSize": _PLAIN}, "title": {"fontSize": _PLAIN}}
    legend = {**words, "labelLimit": 0, "titleLimit": 0}
    config = {"axis": words, "header": words, "legend": legend, **letters}
    larger = {key: _larger(part) for key, part in specification.items() if key != "datasets"}
    for param in larger.get("params", []):
        if param["name"] == TYPE_SIZE:
            param["value"] = _TIMES
    return specification | larger | {"config": {**config, **specification.get("config", {})}}


def _larger(part: Any) -> Any:
    if isinstance(part, list):
        return [_larger(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value * _TIMES if key in _SIZES and isinstance(value, int | float) else _larger(value)
        for key, value in part.items()
        # Without this, the title of a colour bar is above it; beside it there is no room, unless
        # the chart itself places the legend.
        if key != "titleOrient" or part.get("orient") == "none"
    }
