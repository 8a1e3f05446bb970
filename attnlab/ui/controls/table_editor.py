"""Tables of probabilities as grids with names, in place of the sidebar's text."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.configuration.number_text import read_numbers, show_numbers
from attnlab.configuration.options import OptionError, default_of, label_of, options_of
from attnlab.generators import AbstractGenerator, Outline
from attnlab.runs.links import control_key
from attnlab.ui.controls.form import in_control_words, probability_options
from attnlab.ui.controls.grid import begin_grid, keep_grid
from attnlab.ui.controls.number_field import number_field
from attnlab.ui.core.outside import as_text, draw_error

_NAME_WIDTH = 125


def draw_process_tables(
    kind: type[AbstractGenerator], values: Mapping[str, Any]
) -> AbstractGenerator | OptionError:
    """The tables of a generator whose other options are `values`; the generator, or its fault.

    The text of the form stays the source: whatever is typed here is written there.
    """
    values, places = dict(values), {}
    try:
        for name in probability_options(kind):
            places[name] = st.container(key=f"table_{name}")
            with places[name]:
                values[name] = _draw_table(kind, name, values)
        return kind(**values)
    except OptionError as error:
        # The name of a row begins with that of its table.
        with places.get(error.name.split()[0], st.container()):
            draw_error(in_control_words(error))
        return error


def _draw_table(kind: type[AbstractGenerator], name: str, values: Mapping[str, Any]) -> Any:
    spec, default, key = options_of(kind)[name], default_of(kind, name), control_key(kind, name)
    st.markdown(f"**{label_of(name, spec)}** · {spec.help}")
    try:
        value = read_numbers(name, st.session_state[key], default)
    except OptionError:
        _draw_fit(key, kind.outline(name, values))
        raise
    outline = kind.outline(name, {**values, name: value}) or _numbered(value)
    if outline.most_columns:
        _draw_size(key, outline)
    rows = value if isinstance(value[0], tuple) else (value,)
    if [len(row) for row in rows] != [len(outline.columns)] * len(outline.rows):
        _draw_fit(key, outline)
        return value
    edited = tuple(map(tuple, _draw_grid(key, rows, outline)))
    changed = edited if isinstance(value[0], tuple) else edited[0]
    # NaN, an empty cell, is not equal to itself; its text is.
    if show_numbers(changed) != show_numbers(value):
        st.session_state[key] = show_numbers(changed)
        keep_grid(key, (show_numbers(edited), outline))
    return changed


def _draw_grid(key: str, rows: tuple[tuple[float, ...], ...], outline: Outline) -> list:
    """The rows as they are after the user's edits."""
    table = begin_grid(
        key,
        (show_numbers(rows), outline),
        lambda: pd.DataFrame(
            np.array(rows, dtype=float), index=outline.rows, columns=outline.columns
        ),
    )
    edited = st.data_editor(
        table,
        key=f"{key}_grid",
        width="content",
        column_config={
            # The row of the first day has no title, and a column must have one.
            "_index": st.column_config.Column(
                outline.row_title or "day", width=_NAME_WIDTH, pinned=True
            ),
            **{
                column: st.column_config.NumberColumn(
                    format="%.4g", width=80, help=f"{outline.column_title}: {as_text(column)}"
                )
                for column in outline.columns
            },
        },
        alt=f"Editable probabilities: {outline.column_title} by {outline.row_title or 'day 1'}.",
    )
    return edited.to_numpy(dtype=float).tolist()


def _draw_size(key: str, outline: Outline) -> None:
    size = f"{key}_size"
    st.session_state[size] = min(len(outline.columns), outline.most_columns)
    number_field(
        f"how many {outline.column_title}",
        1,
        outline.most_columns,
        key=size,
        width=180,
        on_change=lambda: _write_uniform(key, 1, st.session_state[size]),
    )


def _draw_fit(key: str, outline: Outline | None) -> None:
    if outline is None:
        return
    rows, columns = len(outline.rows), len(outline.columns)
    st.button(
        f"Fit the table to the {outline.named_by}",
        key=f"{key}_fit",
        on_click=_write_uniform,
        args=(key, rows, columns),
        icon=":material/grid_on:",
    )
    st.caption(f"It becomes {rows} × {columns}, with equal probabilities in each row.")


def _write_uniform(key: str, rows: int, columns: int) -> None:
    st.session_state[key] = show_numbers(((1 / columns,) * columns,) * rows)


def _numbered(value: tuple) -> Outline:
    rows = value if isinstance(value[0], tuple) else (value,)
    names = tuple(str(number) for number in range(1, max(map(len, rows)) + 1))
    return Outline("row", tuple(str(n) for n in range(1, len(rows) + 1)), "column", names)
