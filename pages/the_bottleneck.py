"""The bottleneck: what a state of fixed size can hand over, and why attention was invented."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.core.shell import ensure_shell
from attnlab.ui.lessons.alignment_panel import draw_alignments, draw_maps
from attnlab.ui.lessons.bottleneck_panel import draw_bits, draw_reversed, draw_sweep
from attnlab.ui.lessons.decoder_step_panel import draw_step

ensure_shell()
st.title("The bottleneck", anchor=False)
st.markdown(
    "One network reads a sequence, another writes one from it. In the first such models the "
    "reader handed over its **last state** alone: a few numbers for all that was read. Attention "
    "was invented to take this bottleneck away: at every step the writer may look at **all** "
    "states of the reader. Below, the bottleneck fails as sequences grow; one step of a writer "
    "that attends is computed by hand; and its attention is compared with the truth."
)

st.header("A hand of cards through a state", anchor=False, divider="gray")
st.markdown(
    "A hand is dealt from 52 cards, and the same cards are to be laid in order. Both families "
    "have the same cells, the same width, and are trained for the same number of steps."
)
fragment(draw_sweep)()
st.markdown(
    "Attention is no cure for a state too narrow for what passes through it at each step: "
    "the query, and the next card. And all runs have the same 1,000 steps; longer training may "
    "raise any of them."
)

st.header("How many bits a hand needs", anchor=False, divider="gray")
draw_bits()

st.header("Letters backwards", anchor=False, divider="gray")
st.markdown(
    "Nothing needs to be sorted here: yⱼ = xₙ₊₁₋ⱼ. What remains hard without attention is to "
    "carry ten letters in one state."
)
draw_reversed()

st.header("One step of the decoder", anchor=False, divider="gray")
st.markdown(
    "A recurrent network with attention, trained to write five letters backwards and small enough "
    "to follow: states of 8 numbers, queries and keys of 4. The state h before the step "
    "asks the states sᵢ of the encoder; their mixture aₜ goes into the next state."
)
fragment(draw_step)()
st.markdown(
    "**Try this**: keep the stage `softmax` and move the step t from 1 to 5: the largest share "
    "moves from the last source token towards the first. Then change one letter of the source."
)

st.header("Copy, reverse, sort", anchor=False, divider="gray")
st.markdown(
    "Three tasks over the same letters, one small model each. The task knows from which source "
    "token every target token is taken; the models are not given it."
)
fragment(draw_alignments)()
st.markdown(
    "**Alignment is not dependence.** For `copy` and `reverse` a target token changes with the one "
    "source token that it is taken from. A sorted letter is *taken from* one place (or from equal "
    "letters), but *which* letter comes next depends on all that are not yet written: any of them, "
    "were it smaller, would come first, as long as a smaller one may still come. So a model that "
    "sorts has to use them all, whatever its attention at one step shows: a state of the encoder "
    "may hold more than its own letter. For the same reason attention may lie beside the true "
    "place and the letter still be right."
)

st.header("Self-, cross- and masked attention", anchor=False, divider="gray")
st.markdown(
    "The same formula three times; what differs is whose queries and keys they are, and the mask."
)
fragment(draw_maps)()

draw_in_code(
    "from attnlab.comparisons.intervals import student_interval\n"
    "from attnlab.lessons.bottleneck import bits_of, shipped, swept\n"
    "from attnlab.lessons.small_models import (\n"
    "    aligning, decoder_steps, share_aligned, small_model, stepping, truth_of, write_known\n"
    ")\n\n"
    "for family in ('rnn-bottleneck', 'rnn-attention'):\n"
    "    runs = shipped().of(swept(family, hand=10, width=64))\n"
    "    print(family, student_interval(runs.exact_match))\n"
    "print(bits_of(runs.experiment.generator), 'bits')\n\n"
    "step = decoder_steps(small_model(stepping()).model, (5, 0, 3, 1, 4))[0]\n"
    "print(step.scores, step.pattern, step.context, step.next_state)\n\n"
    "small, source = small_model(aligning('reverse', 'encoder-decoder')), (5, 1, 7, 3, 1, 2)\n"
    "truth = truth_of(small.experiment.generator, source)\n"
    "attention = write_known(small.model, source, truth.target).maps['cross'].pattern\n"
    "print(share_aligned(attention, truth.alignment))",
    lead="The figures above, from a script:",
)
