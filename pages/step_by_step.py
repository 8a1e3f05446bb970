"""Step by step: attention with numbers one can follow by hand."""

import streamlit as st

from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Step by step", anchor=False)
