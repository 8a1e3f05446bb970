"""A finished small run, on the screen while the engine is still being imported.

Who starts the app has its page at once and would look at nothing for two seconds. A chart of the
page's own kind would have to wait for the imports too; a picture of it waits for nothing.
"""

import base64
import html
import importlib
import json
import sys
from pathlib import Path

import streamlit as st

# Written by `tools/example.py`: pictures by the ground they lie on, and what they show in words.
PICTURE_FILE = Path(__file__).with_name("example.json")
_SHELL = "attnlab.ui.shell"


def draw_until_engine_is_here() -> None:
    """First call of the app's script: once the engine is there, it draws nothing."""
    if _engine_is_here():
        return
    _draw_example()
    importlib.import_module(_SHELL)
    st.rerun()


def _engine_is_here() -> bool:
    # A module whose import goes on in another thread is listed already, without its functions.
    return hasattr(sys.modules.get(_SHELL), "run_shell")


def _draw_example() -> None:
    example = json.loads(PICTURE_FILE.read_text(encoding="utf-8"))
    # The icon comes with the page itself: to check it Streamlit imports all that there are.
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
