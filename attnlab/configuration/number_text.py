"""Numbers as text: reading and formatting."""

import math
from collections.abc import Iterable
from typing import Any, SupportsFloat, SupportsInt

from attnlab.configuration.options import MOST_TYPED, Option, OptionError, check_typed

EMPTY_CELL = "?"
_MOST_PLACES = 9
# For a measured number, such as the loss of a run that diverged.
_MOST_IN_FULL = 1e9
# The last digit of a displayed percentage.
_LEAST_PERCENT, _NEARLY_ALL = 1e-5, 99.95


def read_numbers(name: str, text: str, default: tuple) -> tuple:
    """Return a list or a table of numbers, of the same kind as `default`.

    Numbers are separated by spaces or commas, rows by new lines or semicolons.

    Raises:
        OptionError: For `name`, if the text is not numbers, empty, or over 10,000 characters.
    """
    check_typed(name, text)
    is_table = isinstance(default[0], tuple)
    number = type(default[0][0] if is_table else default[0])
    try:
        rows = [tuple(map(number, parts)) for parts in read_cells(text)]
    except ValueError:
        kind = "whole numbers" if number is int else "numbers"
        remedy = "Separate numbers by spaces or commas, and rows by new lines or semicolons"
        raise OptionError(name, text, f"not {kind}", remedy) from None
    if not rows:
        raise OptionError(name, text, "empty", f"Try {show_numbers(default)!r}")
    return tuple(rows) if is_table else tuple(part for row in rows for part in row)


def read_matrix(name: str, text: str, *, most_rows: int, most_columns: int) -> tuple:
    """Return a matrix of finite numbers: rows of equal length, none beyond ±1,000,000.

    Numbers are separated by spaces or commas, rows by new lines or semicolons; `?` is an empty
    cell.

    Raises:
        OptionError: For any other text; the message names the row and column.
    """
    check_typed(name, text)
    cells = read_cells(text)
    if not cells:
        raise OptionError(name, text, "empty", "Type a row of numbers, such as 1 0 1")
    if len(cells) > most_rows or max(map(len, cells)) > most_columns:
        size = f"{len(cells)} × {max(map(len, cells))}"
        remedy = f"Use at most {most_rows} rows and {most_columns} columns"
        raise OptionError(name, size, "too large for the page", remedy)
    for number, row in enumerate(cells, start=1):
        if len(row) != len(cells[0]):
            problem = f"of length {len(row)}, but row 1 is of length {len(cells[0])}"
            remedy = "Make all rows equally long"
            raise OptionError(f"{name} row {number}", " ".join(row), problem, remedy)
    return tuple(
        tuple(
            _read_cell(f"{name} row {row}, column {column}", cell)
            for column, cell in enumerate(parts, start=1)
        )
        for row, parts in enumerate(cells, start=1)
    )


def _read_cell(name: str, cell: str) -> float:
    remedy = "Type a number from -1,000,000 to 1,000,000"
    if cell == EMPTY_CELL:
        raise OptionError(name, "", "empty", remedy)
    try:
        number = float(cell)
    except ValueError:
        raise OptionError(name, cell, "not a number", remedy) from None
    if not math.isfinite(number):
        raise OptionError(name, cell, "not finite", remedy)
    if abs(number) > 1_000_000:
        raise OptionError(name, cell, "too large", remedy)
    return number


def read_cells(text: str) -> list[list[str]]:
    """Split a text into rows of cells at spaces and commas; empty rows are left out."""
    lines = text.replace(";", "\n").splitlines()
    return [parts for line in lines if (parts := line.replace(",", " ").split())]


def show_matrix(rows: Any) -> str:
    """Return a matrix as text that `read_matrix` reads; integers have no fraction."""
    return "\n".join(" ".join(f"{number:.12g}" for number in row) for row in rows)


def show_numbers(value: tuple[Any, ...]) -> str:
    """Return numbers as text that `read_numbers` reads back exactly."""
    rows = value if isinstance(value[0], tuple) else (value,)
    return "\n".join("  ".join(repr(part) for part in row) for row in rows)


def show_measured(value: float, stderr: float, *, most_places: int = 3) -> str:
    """Return `value ± stderr`, the error to two digits and the value to the same places.

    >>> show_measured(299.977, 3.728)
    '300.0 ± 3.7'
    >>> show_measured(0.50587, 0.00499)
    '0.506 ± 0.005'
    >>> show_measured(-0.00002, 0.0012)
    '0.000 ± 0.001'
    >>> show_measured(2.5e30, 0.0)
    '2.5e+30 ± 0'
    """
    if abs(value) >= _MOST_IN_FULL:
        return f"{value:.3g} ± {stderr:.2g}"
    places = most_places
    if stderr > 0 and math.isfinite(stderr):
        places = min(most_places, max(0, 1 - math.floor(math.log10(stderr))))
    # An error below the last place is not shown as zero.
    shown = max(stderr, 10.0**-places) if stderr > 0 else stderr
    # A number that rounds to zero has no sign.
    value = round(value, places) + 0.0
    return f"{value:,.{places}f} ± {shown:,.{places}f}".replace("-", "−")


def show_estimate(value: float, stderr: float, *, most_places: int = 3) -> str:
    """Return `show_measured`, or the value to `most_places` if its error is 0 or NaN.

    >>> show_estimate(0.50587, 0.00499), show_estimate(-0.5, 0.0)
    ('0.506 ± 0.005', '−0.500')
    """
    if stderr > 0:
        return show_measured(value, stderr, most_places=most_places)
    if abs(value) >= _MOST_IN_FULL:
        return f"{value:.3g}"
    return f"{value:.{most_places}f}".replace("-", "−")


def show_percent(share: SupportsFloat) -> str:
    """Return a share in percent, never as 0 or 100 unless it is exactly that.

    Two digits below 50 %; above it, enough to distinguish it from 100 %, up to 99.95 %.

    >>> show_percent(0.0376), show_percent(0.0999), show_percent(0.9372), show_percent(1.037)
    ('3.8 %', '10 %', '94 %', '104 %')
    >>> show_percent(0.00082), show_percent(0.997), show_percent(0.0), show_percent(1.0)
    ('0.082 %', '99.7 %', '0 %', '100 %')
    >>> show_percent(1e-12), show_percent(1 - 1e-12)
    ('< 0.00001 %', '> 99.9 %')
    """
    percent = 100 * float(share)
    near_zero = percent < 50
    # Rounded, since 9.99 has two digits as 10 %, not as 10.0 %.
    distance = abs(float(f"{percent:.2g}")) if near_zero else abs(100 - percent)
    if distance == 0 or not math.isfinite(distance):
        places = 0
    elif near_zero and percent > 0 and distance < _LEAST_PERCENT / 2:
        return f"< {_LEAST_PERCENT:.5f} %"
    elif _NEARLY_ALL < percent < 100:
        return "> 99.9 %"
    else:
        places = max(0, near_zero - math.floor(math.log10(distance)))
    return f"{percent:.{places}f} %".replace("-", "−")


def show_range(low: float, high: float, *, places: int = 3) -> str:
    """Return `low to high`, with more places than requested if both would look equal.

    >>> show_range(0.99965, 1.0), show_range(-0.2, 0.25, places=1)
    ('0.9997 to 1.0000', '−0.2 to 0.2')
    >>> show_range(-0.2, 4.1, places=0)
    '0 to 4'
    """
    while low < high and f"{low:.{places}f}" == f"{high:.{places}f}" and places < _MOST_PLACES:
        places += 1
    # A number that rounds to zero has no sign.
    low, high = round(low, places) + 0.0, round(high, places) + 0.0
    return f"{low:.{places}f} to {high:.{places}f}".replace("-", "−")


def show_positions(positions: Iterable[SupportsInt], word: str = "") -> str:
    """Return positions in order, after their noun; from three in a row on, as a range.

    >>> show_positions([1, 4, 8], "day"), show_positions([3], "token")
    ('days 1, 4 and 8', 'token 3')
    >>> show_positions(range(55, 65), "day"), show_positions([1, 2, 4, 5, 6])
    ('days 55 to 64', '1, 2 and 4 to 6')
    """
    runs: list[list[int]] = []
    for position in sorted(map(int, positions)):
        if not runs or position != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(position)
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    *others, last = parts or [""]
    numbers = f"{', '.join(others)} and {last}" if others else last
    noun = word + "s" * (word != "" and sum(map(len, runs)) > 1)
    return f"{noun} {numbers}".strip()


def show_count(count: int, noun: str) -> str:
    """Return a number of things as text.

    >>> show_count(1, "token"), show_count(1_000, "token")
    ('1 token', '1,000 tokens')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def show_duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours, rounded to one or two digits.

    >>> show_duration(83), show_duration(4.2), show_duration(0.2), show_duration(7300)
    ('1 min', '4 s', 'less than a second', '2 h')
    """
    if seconds < 1:
        return "less than a second"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{_one_figure(seconds / size)} {unit}"
    return f"{_one_figure(seconds)} s"


def _one_figure(value: float) -> str:
    return f"{round(value) if value < 10 else round(value, -1 if value < 100 else -2):,.0f}"


def read_value(name: str, spec: Option, text: str, default: Any) -> Any:
    """Convert the text of a flag to a value of the same type as `default`."""
    check_typed(name, text, most=spec.long_text or MOST_TYPED)
    if isinstance(default, tuple):
        return read_numbers(name, text, default)
    if isinstance(default, str):
        return text
    try:
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise OptionError(name, text, f"not {kind}", f"Write {kind}") from None
