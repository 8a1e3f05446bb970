"""Checks of probabilities that a person typed."""

import math
from typing import Any

from attnlab.configuration.options import OptionError, quoted

# Wide enough for rows typed with six decimals, far too narrow to hide a wrong row.
_SUM_TOLERANCE = 1e-6


def check_distribution(name: str, row: Any, size: int) -> None:
    """Refuse a row that is not `size` probabilities that sum to 1."""
    remedy = f"Give {size} numbers from 0 to 1 that sum to 1"
    if not isinstance(row, tuple) or len(row) != size:
        raise OptionError(name, row, f"not {size} numbers", remedy)
    for probability in row:
        if isinstance(probability, bool) or not isinstance(probability, int | float):
            raise OptionError(name, row, f"{quoted(probability)} is not a number", remedy)
        # A whole number may be too large for `math.isnan`, and is a number in any case.
        if isinstance(probability, float) and math.isnan(probability):
            raise OptionError(name, row, "a number is missing", remedy)
        if not 0 <= probability <= 1:
            raise OptionError(name, row, f"{quoted(probability)} is not from 0 to 1", remedy)
    total = math.fsum(row)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise OptionError(name, row, f"sums to {total:.6g}, not to 1", remedy)


def check_table(name: str, table: Any, rows: int, columns: int) -> None:
    """Refuse a table that is not `rows` distributions over `columns` outcomes."""
    if not isinstance(table, tuple) or len(table) != rows:
        raise OptionError(name, table, f"not {rows} rows", f"Give {rows} rows of {columns} numbers")
    for number, row in enumerate(table, start=1):
        check_distribution(f"{name} row {number}", row, columns)
