"""A finished small run, on the screen while the engine is still being imported.

Who starts the app has its first page at once and would look at nothing for two seconds. A chart
of the page's own kind would have to wait for the imports too; a picture of it waits for nothing.
"""

import base64
import html
import importlib
import json
import threading
from pathlib import Path
from types import ModuleType

import streamlit as st

# Written by `tools/example.py`: pictures by the ground they lie on, and what they show in words.
PICTURE_FILE = Path(__file__).with_name("example.json")


def draw_until_engine_is_here() -> None:
    """First call of the app's script: once the engine is there, it draws nothing."""
    if engine_is_here().is_set():
        return
    place = st.empty()
    with place.container():
        _draw_example()
    try:
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


def _import_shell() -> ModuleType:
    return importlib.import_module("attnlab.ui.shell")


def _draw_example() -> None:
    example = json.loads(PICTURE_FILE.read_text(encoding="utf-8"))
    # Without the icon: to check that it is an emoji, Streamlit imports its table of all of them.
    st.set_page_config(page_title="attnlab", layout="wide")
    st.title("Train", anchor=False)
    st.info(
        "The server has just started and is still importing its engine. The controls follow by "
        f"themselves in a few seconds. Until then, **an example**: {example['about']}",
        icon=":material/hourglass_top:",
    )
    svg = example["dark" if st.context.theme.type == "dark" else "light"]
    picture = base64.b64encode(svg.encode()).decode()
    st.html(
        f'<img src="data:image/svg+xml;base64,{picture}" alt="{html.escape(example["alt"])}" '
        'style="max-width: 100%">'
    )
