"""What a visitor sees when something went wrong that nobody foresaw."""

import logging

import streamlit as st

_LOG = logging.getLogger(__name__)


def tell_calmly(error: Exception) -> bool:
    """Say on the page, in words, that it could not be drawn; the traceback goes to the log.

    For `on_script_error` of `streamlit.App`, to which True says that the page is told.
    """
    _LOG.error("A page could not be drawn.", exc_info=error)
    st.error(
        "Something went wrong while this page was drawn, and its rest is missing. Your run is "
        "kept: change the last setting back or reload the page. The server's log says more.",
        icon=":material/error:",
    )
    return True
