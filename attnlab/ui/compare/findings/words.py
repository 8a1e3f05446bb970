"""What settings are called in a comparison."""

from collections.abc import Sequence

from attnlab.comparisons.grid import PRESET
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row
from attnlab.configuration.options import label_of, options_of
from attnlab.runs.option_texts import parts_with

# Names of parts say by themselves what they are.
_SPEAKING = (PRESET, "generator", "model")


def option_label(name: str) -> str:
    """What an option is called on screen."""
    kinds = parts_with(name)
    return label_of(name, options_of(kinds[0])[name]) if kinds else name


def setting_labels(rows: Sequence[Row]) -> tuple[str, ...]:
    """A short name for every row, from the options that differ."""
    names = differing_options(rows)
    found = [_label(row, names) for row in rows]
    return tuple(
        label if found.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(found, 1)
    )


def _label(row: Row, names: Sequence[str]) -> str:
    options = dict(row.setting.options)
    parts = [
        options[name] if name in _SPEAKING else f"{plain_label(name)} {options[name]}"
        for name in names
        if name in options
    ]
    return " · ".join(parts) or "these settings"


def plain_label(name: str) -> str:
    """What an option is called, without its unit."""
    return option_label(name).partition(" (")[0]
