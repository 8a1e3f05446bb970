"""What a visitor reads while the server is still importing its engine."""

import importlib
import threading
from types import ModuleType

import streamlit as st


def wait_for_engine() -> None:
    """First call of the app's script: say that the page follows. With the engine there, nothing."""
    if engine_is_here().is_set():
        return
    # Without the icon: to check that it is an emoji, Streamlit imports its table of all of them.
    st.set_page_config(page_title="attnlab", layout="wide")
    place = st.empty()
    place.info(
        "The server has just started and is importing its engine. The page follows by itself in a "
        "few seconds.",
        icon=":material/hourglass_top:",
    )
    try:
        with engine_lock():
            shell = _import_shell()
    except Exception:
        # It would go on to say that the page is about to come.
        place.empty()
        raise
    engine_is_here().set()
    shell.ensure_shell()


@st.cache_resource(show_spinner=False)
def engine_is_here() -> threading.Event:
    """Set once pages are drawn without delay."""
    return threading.Event()


@st.cache_resource(show_spinner=False)
def engine_lock() -> threading.Lock:
    """Held by whoever imports the engine.

    Two threads that import modules of one package, each of which needs one that the other has
    begun, are given half of them by Python, and both fail.
    """
    return threading.Lock()


def _import_shell() -> ModuleType:
    return importlib.import_module("attnlab.ui.core.shell")
