"""What attention costs: parameters, time and memory by length, and generation with a cache."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.lessons.costs_panel import (
    draw_attention,
    draw_generation,
    draw_parameters,
    read_settings,
)
from attnlab.ui.lessons.kit import beside
from attnlab.ui.shell import ensure_shell

ensure_shell()
text, picture = beside(
    "Attention compares every token with every other: n² scores for n tokens. So its time grows "
    "with n².\n\n"
    "Its memory need not: **chunked** attention sums the softmax in parts (Rabe and Staats 2021), "
    "with only n scores in memory.",
    title="What attention costs",
)
draw_attention(text, picture)
settings = read_settings()

st.header("Generation with a cache", anchor=False, divider="gray")
text, picture = beside(
    "A model that writes token by token can keep earlier keys and values in a **cache**. Each new "
    "token then needs n scores per head and layer instead of n²."
)
draw_generation(settings, text, picture)
picture.markdown(
    "**Try this**: measure one layer. The last layer computes only its last query, so one layer "
    "gains little from the cache."
)

st.header("Parameters", anchor=False, divider="gray")
st.markdown(
    "A model that shares its parameters across positions does not grow with the length. Learned "
    "positions and the models `linear` and `mlp` do."
)
draw_parameters(settings)

draw_in_code(
    "from attnlab import MODELS, parameters_by_part\n"
    "from attnlab.lessons.costs import lengths_to, measure_attention, measure_generation\n\n"
    "for family, options in MODELS.items():\n"
    "    print(family)\n"
    "    for part, count, formula in parameters_by_part(options(), vocab=3, length=10):\n"
    "        print(f'  {part:22} {count:6,} = {formula}')\n\n"
    "for progress in measure_attention(lengths_to(1024), d_attn=32):\n"
    "    pass\n"
    "for cost in progress.measured:\n"
    "    print(cost.length, cost.way, cost.seconds.min(), cost.scratch)\n\n"
    "options = MODELS['transformer'](layers=2)\n"
    "for progress in measure_generation(options, lengths_to(256), vocab=3):\n"
    "    pass\n"
    "for cost in progress.measured:\n"
    "    print(cost.length, cost.way, 1 / cost.seconds.max(), 'tokens/s')",
    lead="This script prints the results above:",
)
