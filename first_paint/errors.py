"""What a visitor sees when something went wrong that nobody foresaw."""

import streamlit as st


def tell_calmly(error: Exception) -> bool:
    """Say on the page, in words, that it could not be drawn. The words are the same for any error.

    For `on_script_error` of `streamlit.App`, to which True says that the page is told. Before it
    asks, Streamlit has written the traceback to the server's log.
    """
    st.error(
        "Something went wrong while this page was drawn, and its rest is missing. Your run is "
        "kept: change the last setting back or reload the page. The server's log says more.",
        icon=":material/error:",
    )
    return True
