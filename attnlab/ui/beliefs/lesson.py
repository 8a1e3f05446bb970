"""What a belief is, why beliefs form a fractal, and what a probe can say: three steps to try."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    corner_table,
    simplex_address,
    simplex_chart,
)
from attnlab.configuration.options import MOST_CHARACTERS
from attnlab.generators import AbstractGenerator, beliefs
from attnlab.inspection.belief_planes import belief_colours, plane_of
from attnlab.inspection.belief_probes import beliefs_after
from attnlab.ui.core.fragments import fragment, panel
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart

# All pasts of that many tokens are followed.
_MOST_PASTS = 10_000
_LONGEST = 12
_PAST = "belief_past"


@panel("What is a belief? Three steps", key="belief_steps", icon="school")
def draw_lesson(process: AbstractGenerator) -> None:
    """Draw the three steps for a process with hidden states."""
    fragment(_draw_steps)(process)


def _draw_steps(process: AbstractGenerator) -> None:
    first, second, third = st.columns(3, gap="medium")
    with first:
        st.markdown("**1. Each token updates the belief.** Change the tokens.")
        _draw_update(process)
    with second:
        st.markdown("**2. The beliefs after n tokens.** Increase n.")
        _draw_all_beliefs(process)
    with third:
        st.markdown("**3. What a probe can show.**")
        st.markdown(
            "A probe is an affine map from activations to beliefs. A high R² means that the "
            "belief is an affine function of the activations.\n\n"
            "This can hold before training: compare the untrained model. It may also follow from "
            "good predictions alone: compare the R² of the next-token distribution.\n\n"
            "The model may not use it. Steering tests that: it changes the belief in the "
            "activation, and you see whether the prediction follows."
        )


def _draw_update(process: AbstractGenerator) -> None:
    vocabulary = process.vocabulary
    st.session_state.setdefault(_PAST, vocabulary.render([0, 0, 1 % vocabulary.size, 0]))
    text = st.text_input(
        "tokens",
        key=_PAST,
        max_chars=MOST_CHARACTERS,
        help=f"Type {' '.join(vocabulary.symbols)}.",
    )
    try:
        tokens = vocabulary.parse(text)
    except ValueError as error:
        draw_error(str(error))
        return
    found = np.exp(np.asarray(beliefs(process, jnp.asarray(tokens, jnp.int32))))
    if not found.any(axis=1).all():
        draw_error("The process never emits these tokens in this order. Change one of them.")
        return
    rows = ["start", *(vocabulary.symbols[token] for token in tokens)]
    table = pd.DataFrame(found.round(3), columns=list(process.hidden_states))
    st.dataframe(table.assign(token=rows).set_index("token"), height=260)


def _draw_all_beliefs(process: AbstractGenerator) -> None:
    size = process.vocabulary.size
    longest = min(_LONGEST, int(np.log(_MOST_PASTS) / np.log(size)))
    count = st.slider("tokens", 1, longest, min(3, longest), key="belief_tokens")
    pasts = np.indices((size,) * count).reshape(count, -1).T.astype(np.int32)
    found = beliefs_after(process, pasts)[0][:, -1:]
    possible = found[found.any(axis=(1, 2))]
    plane = plane_of(process.hidden_states, possible)
    colours = belief_colours(possible).reshape(-1, 3)
    address = simplex_address(plane.of(possible), colours, dot=3)
    draw_chart(
        simplex_chart(
            pd.DataFrame({"url": [address]}), corner_table(plane), states=process.hidden_states
        ),
        name="All beliefs",
        alt=f"The beliefs after all {len(possible):,} possible pasts of {count} tokens.",
    )
    st.caption(
        "Each token maps all beliefs to new ones: a distorted, often smaller copy. So the picture "
        "consists of one such copy of itself for each token."
    )
