"""Uploaded files, each handled once.

Files are not handled in callbacks: reading one takes so long that another request often arrives
meanwhile, and Streamlit then silently drops the callback. An interrupted script is run again, and
the file is still there.
"""

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

# Draws the message about a file; None if there is no message.
Told = Callable[[], None] | None


def take_upload(key: str, take: Callable[[UploadedFile | None], Told]) -> None:
    """Handle the file of upload control `key` once, with `take`, and store its message.

    Call it before drawing what the file changes. `take` gets None when the user removes the file.
    """
    file = st.session_state.get(key)
    number = None if file is None else file.file_id
    before, told = _last(key)
    if number != before:
        # If the key is missing, the control was not drawn; the user did not remove the file.
        told = take(file) if key in st.session_state else told
        st.session_state[_kept(key)] = number, told


def draw_upload(label: str, *, key: str, help: str) -> None:
    """Draw the upload control, with the message about its file below."""
    st.file_uploader(label, key=key, help=help)
    if told := _last(key)[1]:
        told()


def _last(key: str) -> tuple[str | None, Told]:
    return st.session_state.get(_kept(key), (None, None))


def _kept(key: str) -> str:
    return f"{key}_taken"
