"""Uploaded files, each handled once.

Files are not handled in callbacks: reading one takes so long that another request often arrives
meanwhile, and Streamlit then silently drops the callback. An interrupted script is run again, and
the file is still there.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.configuration.options import OptionError, quoted
from attnlab.runs.run import Run
from attnlab.runs.storage import RunFileError, from_bytes
from attnlab.training.limits import check_limits
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.server import limits
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


def take_run_file(key: str, use: Callable[[Run | None], None], *, problem: str = "") -> None:
    """Call `use` once with the run in the file of upload control `key`, as `take_upload` does.

    It gets None if the file was removed, or cannot be used as a run here. Then there is a message
    that ends with the text `problem`.
    """

    def take(file: UploadedFile | None) -> Message:
        run, message = None, None
        if file is not None:
            try:
                run = from_bytes(file.getvalue())
                check_limits(run.experiment, limits())
            except (RunFileError, OptionError) as error:
                words = f"{quoted(file.name)}: {error} {problem}".rstrip()
                run, message = None, partial(draw_error, words)
        use(run)
        return message

    take_upload(key, take)


def draw_upload(label: str, *, key: str, help: str, megabytes: int | None = None) -> None:
    """Draw the upload control, with the message about its file below.

    `megabytes` is the largest size that it says and takes, by default that of the server.
    """
    st.file_uploader(label, key=key, help=help, max_upload_size=megabytes)
    if message := _last(key)[1]:
        message()


def _last(key: str) -> tuple[str | None, Message]:
    return session().kept.get(f"{key}_taken", (None, None))
