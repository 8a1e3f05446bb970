"""Functions shared by the lesson pages: control rows, text fields, charts and matrices."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnlab.charts import CLICKED, Matrix, matrix_chart
from attnlab.configuration.options import OptionError, default_of, label_of, options_of
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.address_controls import linked, or_last_good
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart

# Further arguments of controls in sections: they keep their values while others are open.
KEPT: Mapping[str, Any] = MappingProxyType({"persist_state": "session"})

_Value = TypeVar("_Value")

# In pixels; at 1280 it leaves two thirds for the picture.
_TEXT_WIDTH = 380
# Terms of a sum in LaTeX; longer sums are abbreviated.
_MOST_TERMS = 5
_MOST_SQUARES = 8


def beside(words: str, *, title: str = "") -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw text in a narrow column; return this column, for controls, and that of the picture.

    The picture is at the right of the text, and on a phone below it. `title` is that of the page.
    """
    row = st.container(horizontal=True, gap="medium")
    text, picture = row.container(width=_TEXT_WIDTH), row.container()
    if title:
        text.title(title, anchor=False)
    text.markdown(words)
    return text, picture


def control_row(key: str | None = None) -> DeltaGenerator:
    """Return a container that puts its controls side by side."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key=key)


def in_columns(items: Iterable[_Value]) -> Iterator[_Value]:
    """Yield items, each in its own column: what the loop draws stands there."""
    items = list(items)
    for column, item in zip(st.columns(len(items), gap="medium"), items, strict=True):
        with column:
            yield item


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
    """Return a Markdown link that opens settings in Train."""
    query = urlencode(to_query(experiment))
    return f"[Open in Train](./?{query})"


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


def clicks(key: str, on_click: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Return arguments of `draw_chart` for a chart whose marks can be clicked.

    Before the next rerun, `on_click` is called with the data row of the clicked mark.
    """

    def pass_click() -> None:
        if picked := st.session_state[key]["selection"].get(CLICKED):
            on_click(picked[0])

    return {"key": key, "on_select": pass_click, "selection_mode": CLICKED}


def draw_matrices(matrices: Iterable[Matrix], *, prefix: str = "") -> None:
    """Draw matrices, three per row; the charts' names begin with `prefix`."""
    columns: list[DeltaGenerator] = []
    for matrix in matrices:
        columns = columns or list(st.columns(3))
        rows, size = matrix.values.shape
        # More cells would be too small for their numbers.
        chart = matrix_chart(matrix, square=max(rows, size) <= _MOST_SQUARES)
        with columns.pop(0):
            st.markdown(f"**{matrix.title}** {rows} × {size}")
            name = prefix + matrix.title if prefix else matrix.title.capitalize()
            draw_chart(chart, name=name, alt=_in_words(matrix))


def _in_words(matrix: Matrix) -> str:
    """Return a text alternative: all numbers of a single row, else the largest and framed ones."""

    def listed(numbers: np.ndarray) -> str:
        return ", ".join(f"{number:.3g}" for number in numbers)

    title, values = matrix.title, matrix.values
    if len(values) == 1:
        return f"{title}, one row by {matrix.columns}: {listed(values[0])}."
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    text = (
        f"{title}, {values.shape[0]} rows by {values.shape[1]} columns. The largest number is "
        f"{values[row, column]:.3g}, in row {row + 1}, column {column + 1}."
    )
    if matrix.row is not None:
        text += f" Framed row {matrix.row}: {listed(values[matrix.row - 1])}."
    if matrix.column is not None:
        text += f" Framed column {matrix.column}: {listed(values[:, matrix.column - 1])}."
    return text


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
