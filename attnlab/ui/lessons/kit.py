"""Functions shared by the lesson pages: control rows, text fields, charts and matrices."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float, Num
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import CLICKED, Drawing, Lit, matrix_chart, matrix_table
from attnlab.charts.style import HUES, INK, SHARES, SIGNED, Ramp
from attnlab.configuration.options import OptionError, default_of, label_of, options_of
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address_controls import linked, or_last_good
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart

# Further arguments of controls in sections: they keep their values while others are open.
KEPT: Mapping[str, Any] = MappingProxyType({"persist_state": "session"})

_Value = TypeVar("_Value")

# Terms of a sum in LaTeX; longer sums are abbreviated.
_MOST_TERMS = 5
_MOST_SQUARES = 8


def control_row(key: str | None = None) -> DeltaGenerator:
    """Return a container that puts its controls side by side."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key=key)


def choose(
    label: str, choices: Sequence[str], default: str | None = None, *, key: str, **rest: Any
) -> str:
    """Draw a row of choices, of which exactly one is selected; return the selected one."""
    default = choices[0] if default is None else default
    return linked(
        st.segmented_control, label, choices, default=default, required=True, key=key, **rest
    )


def choose_section(sections: Mapping[str, str], *, key: str) -> str:
    """Draw a row of sections; return the open one. Only that one should be drawn.

    Args:
        sections: By name, the prefix of the keys of the section's controls. A link that sets such a
            control opens its section.
        key: The key of the row.
    """
    linked_to = (
        name
        for name, prefix in sections.items()
        if any(parameter.startswith(prefix) for parameter in st.query_params)
    )
    first = next(linked_to, next(iter(sections)))
    # The default must not change later: the section is in the address unless it is the default.
    first = st.session_state.setdefault(f"{key}_first", first)
    return choose("section", tuple(sections), first, key=key, label_visibility="collapsed")


def link_to_settings(experiment: Experiment) -> str:
    """Return a Markdown link that opens settings in Sequence to sequence."""
    query = urlencode(to_query(experiment))
    return f"[Open in Sequence to sequence](sequence_to_sequence?{query})"


def draw_options(kind: type[_Value], prefix: str, **rest: Any) -> _Value:
    """Draw a slider or a menu for each option of a class; return an instance."""
    values = {}
    for name, spec in options_of(kind).items():
        default = default_of(kind, name)
        control, choices, chosen = (
            (st.selectbox, spec.choices, spec.choices.index(default))
            if spec.choices
            else (st.select_slider, steps(*spec.bounds, default), default)
        )
        label, key = label_of(name, spec), f"{prefix}_{name}"
        values[name] = linked(control, label, choices, chosen, key=key, help=spec.help, **rest)
    return kind(**values)


def steps(low: float, high: float, default: float) -> list[int | float]:
    """Return 1, 2 and 5 of every decade from `low` to `high`, and the default.

    If the default is an integer, only integers are returned. If `low` is 0, the result is 0 and the
    three decades below `high`.
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


def share_done(latest: Any) -> tuple[float, str]:
    """Return the share done and the current item, given a job's latest progress or None."""
    return (latest.share, latest.doing) if latest else (0.0, "")


def seed_field(label: str, key: str) -> int:
    """Draw the number field of a seed; return the seed."""
    return linked(st.number_input, label, 0, 2**31 - 1, 0, 1, key=key, width=150)


def valid_or_last(
    read: Callable[[str], _Value], text: str, default: str, *, key: str, noun: str
) -> _Value:
    """Return `read(text)`; if the text is invalid, show the error and return the last value.

    Before the first valid text, the value is `read(default)`. `key` stores the last value, and
    `noun` names the values in the error.
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
    """Draw a chart in a container of the page, such as a column or `st` itself.

    Args:
        place: The container.
        key: The chart's key, without the prefix `chart_`.
        build: The chart function, called with the tables and options.
        tables: The data of the chart's marks.
        name: The chart's name in its file.
        alt: The chart's text alternative.
        on_click: Called with the data row of a clicked mark, before the next rerun.
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


class Grid(NamedTuple):
    """A matrix to draw.

    Attributes:
        title: Its name.
        values: The matrix.
        rows: Title of the rows. `query`, `key`, `value` and `source` have fixed colours, even if
            a colon and more text follow.
        columns: Title of the columns.
        row: The framed row, from 1.
        column: The framed column, from 1.
        makes: For a weight matrix: "query", "key" or "value", for the colour of its columns.
        shares: Whether the values are fractions from 0 to 1.
    """

    title: str
    values: Num[np.ndarray, "rows columns"]
    rows: str
    columns: str
    row: int | None = None
    column: int | None = None
    makes: str = ""
    shares: bool = False


def draw_matrix(
    place: Any,
    key: str,
    grid: Grid,
    table: pd.DataFrame | None = None,
    *,
    alt: str,
    name: str | None = None,
    largest: float | None = None,
    ramp: Ramp | None = None,
    **options: Any,
) -> None:
    """Draw a matrix as a heatmap.

    Args:
        place: The container to draw in.
        key: The chart's key, without the prefix `chart_`.
        grid: The matrix.
        table: Its table, by default `matrix_table` of its values.
        alt: The chart's text alternative.
        name: The chart's name in its file, by default the title.
        largest: The value with the strongest colour; by default the largest value.
        ramp: The colours, by default those of shares or of signed numbers.
        options: Options of the chart function.
    """
    colours = {"query": HUES.query, "key": HUES.key, "value": HUES.value, "source": HUES.key}
    of_row, of_column = (
        colours.get(each.partition(":")[0]) for each in (grid.rows, grid.makes or grid.columns)
    )
    frames = [Lit(of_row or INK, row=grid.row)] if grid.row else []
    frames += [Lit(of_column or INK, column=grid.column)] if grid.column else []
    if largest is None:
        largest = float(np.abs(grid.values[np.isfinite(grid.values)]).max(initial=0.0)) or 1.0
    draw_figure(
        place,
        key,
        matrix_chart,
        matrix_table(grid.values) if table is None else table,
        name=name or grid.title.capitalize(),
        alt=alt,
        shape=grid.values.shape,
        row_title=f"← {grid.rows}" if grid.rows else "row",
        column_title=f"{grid.columns} →",
        domain=(0.0, 1.0) if grid.shares else (-largest, largest),
        ramp=ramp or (SHARES if grid.shares else SIGNED),
        row_colour=of_row,
        column_colour=of_column,
        lit=tuple(frames),
        **options,
    )


def draw_grids(grids: Mapping[str, Grid], *, prefix: str = "") -> None:
    """Draw matrices, three per row.

    Args:
        grids: The matrices by chart key, without the prefix `chart_`.
        prefix: A prefix for the charts' names.
    """
    columns: list[DeltaGenerator] = []
    for key, grid in grids.items():
        columns = columns or list(st.columns(3))
        place = columns.pop(0)
        place.markdown(f"**{grid.title}** {grid.values.shape[0]} × {grid.values.shape[1]}")
        name = prefix + grid.title if prefix else None
        # More cells would be too small for their numbers.
        square = max(grid.values.shape) <= _MOST_SQUARES
        draw_matrix(place, key, grid, name=name, alt=_in_words(grid), square=square)


def _in_words(grid: Grid) -> str:
    """Return a text alternative: all numbers of a single row, else the largest and framed ones."""
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


def number(value: float | np.floating, *, places: int | None = None) -> str:
    """Return a number in LaTeX with six significant digits or rounded to `places` decimals."""
    if places is not None:
        value = round(float(value), places) + 0.0
    if np.isneginf(value):
        return r"-\infty"
    digits, _, exponent = f"{value:.6g}".partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}" if exponent else digits


def bold(value: float | np.floating, *, places: int | None = None) -> str:
    """Return `number` in bold, as the result of a line of arithmetic."""
    return rf"\mathbf{{{number(value, places=places)}}}"


def sum_of(terms: Iterable[str]) -> str:
    """Return a sum in LaTeX, with dots in the middle if it has many terms."""
    terms = list(terms)
    if len(terms) > _MOST_TERMS:
        terms = [*terms[: _MOST_TERMS - 2], r"\dots", terms[-1]]
    return " + ".join(terms)


def products(
    left: Float[np.ndarray, " terms"],
    right: Float[np.ndarray, " terms"],
    *,
    places: int | None = None,
) -> str:
    """Return the sum of the products of two vectors' components, in LaTeX."""
    pairs = zip(left, right, strict=True)
    return sum_of(f"({number(a, places=places)})({number(b, places=places)})" for a, b in pairs)


def softmax_of(
    scores: Float[np.ndarray, " keys"],
    at: int,
    shares: Float[np.ndarray, " keys"],
    *,
    places: int | None = None,
) -> str:
    """Return, in LaTeX, how the share at index `at` follows from the scores of a row."""
    above = number(scores[at], places=places)
    possible = scores[np.isfinite(scores)]
    below = sum_of(f"e^{{{number(score, places=places)}}}" for score in possible)
    return rf"\frac{{e^{{{above}}}}}{{{below}}} = {bold(shares[at], places=places)}"
