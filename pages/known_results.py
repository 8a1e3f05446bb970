"""Known results: published claims, and whether runs of attnlab agree with them."""

import streamlit as st

from attnlab.known_results import KNOWN_RESULTS
from attnlab.ui.compare.known_results import draw_gallery, draw_overview
from attnlab.ui.core.glossary import link_to
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Known results", anchor=False)
st.markdown(
    "Each card is a published claim about small models, with runs of attnlab that check it. "
    "Dots are runs with different seeds, a grey band is a claimed range, and ◇ is a published "
    f"number. The Glossary explains these axis terms: {link_to('exact match')}, "
    f"{link_to('floor')}, {link_to('nat', 'nats')}, {link_to('prefix match')}, "
    f"{link_to('unigram')}, {link_to('explained variance', 'R²')}."
)
draw_overview(KNOWN_RESULTS.values())
draw_gallery([*KNOWN_RESULTS.values()])
