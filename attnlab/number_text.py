"""Numbers as people type them and as they are shown."""

import math
from typing import Any

from attnlab.options import OptionError


def read_numbers(name: str, text: str, default: tuple) -> tuple:
    """A list or a table of numbers, whichever `default` is, with its kind of numbers.

    Numbers stand apart by spaces or commas, rows by new lines or semicolons. Refused, with an
    `OptionError` for `name`: text that is not numbers, or no numbers.
    """
    is_table = isinstance(default[0], tuple)
    number = type(default[0][0] if is_table else default[0])
    lines = text.replace(";", "\n").splitlines()
    try:
        rows = [tuple(number(part) for part in line.replace(",", " ").split()) for line in lines]
    except ValueError:
        kind = "whole numbers" if number is int else "numbers"
        remedy = "Put spaces or commas between them, and each row on a line or behind a semicolon"
        raise OptionError(name, text, f"not {kind}", remedy) from None
    rows = [row for row in rows if row]
    if not rows:
        raise OptionError(name, text, "empty", f"Try {show_numbers(default)!r}")
    return tuple(rows) if is_table else tuple(part for row in rows for part in row)


def show_numbers(value: tuple[Any, ...]) -> str:
    """The text that `read_numbers` reads back to the last digit."""
    rows = value if isinstance(value[0], tuple) else (value,)
    return "\n".join("  ".join(repr(part) for part in row) for row in rows)


def show_measured(value: float, stderr: float, *, most_places: int = 3) -> str:
    """`value ± stderr`, the error to two digits and the value to no more places than it.

    >>> show_measured(299.977, 3.728)
    '300.0 ± 3.7'
    >>> show_measured(0.50587, 0.00499)
    '0.506 ± 0.005'
    """
    places = most_places
    if stderr > 0 and math.isfinite(stderr):
        places = min(most_places, max(0, 1 - math.floor(math.log10(stderr))))
    # An error below the last place is not shown as none.
    shown = max(stderr, 10.0**-places) if stderr > 0 else stderr
    return f"{value:,.{places}f} ± {shown:,.{places}f}".replace("-", "−")
