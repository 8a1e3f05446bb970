"""Uploaded files, each handled once.

Files are not handled in callbacks: reading one takes so long that another request often arrives
meanwhile, and Streamlit then silently drops the callback. An interrupted script is run again, and
the file is still there.
"""

from collections.abc import Callable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.ui.core.session import session

# Draws the message about a file; None if there is no message.
Message = Callable[[], None] | None


def take_upload(key: str, take: Callable[[UploadedFile | None], Message]) -> None:
    """Handle the file of upload control `key` once, with `take`, and store its message.

    Call it before drawing what the file changes. `take` gets None when the user removes the file.
    """
    file = st.session_state.get(key)
    number = None if file is None else file.file_id
    before, message = _last(key)
    if number != before:
        # If the key is missing, the control was not drawn; the user did not remove the file.
        message = take(file) if key in st.session_state else message
        session().kept[f"{key}_taken"] = number, message


def draw_upload(label: str, *, key: str, help: str) -> None:
    """Draw the upload control, with the message about its file below."""
    st.file_uploader(label, key=key, help=help)
    if message := _last(key)[1]:
        message()


def _last(key: str) -> tuple[str | None, Message]:
    return session().kept.get(f"{key}_taken", (None, None))
