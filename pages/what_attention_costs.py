"""What attention costs: parameters, time and memory against length, and a cache's worth."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.lessons.costs_panel import draw_attention, draw_generation
from attnlab.ui.lessons.parameters_panel import draw_parameters, read_settings

ensure_shell()
st.title("What attention costs", anchor=False)
st.markdown(
    "Attention compares every token with every other: n² scores for n tokens. Its parameters do "
    "not grow with that, its time and memory do. Below, the parameters of every family are "
    "counted, and time and memory are measured on the machine that serves this page."
)
settings = read_settings()

st.header("Parameters", anchor=False, divider="gray")
st.markdown(
    "A family that has weights of its own for every position grows with the length; one that "
    "shares them among positions does not. Of attention and the transformer, only a learned "
    "positional encoding grows, by one vector a position."
)
draw_parameters(settings)
st.markdown(
    "**Try this**: compare `mlp` and `gru` at the two ends of the chart; then choose another "
    "positional encoding on Train, and see the line of `attention` become flat."
)

st.header("Time and memory", anchor=False, divider="gray")
st.markdown(
    "The scores need not all be there at once. A softmax can be summed chunk by chunk, if every "
    "chunk's sums are scaled to the largest score seen so far (Rabe and Staats 2021). With chunks "
    "of about √n queries and √n keys, the scores that are in memory at one time are n instead of "
    "n²; their number in all, and so the growth of the time, stays. The transformer has it as "
    "the option `attention`."
)
draw_attention()
st.markdown(
    "**Try this**: the pass `forward and gradient`. Plain attention keeps its patterns for the "
    "way back; chunked attention computes each chunk a second time instead."
)

st.header("Generation with a cache", anchor=False, divider="gray")
st.markdown(
    "Under a causal mask, later tokens change nothing at earlier positions. So their keys and "
    "values can be kept: the next token then takes one row's query against the kept keys, n "
    "scores a head and layer instead of n²."
)
draw_generation(settings)
st.markdown(
    "**Try this**: one layer, then several. Of the last layer only the row of the next token is "
    "ever computed, so with a single layer recomputing has no n² scores to begin with, only keys "
    "and values of n rows."
)

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
    lead="The figures above, from a script:",
)
