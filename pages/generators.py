"""Generators: the process behind the data, and how well the best predictor does."""

from typing import Any

import streamlit as st

from attnlab.optimum import agreement, counted, dependence, frequencies, ladder, optimum
from attnlab.ui.core.figures import draw_figures_status, figure
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.generators.optimum_panel import (
    draw_dependence,
    draw_enumeration,
    draw_ladder,
    draw_optimum,
)
from attnlab.ui.generators.process_panel import draw_process, draw_rule_tables
from attnlab.ui.generators.sample_panel import (
    draw_agreement,
    draw_frequencies,
    draw_sample,
    sample_seed,
)
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Generators", anchor=False)
st.markdown(
    "A **generator** makes the sequences that models learn from. Its rule is known, so you can "
    "see what can be learned before training. Choose a process in the sidebar and change its "
    "numbers."
)

st.header("The rule", anchor=False)
process = draw_process()
if process is None:
    st.stop()
generator, length = process
draw_rule_tables(generator)

vocab = generator.vocabulary.size
questions: list[tuple[Any, ...]] = [
    (counted, generator, length, sample_seed()),
    (frequencies, generator, length),
    (optimum, generator, length),
    (agreement, generator, length),
    (ladder, generator, length),
    (dependence, generator, length),
]
sample, known, best, alike, baselines, depends = (figure(*question) for question in questions)
draw_figures_status(*questions)

st.header("Samples", anchor=False)
draw_sample(generator, sample)

st.header("Token frequencies", anchor=False)
draw_frequencies(generator, known, sample)

st.header("Dependence by lag", anchor=False)
word = generator.position_word
draw_agreement(alike, word)

st.header(f"Bayes loss and accuracy by {word}", anchor=False)
draw_optimum(best, vocab, word)
draw_enumeration(generator, length, best)

st.header("Baselines", anchor=False)
draw_ladder(baselines, word)

st.header(f"Which {word}s matter", anchor=False)
draw_dependence(depends, word)

draw_in_code(
    "import jax.random as jr\n\n"
    f"from attnlab.generators import {type(generator).__name__}, sample\n"
    "from attnlab.optimum import agreement, dependence, frequencies, ladder, optimum\n\n"
    f"generator = {generator!r}\n"
    f"length = {length}\n"
    "for row in sample(generator, key=jr.key(0), size=8, length=length + 1):\n"
    "    print(generator.vocabulary.render(row))\n"
    "print(frequencies(generator, length).days[-1], agreement(generator, length).values)\n"
    "print(optimum(generator, length).final)\n"
    "for baseline in ladder(generator, length):\n"
    "    print(baseline.name, baseline.best)\n"
    "print(dependence(generator, length).replacement[-1])",
    lead="This script prints the results above:",
)
