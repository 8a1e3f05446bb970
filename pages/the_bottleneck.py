"""The bottleneck: what a state of fixed size can pass on, and why attention was invented."""

import streamlit as st

from attnlab.ui.core.fragments import draw_in_code, fragment
from attnlab.ui.lessons.alignment_panel import draw_alignments, draw_maps
from attnlab.ui.lessons.bottleneck_panel import draw_reversed, draw_sweep
from attnlab.ui.lessons.decoder_step_panel import draw_step
from attnlab.ui.lessons.kit import choose_section
from attnlab.ui.shell import ensure_shell

# By section: the prefix of the keys of its controls, and the function that draws it.
_SECTIONS = {
    "Cards": ("match_", draw_sweep),
    "Letters backwards": ("reversed_", draw_reversed),
    "One decoder step": ("decoder_", draw_step),
    "Copy, reverse, sort": ("align_", draw_alignments),
    "Kinds of attention": ("maps_", draw_maps),
}

ensure_shell()
st.title("The bottleneck", anchor=False)
st.markdown(
    "The first translation networks passed only the encoder's **last state** to the decoder. "
    "Attention removes this bottleneck: at every step the decoder looks at **all** states."
)
prefixes = {name: prefix for name, (prefix, _) in _SECTIONS.items()}
section = choose_section(prefixes, key="bottleneck_section")
# Its key includes the section: otherwise a late message of one could arrive in another.
fragment(_SECTIONS[section][1], key=f"bottleneck_{_SECTIONS[section][0]}")()

draw_in_code(
    "from attnlab.lessons.bottleneck import bits_of, bottleneck_rows, swept\n"
    "from attnlab.lessons.small_models import (\n"
    "    aligning, decoder_steps, share_aligned, small_model, stepping, write_target\n"
    ")\n\n"
    "for family in ('rnn-bottleneck', 'rnn-attention'):\n"
    "    row = bottleneck_rows()[swept(family, hand=10, width=64)]\n"
    "    print(family, row.exact_match)\n"
    "print(bits_of(row.experiment.generator), 'bits')\n\n"
    "step = decoder_steps(small_model(stepping()).model, (5, 0, 3, 1, 4))[0]\n"
    "print(step.scores, step.pattern, step.context, step.next_state)\n\n"
    "found = write_target(aligning('reverse', 'encoder-decoder'), (5, 1, 7, 3, 1, 2))\n"
    "print(share_aligned(found.maps['cross'].pattern, found.alignment))",
    lead="This script prints results of all sections:",
)
