"""Shared by the lesson pages: rows of controls, checked text, charts and matrices."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import CLICKED, Drawing, Lit, matrix_chart, matrix_table
from attnlab.charts.style import HUES, SHARES, SIGNED
from attnlab.configuration.options import OptionError, default_of, label_of, options_of
from attnlab.ui.controls.address_controls import linked, or_last_good
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart

_Value = TypeVar("_Value")


def control_row(key: str | None = None) -> DeltaGenerator:
    """Return a container whose controls are side by side."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key=key)


def choose(
    label: str, choices: Sequence[str], default: str | None = None, *, key: str, **rest: Any
) -> str:
    """Draw a row of choices, one of which is always selected, the first by default."""
    default = choices[0] if default is None else default
    return linked(
        st.segmented_control, label, choices, default=default, required=True, key=key, **rest
    )


def draw_options(kind: type[_Value], prefix: str, **rest: Any) -> _Value:
    """Draw a slider of round numbers for every bounded option of a class; return the instance."""
    values = {
        name: linked(
            st.select_slider,
            label_of(name, spec),
            steps(spec.low, spec.high, default_of(kind, name)),
            default_of(kind, name),
            key=f"{prefix}_{name}",
            help=spec.help,
            **rest,
        )
        for name, spec in options_of(kind).items()
        if spec.low is not None
    }
    return kind(**values)


def steps(low: float, high: float, default: float) -> list[int | float]:
    """Return the default and 1, 2 and 5 of every decade from `low` to `high`.

    With an integer default all numbers are integers. If `low` is 0, the numbers are 0 and those of
    three decades.
    """
    least = low if low > 0 else high / 1000
    decades = range(int(np.floor(np.log10(least))), int(np.floor(np.log10(high))) + 1)
    numbers = {float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)}
    numbers = {number for number in numbers if least <= number <= high}
    return [
        int(number) if float(number).is_integer() else number
        for number in sorted(numbers | {default} | ({low} - {least}))
        if float(number).is_integer() or isinstance(default, float)
    ]


def valid_or_last(
    read: Callable[[str], _Value], text: str, default: str, *, key: str, noun: str
) -> _Value:
    """Return `read` of a text; if it rejects the text, show why and return the last value.

    Before the first valid text the value is `read` of `default`.
    """
    value = None
    try:
        value = read(text)
    except OptionError as error:
        draw_error(f"{error} The last valid {noun} are shown.")
    return or_last_good(value, read(default), key=key)


def draw_figure(
    place: Any,
    key: str,
    build: Callable[..., Drawing],
    *tables: Any,
    name: str,
    alt: str,
    on_click: Callable[[Mapping[str, Any]], None] | None = None,
    **options: Any,
) -> None:
    """Draw a chart in a place of the page, such as a column or `st` itself.

    Args:
        place: Where the chart is.
        key: The key of its container, without `chart_`.
        build: The chart function, called with the tables and options.
        tables: The data of its marks.
        name: Its name in the list of charts.
        alt: Its text alternative.
        on_click: Called with the row of a clicked mark, before the next rerun.
        options: Options of the chart function.
    """
    clicks: dict[str, Any] = {}
    if on_click is not None:
        clicks = {
            "key": f"{key}_clicks",
            "on_select": partial(_pass_click, f"{key}_clicks", on_click),
            "selection_mode": CLICKED,
        }
    with place.container(key=f"chart_{key}"):
        draw_chart(build(*tables, **options), name=name, alt=alt, **clicks)


def _pass_click(key: str, on_click: Callable[[Mapping[str, Any]], None]) -> None:
    if picked := st.session_state[key]["selection"].get(CLICKED):
        on_click(picked[0])


def draw_matrix(
    place: Any,
    key: str,
    values: Float[np.ndarray, "rows columns"],
    rows: str,
    columns: str,
    *,
    name: str,
    alt: str,
    largest: float | None = None,
    shares: bool = False,
    row: int | None = None,
    column: int | None = None,
    makes: str = "",
    **options: Any,
) -> None:
    """Draw a matrix as a heatmap.

    Args:
        place: Where it is drawn.
        key: The key of its container, without `chart_`.
        values: The numbers.
        rows: The title of the rows. `query`, `key`, `value` and `source` have their colours.
        columns: The title of the columns.
        name: Its name in the list of charts.
        alt: Its text alternative.
        largest: The value of the strongest colour; the largest value by default.
        shares: Whether the values are shares between 0 and 1.
        row: The framed row, from 1.
        column: The framed column, from 1.
        makes: What a weight matrix makes, whose colour its columns have.
        options: Options of the chart.
    """
    hue = HUES
    colours = {"query": hue.query, "key": hue.key, "value": hue.value, "source": hue.key}
    of_row, of_column = (colours.get(each.partition(":")[0]) for each in (rows, makes or columns))
    frames = [Lit(of_row or hue.cursor, row=row)] if row else []
    frames += [Lit(of_column or hue.cursor, column=column)] if column else []
    if largest is None:
        largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    draw_figure(
        place,
        key,
        matrix_chart,
        matrix_table(values),
        name=name,
        alt=alt,
        shape=values.shape,
        row_title=f"← {rows}" if rows else "row",
        column_title=f"{columns} →",
        domain=(0.0, 1.0) if shares else (-largest, largest),
        ramp=SHARES if shares else SIGNED,
        row_colour=of_row,
        column_colour=of_column,
        lit=tuple(frames),
        **options,
    )


class Grid(NamedTuple):
    """A matrix of a computation, with the fields of `draw_matrix`."""

    title: str
    values: Float[np.ndarray, "rows columns"]
    rows: str
    columns: str
    row: int | None = None
    column: int | None = None
    makes: str = ""
    shares: bool = False


def draw_grids(grids: Mapping[str, Grid], *, prefix: str = "") -> None:
    """Draw matrices in rows of three.

    Args:
        grids: The matrices by the keys of their containers, without `chart_`.
        prefix: The prefix of their names in the list of charts.
    """
    columns: list[DeltaGenerator] = []
    for key, grid in grids.items():
        columns = columns or st.columns(3)
        place = columns.pop(0)
        place.markdown(f"**{grid.title}** {grid.values.shape[0]} × {grid.values.shape[1]}")
        draw_matrix(
            place,
            key,
            grid.values,
            grid.rows,
            grid.columns,
            name=f"{prefix}{grid.title}" if prefix else grid.title.capitalize(),
            alt=_in_words(grid),
            shares=grid.shares,
            row=grid.row,
            column=grid.column,
            makes=grid.makes,
        )


def _in_words(grid: Grid) -> str:
    """Describe a matrix: the numbers of a single row, or the largest number and the frames."""
    values = grid.values
    if len(values) == 1:
        return f"{grid.title}, one row by {grid.columns}: {_listed(values[0])}."
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    text = (
        f"{grid.title}, {values.shape[0]} rows by {values.shape[1]} columns. The largest number is "
        f"{values[row, column]:.3g}, in row {row + 1}, column {column + 1}."
    )
    if grid.row is not None:
        text += f" Framed row {grid.row}: {_listed(values[grid.row - 1])}."
    if grid.column is not None:
        text += f" Framed column {grid.column}: {_listed(values[:, grid.column - 1])}."
    return text


def _listed(numbers: Float[np.ndarray, " cells"]) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers)


# Arithmetic as LaTeX.


def number(value: float | np.floating, *, places: int | None = None) -> str:
    """Return up to six significant digits; with `places`, that many decimals and no -0."""
    if places is not None:
        value = round(float(value), places) + 0.0
    if np.isneginf(value):
        return r"-\infty"
    digits, _, exponent = f"{value:.6g}".partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}" if exponent else digits


def sum_of(terms: Iterable[str], *, most: int) -> str:
    """Return a sum, abbreviated in the middle if it has more terms than `most`."""
    terms = list(terms)
    if len(terms) > most:
        terms = [*terms[: most - 2], r"\dots", terms[-1]]
    return " + ".join(terms)
