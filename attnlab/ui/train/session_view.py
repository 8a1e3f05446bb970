"""What the charts of a session show at this moment."""

import dataclasses
from collections.abc import Sequence

import streamlit as st

from attnlab.ui.train.inside_panel import Choice


@dataclasses.dataclass
class Shown:
    """The choices beside the charts, for pictures that are made when no page is being drawn.

    A file is made in a thread that has no session, so that it cannot ask the controls.
    """

    rungs: Sequence[str] = ()
    step: int | None = None
    choice: Choice = dataclasses.field(default_factory=Choice)


def session_shown() -> Shown:
    """The one of this browser session."""
    return st.session_state.setdefault("shown", Shown())
