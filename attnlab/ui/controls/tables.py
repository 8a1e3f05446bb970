"""Tables of numbers to edit: probabilities of a process, and matrices on lesson pages.

Each grid shows a text in the session state, which belongs to a control of the form or of the
address. Editing the grid changes that text.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import (
    EMPTY_CELL,
    read_cells,
    read_matrix,
    read_numbers,
    show_matrix,
    show_numbers,
)
from attnlab.configuration.options import (
    MOST_TYPED,
    OptionError,
    default_of,
    label_of,
    options_of,
)
from attnlab.generators import AbstractGenerator, Outline
from attnlab.lessons.stages import Rows
from attnlab.runs.links import control_key
from attnlab.ui.controls.address_controls import linked, number_field
from attnlab.ui.controls.form import in_control_words, probability_options
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.outside import as_text, draw_error

MOST_ROWS, MOST_COLUMNS = 8, 16
_NAME_WIDTH, _PART_WIDTH = 125, 115


def draw_process_tables(
    kind: type[AbstractGenerator], values: Mapping[str, Any]
) -> AbstractGenerator | OptionError:
    """Draw a generator's tables of probabilities; return the generator, or the error.

    `values` are the generator's other options.
    """
    values, places = dict(values), {}
    try:
        for name in probability_options(kind):
            places[name] = st.container(key=f"table_{name}")
            with places[name]:
                values[name] = _draw_table(kind, name, values)
        return kind(**values)
    except OptionError as error:
        # An error may name a row: the table's name and then the row's.
        with places.get(error.name.split()[0], st.container()):
            draw_error(in_control_words(error))
        return error


def _draw_table(kind: type[AbstractGenerator], name: str, values: Mapping[str, Any]) -> Any:
    spec, key = options_of(kind)[name], control_key(kind, name)
    st.markdown(f"**{label_of(name, spec)}** · {spec.help}")
    try:
        value = read_numbers(name, st.session_state[key], default_of(kind, name))
    except OptionError:
        if (outline := kind.outline(name, values)) is not None:
            _draw_fit(key, outline)
        raise
    rows = value if isinstance(value[0], tuple) else (value,)
    outline = kind.outline(name, {**values, name: value})
    if outline is None:
        sizes = len(rows), max(map(len, rows))
        names = [tuple(str(n + 1) for n in range(size)) for size in sizes]
        outline = Outline("row", names[0], "column", names[1])
    if most := outline.most_columns:
        size_key = f"{key}_size"
        st.session_state[size_key] = min(len(outline.columns), most)
        number_field(
            f"how many {outline.column_title}",
            1,
            most,
            key=size_key,
            width=180,
            on_change=lambda: _write_uniform(key, 1, st.session_state[size_key]),
        )
    if [len(row) for row in rows] != [len(outline.columns)] * len(outline.rows):
        _draw_fit(key, outline)
        return value
    parts = outline.parts or ("",)
    size = len(outline.columns) // len(parts)
    for number, part in enumerate(parts):
        if part:
            st.markdown(f"{part}:")
        columns = slice(number * size, (number + 1) * size)
        _draw_probabilities(key, rows, outline, columns, part=f"_{number}" if part else "")
    return value


def _draw_probabilities(
    key: str, rows: tuple[tuple[float, ...], ...], outline: Outline, columns: slice, *, part: str
) -> None:
    """Draw some columns of a table of probabilities as a grid; `part` is added to its keys."""
    names, first = outline.columns[columns], outline.row_title

    def to_text(edited: list[list[float | None]]) -> str:
        # An empty cell becomes NaN, which the process rejects.
        cells = [[math.nan if cell is None else float(cell) for cell in row] for row in edited]
        whole = [
            (*row[: columns.start], *new, *row[columns.stop :])
            for row, new in zip(rows, cells, strict=True)
        ]
        return show_numbers(tuple(whole))

    width = _PART_WIDTH if part else 80
    number_column = partial(st.column_config.NumberColumn, format="%.4g", width=width)
    # The row of the first position has no title, but a column must have one.
    title = st.column_config.Column(first or "day", width=_NAME_WIDTH, pinned=True)
    _draw_grid(
        key,
        lambda: pd.DataFrame(np.array(rows, float)[:, columns], index=outline.rows, columns=names),
        to_text,
        outline,
        part=part,
        column_config={"_index": title}
        | {each: number_column(help=f"{outline.column_title}: {as_text(each)}") for each in names},
        alt=f"Editable probabilities: {outline.column_title} by {first or 'day 1'}.",
    )


def _draw_fit(key: str, outline: Outline) -> None:
    rows, columns = len(outline.rows), len(outline.columns)
    label, fitting = (
        f"Fit the table to the {outline.named_by}",
        (_write_uniform, key, rows, columns),
    )
    draw_button(label, f"{key}_fit", "grid_on", *fitting)
    st.caption(f"It becomes {rows} × {columns}, with equal probabilities in each row.")


def _write_uniform(key: str, rows: int, columns: int) -> None:
    st.session_state[key] = show_numbers(((1 / columns,) * columns,) * rows)


def edit_matrix(name: str, title: str, default: Rows, *, key: str, more_rows: bool) -> Rows | None:
    """Draw a matrix to edit, as a grid and as text; return the matrix, or None if it is invalid.

    Args:
        name: The matrix's name in errors.
        title: The heading, in Markdown.
        default: The matrix before any edit.
        key: The key of the text, which is also a parameter of the address.
        more_rows: Whether the user can add and delete rows.
    """
    st.markdown(title)
    place = st.container()
    with st.popover("as text", icon=":material/edit_note:"):
        text = linked(
            st.text_area,
            f"{name}, one row per line",
            show_matrix(default),
            key=key,
            height="content",
            max_chars=2000,
        )
    cells = read_cells(text[:MOST_TYPED]) or [[EMPTY_CELL]]
    columns = [str(n + 1) for n in range(min(max(map(len, cells)), MOST_COLUMNS))]

    def make_table() -> pd.DataFrame:
        rows = [(row + [EMPTY_CELL] * len(columns))[: len(columns)] for row in cells[:MOST_ROWS]]
        return pd.DataFrame(rows, columns=columns, dtype=str).replace(EMPTY_CELL, "")

    def cell_text(cell: object) -> str:
        # Spaces separate cells in the text, so a cell must not contain one.
        return "_".join(str("" if cell is None else cell).split()) or EMPTY_CELL

    with place:
        _draw_grid(
            key,
            make_table,
            lambda rows: "\n".join(" ".join(map(cell_text, row)) for row in rows),
            hide_index=True,
            num_rows="dynamic" if more_rows else "fixed",
            # Text columns, so that a cell that is not a number is shown with an error.
            column_config={
                column: st.column_config.TextColumn(column, width=56) for column in columns
            },
            alt=f"Editable numbers of {name}, {min(len(cells), MOST_ROWS)} rows and "
            f"{len(columns)} columns.",
        )
        try:
            return read_matrix(name, text, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
        except OptionError as error:
            draw_error(str(error))
            return None


def _draw_grid(
    key: str,
    make_table: Callable[[], pd.DataFrame],
    to_text: Callable[[list[list[Any]]], str],
    *further_source: Hashable,
    part: str = "",
    **options: Any,
) -> None:
    """Draw the text under `key` as a grid; `to_text` turns edited rows back into text.

    A text with several grids gives each another `part`.

    Streamlit keeps edits as changes to the grid's first table. So the grid is only recreated if the
    text was changed elsewhere; otherwise the cell being edited would lose the focus.
    """
    source, began, grid = f"{key}{part}_source", f"{key}{part}_began", f"{key}{part}_grid"
    now = st.session_state[key], *further_source
    if st.session_state.get(source) != now or grid not in st.session_state:
        st.session_state.pop(grid, None)
        st.session_state[began], st.session_state[source] = make_table(), now

    def write() -> None:
        table, edits = st.session_state[began], st.session_state[grid]
        rows = table.to_dict("records")
        for row, changed in edits["edited_rows"].items():
            rows[int(row)].update(changed)
        rows = [row for number, row in enumerate(rows) if number not in edits["deleted_rows"]]
        rows += edits["added_rows"]
        text = to_text([[row.get(column) for column in table.columns] for row in rows])
        st.session_state[key], st.session_state[source] = text, (text, *further_source)

    st.data_editor(st.session_state[began], key=grid, width="content", on_change=write, **options)
