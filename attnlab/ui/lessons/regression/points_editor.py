"""Points of the visitor's own, as text."""

import functools

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.lessons.points_text import MOST, MOST_LETTERS, read_points
from attnlab.lessons.regression_data import Sample
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.last_good import or_last_good
from attnlab.ui.core.outside import draw_error

_EXAMPLE = "0.0, 0.1\n0.5, 0.9\n1.0, 0.4\n1.5, -0.6\n2.0, -0.9\n2.5, 0.2\n3.0, 0.8"
_KEY = "own_points"
# Servers in front of a hosted app refuse addresses of more than some eight thousand letters, and
# in an address a comma or a new line takes three.
_MOST_IN_ADDRESS = 2000


def read_own_points() -> Sample:
    """A field for the points; those in it or, while they cannot be read, the last good ones."""
    text, found = _draw_field(), None
    try:
        found = read_points("points", text)
    except OptionError as error:
        draw_error(f"{error} The last valid points are shown.")
    x, y = or_last_good(found, read_points("points", _EXAMPLE), key="last_points")
    return Sample(x[:, None], y)


def _draw_field() -> str:
    control = functools.partial(
        st.text_area,
        height=180,
        max_chars=MOST_LETTERS,
        help=f"One point per line, at most {MOST}: x and y separated by a comma, space or tab.",
    )
    if len(st.session_state.get(_KEY, "")) > _MOST_IN_ADDRESS:
        text = control("x, y", _EXAMPLE, key=_KEY, persist_state="session")
        st.caption("Too many points for the address: keep the text itself instead.")
        return text
    if _KEY in st.session_state:
        # Said again, so that a text that was too long until now comes into the address.
        st.session_state[_KEY] = str(st.session_state[_KEY])
    return linked(control, "x, y", _EXAMPLE, key=_KEY)
