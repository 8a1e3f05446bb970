"""Files that come in by an upload control, each dealt with once.

No callback of the control does it: Streamlit ends a callback without a word, and does not call it
again, when another request of the browser comes while it works, and reading a file takes long
enough for that. A page that is ended half-way is run once more, and finds the file still there.
"""

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

# What draws what there is to say of a file; None where there is nothing to say.
Told = Callable[[], None] | None


def take_upload(key: str, take: Callable[[UploadedFile | None], Told]) -> None:
    """Deal with the file of the control of `key`, unless that is done. Before what it changes.

    `take` is given None when the visitor takes the file away.
    """
    file = st.session_state.get(key)
    number = None if file is None else file.file_id
    before, told = _last(key)
    if number != before:
        # A control that was not drawn for a while comes back empty: nobody took its file away.
        told = take(file) if key in st.session_state else told
        st.session_state[_kept(key)] = number, told


def draw_upload(label: str, *, key: str, help: str) -> None:
    """The control, and below it what there is to say of its file."""
    st.file_uploader(label, key=key, help=help)
    if told := _last(key)[1]:
        told()


def _last(key: str) -> tuple[str | None, Told]:
    return st.session_state.get(_kept(key), (None, None))


def _kept(key: str) -> str:
    return f"{key}_taken"
