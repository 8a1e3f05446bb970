"""Which positional encodings are on the page, and their rows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import streamlit as st

from attnlab.configuration.options import default_of, label_of, options_of
from attnlab.lessons.geometry import encoding_rows
from attnlab.positions import POSITIONS, AbstractPosition, Learned
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.session_run import session_run
from attnlab.ui.core.shell import TRAIN_PAGE

IN_THE_RUN = "learned in the run"
MOST_POSITIONS, MOST_FEATURES = 64, 32


class ShownEncoding(NamedTuple):
    """An encoding on the page. `rows` are None where there are none to show."""

    side: str
    name: str
    position: AbstractPosition
    rows: np.ndarray | None


# What a button sets: values by the key of their control.
PRESETS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "The blog post's: L = 50, d = 5": {
            "pe_length": 50, "pe_width": 5,
            "pe_a": "blog-described", "pe_a_base": 50, "pe_b": "blog-published", "pe_b_base": 50,
        },
        "Sinusoidal and scalar: C = 10,000, d = 2": {
            "pe_length": 40, "pe_width": 2,
            "pe_a": "sinusoidal", "pe_a_base": 10_000, "pe_b": "scalar", "pe_b_period": 20,
        },
    }
)  # fmt: skip


def draw_presets() -> None:
    """A button for each preset."""
    with st.container(horizontal=True, key="pe_presets"):
        for number, (name, values) in enumerate(PRESETS.items(), start=1):
            st.button(name, key=f"pe_preset_{number}", on_click=_set, args=(values,))


def _set(values: Mapping[str, object]) -> None:
    for key, value in values.items():
        st.session_state[key] = value


def draw_encoding(side: str, default: str, *, length: int, width: int) -> ShownEncoding:
    """A menu of encodings and the options of the chosen one."""
    names = [*POSITIONS, IN_THE_RUN]
    name = linked(
        st.selectbox, f"encoding {side.upper()}", names, names.index(default), key=f"pe_{side}"
    )
    if name == IN_THE_RUN:
        return ShownEncoding(side, name, Learned(), _rows_of_run())
    kind = POSITIONS[name]
    st.caption(kind.summary)
    values = {
        option: linked(
            st.select_slider,
            label_of(option, spec),
            steps(spec.low, spec.high, default_of(kind, option)),
            default_of(kind, option),
            key=f"pe_{side}_{option}",
            help=spec.help,
        )
        for option, spec in options_of(kind).items()
        # Others keep their defaults here.
        if spec.low is not None
    }
    position = kind(**values)
    rows = encoding_rows(position, length=length, width=width)
    return ShownEncoding(side, name, position, rows if rows.shape[1] else None)


def _rows_of_run() -> np.ndarray | None:
    latest = session_run().snapshot().latest
    rows = None if latest is None else getattr(latest.model, "positions", None)
    if rows is None:
        st.info(
            "The run of this session has no learned encoding. Train one, with `position` "
            "“learned”, and come back.",
            icon=":material/model_training:",
        )
        st.page_link(TRAIN_PAGE, label="Go to the Train page", icon=":material/arrow_forward:")
        return None
    rows = np.asarray(rows, dtype=np.float64)
    st.caption(
        f"From step {latest.step:,} of the current run: {rows.shape[0]} positions, "
        f"{rows.shape[1]} components. The length and width above do not act on it."
    )
    return rows


def steps(low: float, high: float, default: float) -> list[int | float]:
    """1, 2, 5 of every decade from `low` to `high`, whole numbers without a fraction.

    With the default, and where `low` is 0 with that and three decades. Of an option that counts,
    whole numbers alone.
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
