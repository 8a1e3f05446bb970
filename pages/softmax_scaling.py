"""Softmax scaling: why scores are divided by √d, and what happens without it."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, panel
from attnlab.ui.lessons.kit import beside
from attnlab.ui.lessons.softmax_panel import (
    draw_collapse,
    draw_controls,
    draw_dot_products,
    draw_safety,
    draw_saturation,
    draw_temperature,
)
from attnlab.ui.lessons.sweep_panel import draw_sweep
from attnlab.ui.shell import ensure_shell

ensure_shell()
text, picture = beside(
    "Attention compares a query with each key by a dot product, a sum of d terms. The more terms, "
    "the further apart the scores.\n\n"
    "Then the softmax saturates: one key gets nearly all the weight, and gradients nearly vanish. "
    "Dividing by √d keeps the scores at the same size.",
    title="Softmax scaling",
)
with text:
    drawn = draw_controls()
    st.markdown("**Try this**: drag d from 1 to 256. Without 1/√d, one key takes all the weight.")
with picture:
    draw_collapse(drawn)

st.header("The softmax saturates", anchor=False, divider="gray")
draw_saturation(drawn)
st.markdown(
    "**Try this**: choose few keys, then many. The fewer the keys, the smaller the width at which "
    "the softmax saturates."
)

st.header("Dot products grow with the width", anchor=False, divider="gray")
text, picture = beside(
    "Queries and keys have independent components of mean 0 and standard deviation σ. Each of "
    "the d products has variance σ⁴, and variances of independent terms add up."
)
with picture:
    draw_dot_products(drawn)
text.markdown(
    "**Try this**: set σ to 2. The variance is d σ⁴, so 1/√d alone no longer keeps the scores at "
    "size 1: the initial weights matter too."
)

st.header("Logits and temperature", anchor=False, divider="gray")
st.markdown(
    "Enter logits. They are divided by a temperature; the factor 1/√d is a temperature of √d."
)
draw_temperature()
st.markdown(
    "**Try this**: press “8 × example”, then raise the temperature to 5. Multiplying the "
    "logits by 8 has the same effect as dividing the temperature by 8."
)


@panel("During training: with and without 1/√d", key="sweep_panel", icon="model_training")
def draw_training() -> None:
    st.markdown(
        "Runs come in pairs that differ only in the factor 1/√d. The gap is the loss minus the "
        "best possible loss. A larger gap without 1/√d is the cost of leaving out the factor."
    )
    draw_sweep()


@panel("Numerical stability", key="safety_panel", icon="exposure_zero")
def draw_stability() -> None:
    st.markdown(
        "A softmax computed directly from its formula fails on scores that occur in attention: "
        "large ones, and rows that are fully masked."
    )
    draw_safety()


# A link that sets one of its controls opens it.
is_linked = any(name.startswith("sweep_") for name in st.query_params)
st.session_state.setdefault("sweep_panel", is_linked)
draw_training()
draw_stability()

draw_in_code(
    "import jax.random as jr\n"
    "import numpy as np\n\n"
    "from attnlab import Experiment\n"
    "from attnlab.attention import masked_softmax\n"
    "from attnlab.lessons.saturation import draw_scores, patterns, saturation, variance_and_error\n"
    "from attnlab.lessons.sweep import Sweep, over_seeds, run_sweep, steps_to, target_gap\n\n"
    "drawn = draw_scores((4, 64), draws=2_000, queries=100, keys=16, key=jr.key(0))\n"
    "print(variance_and_error(drawn.products[1]))  # near 64\n"
    "open_keys = np.ones(16, dtype=bool)\n"
    "print(saturation(patterns(drawn.scores[1], open_keys)).surviving.mean())\n"
    "print(saturation(patterns(drawn.scores[1] / 8, open_keys)).surviving.mean())\n"
    "print(masked_softmax(np.array([[1e4, 9_999.0]]), np.ones((1, 2), dtype=bool)))\n\n"
    "experiment = Experiment()\n"
    "for progress in run_sweep(Sweep(experiment, widths=(4, 64), gains=(1.0,))):\n"
    "    print(f'{progress.share:.0%} {progress.doing}')\n"
    "for track in progress.tracks:\n"
    "    first = steps_to(track, target_gap(experiment, 0.9))[0]\n"
    "    print(track.d_attn, track.scale, first, over_seeds(track.gap[0, :, -1]))",
    lead="This script prints the results above:",
)
