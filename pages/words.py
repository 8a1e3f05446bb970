"""Glossary: what the names on the other pages mean."""

import streamlit as st

from attnlab.attention.head import MASKS
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.models.readout import READOUTS
from attnlab.positions import POSITIONS
from attnlab.training.losses import LOSSES
from attnlab.ui.core.shell import ensure_shell

ensure_shell()
st.title("Glossary", anchor=False)
st.markdown(
    "One word for one thing, here and on every page. A **generator** is the process that makes "
    "sequences of **days**; each day is a **token**, such as 🌧️ ☁️ ☀️. A model sees `length` days "
    "and predicts the next. In attention every day has a **query**, which asks, a **key**, which "
    "answers, and a **value**, which is what it has to say; `d_attn` is the width of queries and "
    "keys. Query · key gives the **scores**, their softmax the **pattern**: each row is one day's "
    "attention and sums to 1. **Loss** is -log p(the day that came), in nats."
)

st.header("Buttons of a run", anchor=False)
st.markdown(
    "**Start** (key S) trains to the last step. **Pause** (P) stops within a tenth of a second and "
    "keeps everything. **Step** (N) pauses, then takes exactly one step. **Reset** (B) goes back "
    "to step 0 with the same seed, and so the same data and weights; it also applies changed "
    "settings. **New seed** (D) draws another seed and resets."
)

st.header("Generators", anchor=False)
for name, generator in GENERATORS.items():
    st.markdown(f"**{name}** · {generator.summary}")

st.header("Models", anchor=False)
for name, model in MODELS.items():
    st.markdown(f"**{name}** · {model.summary}")

st.header("Positional encodings", anchor=False)
for name, position in POSITIONS.items():
    st.markdown(f"**{name}** · {position.summary}")

st.header("Masks", anchor=False)
for name, mask in MASKS.items():
    st.markdown(f"**{name}** · {mask.__doc__}")

st.header("Losses and readouts", anchor=False)
for name, text in (LOSSES | READOUTS).items():
    st.markdown(f"**{name}** · {text}.")
