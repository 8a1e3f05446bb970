"""Charts with larger letters, to be read from the back of a room."""

from typing import Any

_TIMES = 1.5
# Pixels of letters for which a chart itself says nothing.
_PLAIN = 18
_SIZES = ("fontSize", "labelFontSize", "titleFontSize")


def with_large_type(specification: dict[str, Any]) -> dict[str, Any]:
    """The specification of a chart with all its letters half as large again."""
    plain = {"labelFontSize": _PLAIN, "titleFontSize": _PLAIN}
    config = {"axis": plain, "legend": {**plain, "labelLimit": 0}, "header": plain}
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
    }
