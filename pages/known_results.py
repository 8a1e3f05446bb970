"""Known results: published claims, and whether runs of attnlab agree with them."""

import streamlit as st

from attnlab.known_results import KNOWN_RESULTS
from attnlab.ui.compare.known_results import draw_gallery
from attnlab.ui.shell import ensure_shell

ensure_shell()
with st.container(key="heading"):
    st.title("Known results", anchor=False)
draw_gallery([*KNOWN_RESULTS.values()])
