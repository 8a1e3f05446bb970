"""Maps of several heads side by side, with square cells that are as large as possible."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import tip
from attnlab.charts.style import GROUND, HUES, INK, SHARES, TRUTHS, TYPE_SIZE, Ramp

# Pixels: of query labels left of the cells, without and with tokens; of map names and truth marks
# above them; of key labels below them; of the key title below all; and between two maps.
_LEFT, _LEFT_OF_TOKENS, _TOP, _BOTTOM, _BOTTOM_OF_TOKENS, _FOOT, _GAP = 50, 62, 34, 20, 34, 32, 22
_MOST_CELL = 40
# In a narrow chart the legend is on a line below the key title; the line's height in pixels.
_NARROW, _LINE = "width <= 520", 18
# Cells must be this wide (in pixels) for a label at every cell, and for a number inside.
_LABEL, _NUMBER = 17, 20
# In a file: the width of a cell with a number, and of all maps in a line.
_CELL_IN_FILE, _LINE_IN_FILE = 26, 1300
# Opacity of the rows that are not in the loss.
_UNTRAINED = 0.35


class MapWords(NamedTuple):
    """Texts of a chart of maps: the maps' names, the meaning of a cell, nouns for key and query."""

    names: tuple[str, ...]
    cell: str
    key: str
    query: str = "query"


class Grid(NamedTuple):
    """The layout of maps with `queries` × `keys` cells, arranged in lines.

    Positions are Vega expressions, computed in the browser from the chart's width and height. Room
    for text grows with the size of type.
    """

    maps: int
    queries: int
    keys: int
    left: int
    top: int
    bottom: int
    gap: int

    def x(self, key: str = "datum.key") -> str:
        """Return the left edge of the cells of a key (from 1), in pixels from the left."""
        return f"({self._left} + (datum.place % columns) * pitch + ({key} - 1) * cell)"

    def y(self, row: str = "datum.row") -> str:
        """Return the top edge of the cells of a row (from 0), in pixels from the top."""
        line = f"floor(datum.place / columns) * ({self.queries} * cell + {self._around})"
        return f"({self.top} * {TYPE_SIZE} + {line} + ({row}) * cell)"

    @property
    def _left(self) -> str:
        return f"{self.left} * {TYPE_SIZE}"

    @property
    def _around(self) -> str:
        return f"{self.top + self.bottom} * {TYPE_SIZE}"

    @property
    def foot(self) -> str:
        """Return the vertical middle of the line of text below all maps, in pixels from the top."""
        lines = f"ceil({self.maps} / columns)"
        return f"({lines} * ({self.queries} * cell + {self._around}) + 8 * {TYPE_SIZE})"

    def shade(self, cell: str, ramp: Ramp = SHARES) -> alt.Color:
        """Return the colours of fractions from 0 to 1, with a legend below all maps."""
        legend = alt.Legend(
            orient="none",
            direction="horizontal",
            titleOrient="left",
            titleLimit=220,
            gradientLength=80,
            gradientThickness=10,
            values=[0, 1],
            format=".0%",
            titleFontWeight="normal",
            titleFontSize=12,
            labelFontSize=11,
            legendX=alt.ExprRef(f"{_NARROW} ? {self._left} : {self._left} + 180 * {TYPE_SIZE}"),
            legendY=alt.ExprRef(f"{self.foot} + ({_NARROW} ? {_LINE - 7} : -7) * {TYPE_SIZE}"),
        )
        scale = alt.Scale(domain=[0, 1], range=list(ramp), clamp=True)
        shown = legend if ramp is SHARES else None
        return alt.Color("share:Q", title=cell, scale=scale, legend=shown)

    def box(self, x: str, x2: str, y: str, y2: str) -> dict[str, Any]:
        """Return the edges of a rectangle as mark properties."""
        edges = {"x": x, "x2": x2, "y": y, "y2": y2}
        return {name: alt.ExprRef(at) for name, at in edges.items()}

    def sizes(
        self, *, most: int, columns: int | None = None, apart: int = 0
    ) -> list[alt.Parameter]:
        """Return Vega parameters: cell width, maps per line, and distance from map to map.

        Without `columns`, a line has as many maps as make the cells largest. If there is room, the
        left edges of two maps are at least `apart` pixels apart.
        """
        sizes = {}
        for count in range(1, self.maps + 1) if columns is None else [columns]:
            lines = -(-self.maps // count)
            across = f"(width - {self._left} - {self.gap * (count - 1)}) / {count * self.keys}"
            foot = f"({_NARROW} ? {_FOOT + _LINE} : {_FOOT}) * {TYPE_SIZE}"
            around = f"{foot} - {lines} * {self._around}"
            sizes[count] = f"min({across}, (height - {around}) / {lines * self.queries})"
        # If several numbers of maps per line give equal cells, take the largest.
        best = "".join(f"{sizes[count]} >= largest ? {count} : " for count in reversed(sizes))
        room = f"min({apart}, (width - {self._left}) / columns)"
        return [
            alt.param(name=TYPE_SIZE, value=1),
            alt.param(name="largest", expr=f"max({', '.join(sizes.values())}, 0)"),
            alt.param(name="columns", expr=f"{best}1" if columns is None else str(columns)),
            alt.param(name="cell", expr=f"max(1, min({most}, largest))"),
            alt.param(name="pitch", expr=f"max({self.keys} * cell + {self.gap}, {room})"),
        ]

    def in_file(self, *, columns: int, cell: float, apart: int = 0) -> dict[str, Any]:
        """Return the size of the chart in files, where `cell` has the same width on all screens."""
        pitch, lines = max(self.keys * cell + self.gap, apart), -(-self.maps // columns)
        height = _FOOT + lines * (self.queries * cell + self.top + self.bottom)
        return {"picture": {"width": round(self.left + columns * pitch), "height": round(height)}}


def cell_text(data: Any, x: str, y: str, color: str, field: str = "name", **look: Any):
    """Return a text mark that shows `field` at (x, y), if the expression `shown` is true."""
    shown = look.pop("shown", "true")
    # Invisible text is moved to the left edge, or it would make a chart on a phone too wide.
    chart = alt.Chart(data if isinstance(data, alt.NamedData) else alt.InlineData(data))
    return chart.mark_text(
        **{"align": "left", "baseline": "middle", "lineBreak": "\n", "color": color, **look},
        x=alt.ExprRef(f"{shown} ? {x} : 0"),
        y=alt.ExprRef(y),
        opacity=alt.ExprRef(f"{shown} ? 1 : 0"),
    ).encode(text=f"{field}:N")


PADDING = {"left": 0, "top": 0, "right": 8, "bottom": 0}


def _grid(maps: int, shape: tuple[int, int], *, tokens: bool) -> Grid:
    sides = (_LEFT_OF_TOKENS, _BOTTOM_OF_TOKENS) if tokens else (_LEFT, _BOTTOM)
    return Grid(maps, *shape, sides[0], _TOP, sides[1], _GAP)


def _percent(shares: Float[np.ndarray, " cells"]) -> np.ndarray:
    """Return whole percentages as text; empty texts for 0."""
    return np.array([f"{100 * share:.0f}" if share >= 0.05 else "" for share in shares], dtype=str)


def heads_table(
    patterns: Float[np.ndarray, "heads query key"],
    unmasked: Bool[np.ndarray, "query key"],
    *,
    heads: Sequence[int],
    words: MapWords,
    trained: bool | Sequence[bool],
    read: int | None = None,
    symbols: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return a table with one row per unmasked cell of each drawn head.

    Args:
        patterns: The attention of all heads.
        unmasked: The cells that the mask allows.
        heads: Indices of the heads to draw.
        words: Has the names of these heads, in the same order.
        trained: Whether the rows of the other queries are trained, for all heads or each head;
            rows that are not trained are paler.
        read: The index of the predicting query, the only row with numbers; None for all rows.
        symbols: The tokens of the keys, or None for a mean over sequences.
        queries: The tokens of the queries, if they are not those of the keys.
    """
    query, key = np.nonzero(unmasked)

    def named(tokens: Sequence[str] | None) -> np.ndarray:
        places = range(1, max(unmasked.shape) + 1)
        return np.array([str(p) if tokens is None else f"{p} {tokens[p - 1]}" for p in places])

    is_read = np.full(len(query), True) if read is None else query == read
    whole = np.broadcast_to(trained, len(words.names))
    parts = [
        pd.DataFrame(
            {
                "place": place,
                "map": name,
                "key": key + 1,
                "row": query,
                "share": patterns[head][query, key].astype(float),
                "strength": np.where(is_read | whole[place], 1.0, _UNTRAINED),
                "number": np.where(is_read, _percent(patterns[head][query, key]), ""),
                "query_day": named(queries or symbols)[query],
                "key_day": named(symbols)[key],
            }
        )
        for place, (head, name) in enumerate(zip(heads, words.names, strict=True))
    ]
    return pd.concat(parts, ignore_index=True)


def informative_table(days: Sequence[int], heads: int) -> pd.DataFrame:
    """Return a table with one row per head and informative position (from 1)."""
    pairs = [(place, day) for place in range(heads) for day in days]
    return pd.DataFrame(pairs, columns=["place", "key"], dtype=int)


@drawn_once
def heads_chart(
    table: Rows,
    informative: Rows | None,
    *,
    words: MapWords,
    shape: tuple[int, int],
    symbols: tuple[str, ...] | None,
    read: int | None = None,
    queries: tuple[str, ...] | None = None,
    truth: bool = False,
) -> Chart:
    """Draw one map of fractions per head; while the chart is on screen, only the tables may change.

    Args:
        table: As returned by `heads_table`.
        informative: The keys to mark with triangles, as returned by `informative_table`.
        words: The texts of the chart.
        shape: How many queries and keys each map has.
        symbols: The tokens of the keys, or None for a mean over sequences.
        read: The index of the predicting row, which is framed.
        queries: The tokens of the queries, if they are not those of the keys.
        truth: Whether the last map is the truth, drawn in grey.
    """
    names, queries = words.names, queries or symbols
    grid = _grid(len(names), shape, tokens=symbols is not None)
    tooltip = [
        tip("map:N", "map"),
        tip("query_day:N", words.query),
        tip("key_day:N", "key" if words.query == "query" else words.key),
        tip("share:Q", words.cell, ".3f"),
    ]
    right, below = f"{grid.x()} + cell - 1", f"{grid.y()} + cell - 1"
    cells = alt.Chart(table).mark_rect(**grid.box(grid.x(), right, grid.y(), below))
    last = f"datum.place === {len(names) - 1}"
    colours = ((f"!({last})", SHARES), (last, TRUTHS)) if truth else (("true", SHARES),)
    layers: list[alt.Chart] = [
        cells.transform_filter(which).encode(
            color=grid.shade(words.cell, ramp),
            opacity=alt.Opacity("strength:Q", scale=None, legend=None),
            tooltip=tooltip,
        )
        for which, ramp in colours
    ]
    if read is not None:
        ends = f"{grid.x(str(shape[1] + 1))} + 1", f"{grid.y(str(read + 1))} + 1"
        box = grid.box(f"{grid.x('1')} - 2", ends[0], f"{grid.y(str(read))} - 2", ends[1])
        frames = alt.Chart(alt.InlineData([{"place": place} for place in range(len(names))]))
        look = {"filled": False, "stroke": HUES.cursor, "strokeWidth": 2}
        layers.append(frames.mark_rect(**look, **box))
    if informative is not None:
        marks = alt.Chart(informative).mark_text(
            text="▼",
            color=HUES.truth,
            fontSize=12,
            baseline="bottom",
            x=alt.ExprRef(f"{grid.x()} + cell / 2"),
            y=alt.ExprRef(f"{grid.y('0')} - 2"),
        )
        layers.append(marks)
    numbers = cell_text(
        table, f"{grid.x()} + cell / 2", grid.y("datum.row + 0.5"), INK, "number", align="center",
        shown=f"cell >= {_NUMBER}",
    ).encode(
        color=alt.condition("datum.share > 0.5", alt.value(GROUND), alt.value(INK)),
        tooltip=tooltip,
    )  # fmt: skip
    chart = alt.layer(*layers, numbers, *_labels(grid, words, symbols, queries, read))
    # As many maps in a line, and cells as large, as a wide screen has.
    width = min(_CELL_IN_FILE, _LINE_IN_FILE / shape[1])
    columns = min(len(names), max(1, int(_LINE_IN_FILE / (shape[1] * width + _GAP))))
    in_file = grid.in_file(columns=columns, cell=width)
    chart = chart.add_params(*grid.sizes(most=_MOST_CELL))
    chart = chart.properties(padding=PADDING, usermeta=in_file)
    return chart.resolve_scale(color="independent") if truth else chart


def _labels(
    grid: Grid,
    words: MapWords,
    keys: Sequence[str] | None,
    queries: Sequence[str] | None,
    read: int | None,
) -> list[alt.Chart]:
    """Return the labels of maps, keys and queries; if there are many, row `read` has one."""
    places = [{"place": place, "name": name} for place, name in enumerate(words.names)]
    across = [
        {**place, "key": at + 1, "name": f"{keys[at]}\n{at + 1}" if keys else str(at + 1)}
        for place in places
        for at in range(grid.keys)
    ]
    down = [
        {**place, "row": at, "name": f"{at + 1}  {queries[at]}" if queries else str(at + 1)}
        for place in places
        for at in range(grid.queries)
    ]
    seldom = f"ceil({_LABEL} / cell)"
    first = -1 if read is None else read
    rows_shown = f"datum.place % columns == 0 && abs(datum.row - {first}) % {seldom} == 0"
    return [
        cell_text(places, grid.x("1"), f"{grid.y('0')} - 24 * {TYPE_SIZE}", INK, fontWeight="bold"),
        cell_text(
            across, f"{grid.x()} + cell / 2", f"{grid.y(str(grid.queries))} + 5", HUES.key,
            align="center", baseline="top", shown=f"(datum.key - 1) % {seldom} == 0",
        ),
        cell_text(
            down, f"{grid.x('1')} - 8", grid.y("datum.row + 0.5"), HUES.query, align="right",
            shown=f"({rows_shown})",
        ),
        cell_text(
            [{"place": 0, "name": words.query}], "0", f"{_TOP - 24} * {TYPE_SIZE}", HUES.query
        ),
        cell_text(
            [{"place": 0, "name": f"key: {words.key}"}], grid.x("1"), grid.foot, HUES.key
        ),
    ]  # fmt: skip


def alignment_chart(
    learned: Float[np.ndarray, "maps target source"],
    truth: Float[np.ndarray, "target source"],
    *,
    names: tuple[str, ...],
    cell: str,
    source: tuple[str, ...] | None,
    target: tuple[str, ...] | None,
    shown: Bool[np.ndarray, "target source"] | None = None,
    height: int | None = None,
) -> Drawing:
    """Draw learned alignments of target tokens (rows) to source tokens (columns), and the truth.

    Args:
        learned: The learned maps.
        truth: The true map, in grey.
        names: The names of the learned maps, then of the true one.
        cell: What a cell means.
        source: The tokens of a single source, or None for a mean over sequences.
        target: The tokens of its target.
        shown: The cells to draw, by default all.
        height: The height of the chart in pixels.
    """
    maps, words = np.concatenate([learned, truth[None]]), MapWords(names, cell, "source", "target")
    unmasked = np.ones(truth.shape, dtype=bool) if shown is None else shown
    table = heads_table(
        maps, unmasked, heads=range(len(maps)), words=words, trained=True, symbols=source,
        queries=target,
    )  # fmt: skip
    return heads_chart(
        table, words=words, shape=truth.shape, symbols=source, queries=target, truth=True,
        height=height,
    )  # fmt: skip
