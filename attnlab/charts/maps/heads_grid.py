"""Where the cells of heads side by side are, in a place whose width only the browser knows."""

from collections.abc import Sequence

import altair as alt

# Pixels: left of the cells the days of the queries, without and with their tokens; above them the
# head's name and the marks of the truth; below them the days of the keys; below all the legend.
_LEFT, _LEFT_OF_TOKENS, TOP, _BOTTOM, _BOTTOM_OF_TOKENS, _LEGEND, _GAP = 50, 62, 34, 20, 34, 20, 22
_MOST_CELL = 40
# Rows are as high as a cell; the one that predicts is higher, and stands apart.
READ_HEIGHT, _READ_GAP = 1.4, 0.2


def top_of(row: int, read: int | None) -> float:
    """The upper edge of a row, in cells from that of the first one."""
    if read is None:
        return float(row)
    before = row + (_READ_GAP if read and row == read else 0)
    return float(before if row <= read else row + READ_HEIGHT - 1 + _READ_GAP)


class Grid:
    """Where the cells of heads are, as expressions of the width that the chart comes to have.

    `read` is the row that makes the prediction, if one alone does; `symbols` are the tokens of the
    keys, and of the queries as well where these have no `query_symbols` of their own.
    """

    def __init__(
        self,
        heads: int,
        shape: tuple[int, int],
        read: int | None,
        symbols: tuple[str, ...] | None,
        query_symbols: tuple[str, ...] | None = None,
    ):
        self._heads, (self._queries, self._keys) = heads, shape
        self._read, self._symbols = read, symbols
        self._query_symbols = query_symbols or symbols
        self.left = _LEFT if symbols is None else _LEFT_OF_TOKENS
        self._around = TOP + (_BOTTOM if symbols is None else _BOTTOM_OF_TOKENS)
        self.top = 0.0 if read is None else top_of(read, read)
        last = self._queries - 1
        self.rows = top_of(last, read) + (READ_HEIGHT if read == last else 1.0)
        # The middle of the line below all heads.
        self.foot = f"(ceil({heads} / columns) * ({self.rows} * cell + {self._around}) + 8)"

    def x(self, key: str = "datum.key") -> str:
        """Pixels from the left to the cells of a key, which count from 1."""
        head = f"(datum.place % columns) * ({self._keys} * cell + {_GAP})"
        return f"({self.left} + {head} + ({key} - 1) * cell)"

    def y(self, top: str = "datum.top") -> str:
        """Pixels from the top to what is so many cells below the first row."""
        head = f"floor(datum.place / columns) * ({self.rows} * cell + {self._around})"
        return f"({TOP} + {head} + ({top}) * cell)"

    def key_days(self) -> list[dict[str, object]]:
        """A row for the name of every key below every head."""
        return [
            {"place": place, "key": day + 1, "name": _day(day, self._symbols, upright=True)}
            for place in range(self._heads)
            for day in range(self._keys)
        ]

    def query_days(self) -> list[dict[str, object]]:
        """A row for the name of every query beside every head."""
        return [
            {
                "place": place,
                "day": day + 1,
                "read": day == self._read,
                "top": top_of(day, self._read) + (READ_HEIGHT if day == self._read else 1.0) / 2,
                "name": _day(day, self._query_symbols, upright=False),
            }
            for place in range(self._heads)
            for day in range(self._queries)
        ]

    def sizes(self) -> list[alt.Parameter]:
        """The width of a cell, and how many heads stand in a row: those that make it largest."""
        sizes = []
        for columns in range(1, self._heads + 1):
            lines = -(-self._heads // columns)
            across = f"(width - {self.left + _GAP * (columns - 1)}) / {columns * self._keys}"
            down = f"(height - {_LEGEND + lines * self._around}) / {lines * self.rows}"
            sizes.append(f"min({across}, {down})")
        largest = f"max({', '.join(sizes)})" if self._heads > 1 else sizes[0]
        # Of arrangements that come to the same the one with most heads in a row.
        columns = "".join(
            f"{size} >= largest ? {count} : " for count, size in reversed(list(enumerate(sizes, 1)))
        )
        return [
            alt.param(name="largest", expr=largest),
            alt.param(name="columns", expr=f"{columns}1"),
            alt.param(name="cell", expr=f"max(1, min({_MOST_CELL}, largest))"),
        ]


def _day(day: int, symbols: Sequence[str] | None, *, upright: bool) -> str:
    if symbols is None:
        return str(day + 1)
    return f"{symbols[day]}\n{day + 1}" if upright else f"{day + 1}  {symbols[day]}"
