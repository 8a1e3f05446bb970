"""The lines of attnlab that make what a page shows."""

import streamlit as st


def draw_in_code(*code: str, lead: str = "", title: str = "In code", key: str = "in_code") -> None:
    """Scripts, below the words that lead to them.

    Drawn when opened: the browser's part that colours code is larger than all others together,
    and would come before the charts.
    """
    panel = st.expander(title, key=key, on_change="rerun", icon=":material/code:")
    if panel.open:
        with panel:
            if lead:
                st.markdown(lead)
            for script in code:
                st.code(script, language="python")
