"""Charts with larger letters, to be read from the back of a room."""

from typing import Any

# More, and the names of days under a heatmap meet.
_TIMES = 4 / 3
# Pixels of letters for which a chart itself says nothing.
_PLAIN = 16
_SIZES = ("fontSize", "labelFontSize", "titleFontSize")


def with_large_type(specification: dict[str, Any]) -> dict[str, Any]:
    """The specification of a chart with all its letters a third larger.

    Those that fit themselves to their place, as in the cells of a matrix, stay as they are.
    """
    words = {"labelFontSize": _PLAIN, "titleFontSize": _PLAIN}
    letters = {"text": {"fontSize": _PLAIN}, "title": {"fontSize": _PLAIN}}
    legend = {**words, "labelLimit": 0, "titleLimit": 0}
    config = {"axis": words, "header": words, "legend": legend, **letters}
    larger = {key: _larger(part) for key, part in specification.items() if key != "datasets"}
    return specification | larger | {"config": {**config, **specification.get("config", {})}}


def _larger(part: Any) -> Any:
    if isinstance(part, list):
        return [_larger(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value * _TIMES if key in _SIZES and isinstance(value, int | float) else _larger(value)
        for key, value in part.items()
        # The title of a bar of colours goes above it: beside it there is no room left.
        if key != "titleOrient"
    }
