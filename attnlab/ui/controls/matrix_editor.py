"""Matrices to edit: as a grid, and as text that stands in the page's address."""

import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import EMPTY_CELL, read_cells, read_matrix, show_matrix
from attnlab.configuration.options import MOST_TYPED, OptionError
from attnlab.lessons.stages import Rows
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.grid import begin_grid, keep_grid
from attnlab.ui.core.outside import draw_error

MOST_ROWS, MOST_COLUMNS = 8, 16


def edit_matrix(name: str, title: str, default: Rows, *, key: str, more_rows: bool) -> Rows | None:
    """The matrix that the user made of `default`, or None with what is wrong said below it.

    `name` is what errors call it. The text is the source: what is typed into the grid is written
    there, whole or not.
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
    with place:
        _draw_grid(name, text, key, more_rows=more_rows)
        try:
            return read_matrix(name, text, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
        except OptionError as error:
            draw_fault(error)
            return None


def draw_fault(error: OptionError) -> None:
    """Say at the table what is wrong with it."""
    draw_error(str(error))


def _draw_grid(name: str, text: str, key: str, *, more_rows: bool) -> None:
    table = begin_grid(key, text, lambda: _table(text))
    st.data_editor(
        table,
        key=f"{key}_grid",
        width="content",
        hide_index=True,
        num_rows="dynamic" if more_rows else "fixed",
        on_change=_write,
        args=(key,),
        # Texts, so that what is no number reaches us and can be answered.
        column_config={
            column: st.column_config.TextColumn(column, width=56) for column in table.columns
        },
        alt=f"Editable numbers of {name}, {len(table)} rows and {len(table.columns)} columns.",
    )


def _table(text: str) -> pd.DataFrame:
    cells = read_cells(text[:MOST_TYPED]) or [[""]]
    width = min(max(map(len, cells)), MOST_COLUMNS)
    rows = [
        ["" if cell == EMPTY_CELL else cell for cell in row[:width]] + [""] * (width - len(row))
        for row in cells[:MOST_ROWS]
    ]
    return pd.DataFrame(rows, columns=[str(number) for number in range(1, width + 1)], dtype=str)


def _write(key: str) -> None:
    """Put the grid with its edits into the text."""
    table, edits = st.session_state[f"{key}_began"], st.session_state[f"{key}_grid"]
    rows = table.to_dict("records")
    for row, changed in edits["edited_rows"].items():
        rows[int(row)].update(changed)
    rows = [row for number, row in enumerate(rows) if number not in edits["deleted_rows"]]
    rows += edits["added_rows"]
    text = "\n".join(
        " ".join(_as_text(row.get(column)) for column in table.columns) for row in rows
    )
    st.session_state[key] = text
    keep_grid(key, text)


def _as_text(cell: object) -> str:
    # A cell with a space in it must not become two.
    return "_".join(str("" if cell is None else cell).split()) or EMPTY_CELL
