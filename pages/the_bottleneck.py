"""The bottleneck: what a state of fixed size can pass on, and why attention was invented."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.lessons.alignment_panel import draw_alignments, draw_maps
from attnlab.ui.lessons.bottleneck_panel import draw_bits, draw_reversed, draw_sweep
from attnlab.ui.lessons.decoder_step_panel import draw_step
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("The bottleneck", anchor=False)
st.markdown(
    "One network reads a sequence, another writes one from it. In the first such models the "
    "reader passed on its **last state** alone: a few numbers for everything it had read. "
    "Attention was invented to remove this bottleneck: at every step the writer may look at "
    "**all** states of the reader. Below, you see the bottleneck fail as sequences grow, one "
    "decoder step by hand, and learned attention compared with the truth."
)

st.header("A hand of cards through a state", anchor=False, divider="gray")
st.markdown(
    "A hand is dealt from 52 cards; the model has to write the same cards in order. Both "
    "families have the same cells and width, and train for the same number of steps."
)
fragment(draw_sweep)()
st.markdown(
    "Attention does not help if the state is too narrow for what each step needs: the query, and "
    "the next card. All runs have the same 1,000 steps; longer training may improve any of them."
)

st.header("How many bits a hand needs", anchor=False, divider="gray")
draw_bits()

st.header("Letters backwards", anchor=False, divider="gray")
st.markdown(
    "Nothing needs to be sorted here: yⱼ = xₙ₊₁₋ⱼ. Without attention it is still hard to carry "
    "ten letters in one state."
)
draw_reversed()

st.header("One step of the decoder", anchor=False, divider="gray")
st.markdown(
    "A recurrent network with attention, trained to write five letters backwards and small "
    "enough to follow. States have 8 numbers, queries and keys 4. The state h before the step "
    "makes the query, which is compared with the states sᵢ of the encoder. Their mixture aₜ goes "
    "into the next state."
)
fragment(draw_step)()
st.markdown(
    "**Try this**: keep the stage `softmax` and move the step t from 1 to 5. The largest share "
    "moves from the last source token to the first. Then change one letter of the source."
)

st.header("Copy, reverse, sort", anchor=False, divider="gray")
st.markdown(
    "Three tasks over the same letters, with one small model each. The true source token of "
    "every target token is known, but the models do not get it."
)
fragment(draw_alignments)()
st.markdown(
    "**Alignment is not dependence.** For `copy` and `reverse` a target token depends on the one "
    "source token that it comes from. A sorted letter *comes from* one place (or from equal "
    "letters). But *which* letter is next depends on all that are not yet written. Any of them "
    "would come first if it were smaller, as long as a smaller one is possible. So a model that "
    "sorts has to use them all, whatever its attention at one step shows. A state of the encoder "
    "may contain more than its own letter. For the same reason attention can miss and the letter "
    "can still be right."
)

st.header("Self-, cross- and masked attention", anchor=False, divider="gray")
st.markdown(
    "The same formula three times. The differences are the source of queries and keys, and the "
    "mask."
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
    lead="This script prints the results above:",
)
