"""Maps of several heads side by side, with square cells that are as large as possible."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once
from attnlab.charts.heatmap import FADED, MOST_CELL, tip
from attnlab.charts.style import GROUND, HUES, INK, SHARES, TRUTHS, TYPE_SIZE, Ramp

# Pixels: of query labels left of the cells, without and with tokens; of map names and truth marks
# above them; of key labels below them; of the key title below all; and between two maps.
_LEFT, _LEFT_OF_TOKENS, _TOP, _BOTTOM, _BOTTOM_OF_TOKENS, _FOOT, _GAP = 50, 62, 34, 20, 34, 32, 22
# In a narrow chart the legend is on a line below the key title; the line's height in pixels.
_NARROW, _LINE = "width <= 520", 18
# Cells must be this wide (in pixels) for a label at every cell, and for a number inside.
_LABEL, _NUMBER = 17, 20
# In a file: the width of a cell with a number, and of all maps in a line.
_CELL_IN_FILE, _LINE_IN_FILE = 26, 1300
PADDING = {"left": 0, "top": 0, "right": 8, "bottom": 0}


class HeadPicture(NamedTuple):
    """The pattern of a head, its mask, its name, and a text to show below its image."""

    name: str
    pattern: Float[np.ndarray, "query key"]
    unmasked: Bool[np.ndarray, "query key"]
    text: str = ""


class Grid(NamedTuple):
    """The layout of maps with `queries` × `keys` cells, arranged in lines.

    Positions are Vega expressions, computed in the browser from the chart's width and height. Room
    for text (`left` of, above and below the cells) grows with the size of type.
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
        place = f"(datum.place % columns) * pitch + ({key} - 1) * cell"
        return f"({self.left} * {TYPE_SIZE} + {place})"

    def y(self, row: str = "datum.row") -> str:
        """Return the top edge of the cells of a row (from 0), in pixels from the top."""
        line = f"floor(datum.place / columns) * {self._line}"
        return f"({self.top} * {TYPE_SIZE} + {line} + ({row}) * cell)"

    @property
    def _line(self) -> str:
        """The height of a line of maps."""
        return f"({self.queries} * cell + {self.top + self.bottom} * {TYPE_SIZE})"

    @property
    def foot(self) -> str:
        """The vertical middle of the line of text below all maps, in pixels from the top."""
        return f"(ceil({self.maps} / columns) * {self._line} + 8 * {TYPE_SIZE})"

    def shade(self, cell: str, ramp: Ramp = SHARES) -> alt.Color:
        """Return the colours of fractions from 0 to 1, with a legend below all maps."""
        left = f"{self.left} * {TYPE_SIZE}"
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
            legendX=alt.ExprRef(f"{_NARROW} ? {left} : {left} + 180 * {TYPE_SIZE}"),
            legendY=alt.ExprRef(f"{self.foot} + ({_NARROW} ? {_LINE - 7} : -7) * {TYPE_SIZE}"),
        )
        scale = alt.Scale(domain=[0, 1], range=list(ramp), clamp=True)
        shown = legend if ramp is SHARES else None
        return alt.Color("share:Q", title=cell, scale=scale, legend=shown)

    def sizes(
        self, *, most: int, columns: int | None = None, apart: int = 0
    ) -> list[alt.Parameter]:
        """Return Vega parameters: cell width, maps per line, and distance from map to map.

        Without `columns`, a line has as many maps as make the cells largest. If there is room, the
        left edges of two maps are at least `apart` pixels apart.
        """
        left, around = (f"{room} * {TYPE_SIZE}" for room in (self.left, self.top + self.bottom))
        sizes = {}
        for count in range(1, self.maps + 1) if columns is None else [columns]:
            lines = -(-self.maps // count)
            across = f"(width - {left} - {self.gap * (count - 1)}) / {count * self.keys}"
            foot = f"({_NARROW} ? {_FOOT + _LINE} : {_FOOT}) * {TYPE_SIZE}"
            down = f"(height - {foot} - {lines} * {around}) / {lines * self.queries}"
            sizes[count] = f"min({across}, {down})"
        # If several numbers of maps per line give equal cells, take the largest.
        best = "".join(f"{sizes[count]} >= largest ? {count} : " for count in reversed(sizes))
        room = f"min({apart}, (width - {left}) / columns)"
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


def heads_chart(
    heads: Sequence[HeadPicture],
    *,
    cell: str,
    key: str,
    query: str = "query",
    trained: bool | Sequence[bool] = True,
    read: int | None = None,
    informative: Sequence[int] | None = None,
    symbols: tuple[str, ...] | None = None,
    queries: tuple[str, ...] | None = None,
    truth: bool = False,
    height: int | None = None,
) -> Drawing:
    """Draw maps of one shape side by side, as many in a line as there is room for.

    Args:
        heads: The maps; `unmasked` are the cells to draw.
        cell: What a cell means.
        key: The noun for a key.
        query: The noun for a query.
        trained: Whether the rows of the other queries are trained, for all maps or each map; rows
            that are not trained are paler.
        read: The index of the predicting query, which is framed and is the only row with numbers;
            None for numbers in all rows.
        informative: The keys to mark with triangles, from 1; None if there are never any.
        symbols: The tokens of the keys; None shows their positions alone.
        queries: The tokens of the queries, if they are not those of the keys.
        truth: Whether the last map is the truth, drawn in grey.
        height: The height of the chart in pixels.
    """
    names, queries = tuple(head.name for head in heads), queries or symbols
    whole = np.broadcast_to(trained, len(heads))
    tables = []
    for place, head in enumerate(heads):
        rows, keys = np.nonzero(head.unmasked)
        shares = head.pattern[rows, keys]
        is_read = np.full(len(rows), True) if read is None else rows == read
        # Zeros are left out, since they would hide the other numbers.
        numbers = np.array([f"{100 * each:.0f}" if each >= 0.05 else "" for each in shares], str)
        columns = {
            "place": place,
            "map": head.name,
            "key": keys + 1,
            "row": rows,
            "share": shares.astype(float),
            "strength": np.where(is_read | whole[place], 1.0, FADED),
            "number": np.where(is_read, numbers, ""),
            "query_day": [f"{at + 1} {queries[at]}" if queries else str(at + 1) for at in rows],
            "key_day": [f"{at + 1} {symbols[at]}" if symbols else str(at + 1) for at in keys],
        }
        tables.append(pd.DataFrame(columns))
    marks = None
    if informative is not None:
        pairs = [(place, day) for place in range(len(heads)) for day in informative]
        marks = pd.DataFrame(pairs, columns=["place", "key"], dtype=int)
    return _maps(
        pd.concat(tables, ignore_index=True),
        marks,
        names=names,
        shape=heads[0].pattern.shape,
        words=(cell, key, query),
        read=read,
        symbols=symbols,
        queries=queries,
        truth=truth,
        height=height,
    )


@drawn_once
def _maps(
    table: Rows,
    informative: Rows | None,
    *,
    names: tuple[str, ...],
    shape: tuple[int, int],
    words: tuple[str, str, str],
    read: int | None,
    symbols: tuple[str, ...] | None,
    queries: tuple[str, ...] | None,
    truth: bool,
) -> Chart:
    cell, key, query = words
    left, bottom = (_LEFT, _BOTTOM) if symbols is None else (_LEFT_OF_TOKENS, _BOTTOM_OF_TOKENS)
    grid = Grid(len(names), *shape, left, _TOP, bottom, _GAP)
    tooltip = [
        tip("map:N", "map"),
        tip("query_day:N", query),
        tip("key_day:N", "key" if query == "query" else key),
        tip("share:Q", cell, ".3f"),
    ]
    cells = alt.Chart(table).mark_rect(
        x=alt.ExprRef(grid.x()),
        x2=alt.ExprRef(f"{grid.x()} + cell - 1"),
        y=alt.ExprRef(grid.y()),
        y2=alt.ExprRef(f"{grid.y()} + cell - 1"),
    )
    last = f"datum.place === {len(names) - 1}"
    colours = ((f"!({last})", SHARES), (last, TRUTHS)) if truth else (("true", SHARES),)
    layers: list[alt.Chart] = [
        cells.transform_filter(which).encode(
            color=grid.shade(cell, ramp),
            opacity=alt.Opacity("strength:Q", scale=None, legend=None),
            tooltip=tooltip,
        )
        for which, ramp in colours
    ]
    if read is not None:
        frames = alt.Chart(alt.InlineData([{"place": place} for place in range(len(names))]))
        frame = frames.mark_rect(
            filled=False,
            stroke=HUES.cursor,
            strokeWidth=2,
            x=alt.ExprRef(f"{grid.x('1')} - 2"),
            x2=alt.ExprRef(f"{grid.x(str(shape[1] + 1))} + 1"),
            y=alt.ExprRef(f"{grid.y(str(read))} - 2"),
            y2=alt.ExprRef(f"{grid.y(str(read + 1))} + 1"),
        )
        layers.append(frame)
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
    # If there are many, only some keys and queries have a label, among them row `read`.
    seldom, first = f"ceil({_LABEL} / cell)", -1 if read is None else read
    maps = [{"place": place, "name": name} for place, name in enumerate(names)]
    across = [
        {**each, "key": at + 1, "name": f"{symbols[at]}\n{at + 1}" if symbols else str(at + 1)}
        for each in maps
        for at in range(grid.keys)
    ]
    down = [
        {**each, "row": at, "name": f"{at + 1}  {queries[at]}" if queries else str(at + 1)}
        for each in maps
        for at in range(grid.queries)
    ]
    layers += [
        numbers,
        cell_text(maps, grid.x("1"), f"{grid.y('0')} - 24 * {TYPE_SIZE}", INK, fontWeight="bold"),
        cell_text(
            across, f"{grid.x()} + cell / 2", f"{grid.y(str(grid.queries))} + 5", HUES.key,
            align="center", baseline="top", shown=f"(datum.key - 1) % {seldom} == 0",
        ),
        cell_text(
            down, f"{grid.x('1')} - 8", grid.y("datum.row + 0.5"), HUES.query, align="right",
            shown=f"(datum.place % columns == 0 && abs(datum.row - {first}) % {seldom} == 0)",
        ),
        cell_text([{"place": 0, "name": query}], "0", f"{_TOP - 24} * {TYPE_SIZE}", HUES.query),
        cell_text([{"place": 0, "name": f"key: {key}"}], grid.x("1"), grid.foot, HUES.key),
    ]  # fmt: skip
    # As many maps in a line, and cells as large, as a wide screen has.
    width = min(_CELL_IN_FILE, _LINE_IN_FILE / shape[1])
    columns = min(len(names), max(1, int(_LINE_IN_FILE / (shape[1] * width + _GAP))))
    in_file = grid.in_file(columns=columns, cell=width)
    chart = alt.layer(*layers).add_params(*grid.sizes(most=MOST_CELL))
    chart = chart.properties(padding=PADDING, usermeta=in_file)
    return chart.resolve_scale(color="independent") if truth else chart


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

    `names` are those of the learned maps and then of the true one. `source` and `target` are the
    tokens of a single sequence, or None for a mean. `shown` are the cells to draw, by default all.
    """
    mask = np.ones(truth.shape, dtype=bool) if shown is None else shown
    maps = zip(names, (*learned, truth), strict=True)
    return heads_chart(
        [HeadPicture(name, pattern, mask) for name, pattern in maps],
        cell=cell,
        key="source",
        query="target",
        symbols=source,
        queries=target,
        truth=True,
        height=height,
    )
