"""The stages of a head as matrices, one at a time or all."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float

from attnlab.charts import Lit, matrix_chart, matrix_table
from attnlab.charts.core.colours import hues, share_ramp, signed_ramp
from attnlab.lessons.stages import Stages
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.head.head_controls import Bench
from attnlab.ui.lessons.head.stage_arithmetic import STAGES, Cell, cell_latex

_ALL = "all"
_KEY = "step_stage"
TEXTS = {
    "queries": "Every input asks: its row times :blue[W query].",
    "keys": "Every input answers: its row times :red[W key].",
    "values": "What every input contributes: its row times :green[W value].",
    "scores": "How well each :blue[query] matches each :red[key].",
    "scaled": "The scores times a factor, so that they do not grow with the width of the head.",
    "masked": "Pairs that may not see each other get −∞, of which the softmax makes exactly 0.",
    "pattern": "The softmax of every row: shares between 0 and 1 that sum to 1.",
    "weighted": "The values of all keys, each times the share that the chosen query gives it.",
    "output": "Their sum: the output for the query.",
}


class Grid(NamedTuple):
    """One matrix of a picture. `rows` and `columns` say what they are.

    Rows and columns have the hue of what they are; those of a weight that of what it makes.
    """

    title: str
    values: np.ndarray
    rows: str
    columns: str
    row: int | None
    column: int | None
    makes: str = ""


def draw_stages(bench: Bench, found: Stages) -> None:
    """Which stage, which cell, the matrices and the arithmetic."""
    _draw_steps()
    stage = linked(
        st.segmented_control, "stage", [*STAGES, _ALL], default="queries", required=True, key=_KEY
    )
    cell = _draw_cell(found)
    if stage == _ALL:
        for start in range(0, len(STAGES), 3):
            for column, name in zip(st.columns(3), STAGES[start : start + 3], strict=True):
                with column:
                    _draw_grid(_grids(name, bench, found, cell)[-1], f"all_{name}")
    else:
        st.markdown(TEXTS[stage])
        grids = _grids(stage, bench, found, cell)
        for column, (number, grid) in zip(st.columns(3), enumerate(grids), strict=False):
            with column:
                _draw_grid(grid, f"{stage}_{number}")
    st.caption(
        "How to read it: the chosen query is framed in blue, the chosen key in red, "
        "values in green; the number in both frames is written out below. A stronger colour is "
        "further from 0, violet above it and orange below; hover for all digits."
    )
    with st.container(key="step_arithmetic"):
        for name in STAGES if stage == _ALL else (stage,):
            st.latex(rf"\text{{{name}: }} " + cell_latex(name, bench, found, cell))


def _draw_steps() -> None:
    with st.container(horizontal=True, key="step_buttons"):
        st.button("Previous", key="step_previous", icon=":material/arrow_back:",
                  on_click=_move, args=(-1,))  # fmt: skip
        st.button("Next", key="step_next", icon=":material/arrow_forward:",
                  on_click=_move, args=(1,))  # fmt: skip
        st.button("All", key="step_all", icon=":material/grid_view:", on_click=_show_all)


def _move(by: int) -> None:
    names = [*STAGES, _ALL]
    at = names.index(st.session_state.get(_KEY, STAGES[0]))
    st.session_state[_KEY] = names[max(0, min(at + by, len(names) - 1))]


def _show_all() -> None:
    st.session_state[_KEY] = _ALL


def _draw_cell(found: Stages) -> Cell:
    queries, keys = found.pattern.shape
    widest = max(found.keys.shape[1], found.values.shape[1])
    with st.container(horizontal=True, key="step_cell"):
        return Cell(
            *(
                _draw_index(name, most)
                for name, most in (("query", queries), ("key", keys), ("component", widest))
            )
        )


def _draw_index(name: str, most: int) -> int:
    key = f"step_at_{name}"
    # A smaller table may have left the number outside.
    if st.session_state.get(key, 1) > most:
        st.session_state[key] = most
    return linked(st.number_input, name, 1, most, 1, key=key, width=140) - 1


def _grids(stage: str, bench: Bench, found: Stages, cell: Cell) -> list[Grid]:
    """The matrices that a stage is made of, its result last."""
    query, key = cell.query + 1, cell.key + 1
    inputs, asking = bench.tables["inputs"], bench.asking
    at_key = Grid("keys", found.keys, "key", "component", key, None)
    if stage in ("queries", "keys", "values"):
        kind = {"queries": "query", "keys": "key", "values": "value"}[stage]
        rows, row = (asking, query) if stage == "queries" else (inputs, key)
        weight = getattr(bench.head, kind).weight
        column = min(cell.component + 1, weight.shape[1])
        return [
            Grid("inputs", rows, kind, "feature", row, None),
            Grid(f"W {kind}", weight, "feature", "component", None, column, kind),
            Grid(stage, getattr(found, stage), kind, "component", row, column),
        ]
    pairs = {
        name: Grid(name, getattr(found, name), "query", "key", query, key)
        for name in ("scores", "scaled", "masked", "pattern")
    }
    column = min(cell.component + 1, found.values.shape[1])
    values = Grid("values", found.values, "value", "component", key, None)
    weighted = Grid(
        f"weighted values of query {query}", found.weighted[cell.query], "value", "component", key,
        column,
    )  # fmt: skip
    return {
        "scores": [
            Grid("queries", found.queries, "query", "component", query, None), at_key,
            pairs["scores"],
        ],
        "scaled": [pairs["scores"], pairs["scaled"]],
        "masked": [pairs["scaled"], pairs["masked"]],
        "pattern": [pairs["masked"], pairs["pattern"]],
        "weighted": [pairs["pattern"], values, weighted],
        "output": [
            weighted._replace(row=None),
            Grid("output", found.output, "query", "component", query, column),
        ],
    }[stage]  # fmt: skip


def _draw_grid(grid: Grid, key: str) -> None:
    dark = on_dark()
    hue = hues(dark=dark)
    colours = {"query": hue.query, "key": hue.key, "value": hue.value}
    shares = grid.title == "pattern"
    finite = np.abs(grid.values[np.isfinite(grid.values)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    lit = []
    if grid.row is not None:
        lit.append(Lit(colours.get(grid.rows, hue.cursor), row=grid.row))
    if grid.column is not None:
        colour = colours.get(grid.makes or grid.columns, hue.cursor)
        lit.append(Lit(colour, column=grid.column))
    st.markdown(f"**{grid.title}** {grid.values.shape[0]} × {grid.values.shape[1]}")
    with st.container(key=f"chart_step_{key}"):
        draw_chart(
            matrix_chart(
                matrix_table(grid.values),
                shape=grid.values.shape,
                row_title=f"← {grid.rows}",
                column_title=f"{grid.columns} →",
                domain=(0.0, 1.0) if shares else (-largest, largest),
                ramp=share_ramp(dark=dark) if shares else signed_ramp(dark=dark),
                dark=dark,
                row_colour=colours.get(grid.rows),
                column_colour=colours.get(grid.makes or grid.columns),
                lit=tuple(lit),
            ),
            name=grid.title.capitalize(),
            alt=_in_words(grid),
        )


def _in_words(grid: Grid) -> str:
    rows, columns = grid.values.shape
    row, column = np.unravel_index(int(grid.values.argmax()), grid.values.shape)
    text = f"{grid.title}, {rows} rows by {columns} columns. The largest number is "
    text += f"{grid.values[row, column]:.3g}, in row {row + 1}, column {column + 1}."
    if grid.row is not None:
        text += f" Framed row {grid.row}: {_listed(grid.values[grid.row - 1])}."
    if grid.column is not None:
        text += f" Framed column {grid.column}: {_listed(grid.values[:, grid.column - 1])}."
    return text


def _listed(numbers: Float[np.ndarray, " cell"]) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers)
