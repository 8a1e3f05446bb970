"""Processes: the rule behind the data, and how well the best predictor does."""

import streamlit as st

from attnlab.configuration.options import present
from attnlab.generators import NO_LAW, AbstractHiddenChain
from attnlab.optimum import counted
from attnlab.runs.script import made_by
from attnlab.ui.core.figures import draw_figures_status, figure
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.generators.optimum_panel import (
    draw_dependence,
    draw_entropy_rate,
    draw_enumeration,
    draw_ladder,
    draw_optimum,
)
from attnlab.ui.generators.process_panel import (
    draw_formula,
    draw_laws,
    draw_process,
    draw_rule_tables,
)
from attnlab.ui.generators.sample_panel import (
    draw_agreement,
    draw_frequencies,
    draw_sample,
    sample_seed,
)
from attnlab.ui.generators.sections import NEED_LAW, SECTION_KEY, SECTIONS
from attnlab.ui.lessons.kit import beside
from attnlab.ui.shell import ensure_shell

ensure_shell()
# Samples come first, but the process is only known from the controls beside them.
samples, story = beside(
    "A **process** makes the sequences that models learn from. Its rule is known, so you can "
    "see before training what a model can learn.",
    title="Processes",
)
table, uses = samples.container(), samples.container(horizontal=True)
with story:
    process = draw_process(uses)
if process is None:
    st.stop()
generator, length = process
word = generator.position_word
section = story.segmented_control(
    "section",
    list(SECTIONS),
    required=True,
    key=SECTION_KEY,
    label_visibility="collapsed",
    persist_state="session",
)
needs_law = section in NEED_LAW and not generator.has_law
functions = () if needs_law else SECTIONS[present(section)]
questions = [
    (counted, generator, length, sample_seed()),
    *((function, generator, length) for function in functions),
]
sample, *results = (figure(*question) for question in questions)
with table:
    draw_figures_status(*questions)
    draw_sample(generator, sample)
with story:
    if needs_law:
        st.info(f"{NO_LAW}.", icon=":material/help:")
    elif section == "Formula":
        draw_formula(generator, length)
        draw_rule_tables(generator)
    elif section == "Frequencies":
        draw_frequencies(generator, results[0], sample)
        st.header("Dependence by lag", anchor=False)
        draw_agreement(results[1], word)
    elif section == "Best possible":
        draw_optimum(results[0], generator)
        draw_enumeration(generator, length, results[0])
        if isinstance(generator, AbstractHiddenChain):
            draw_entropy_rate(generator)
        st.header("Baselines", anchor=False)
        draw_ladder(results[1], word)
    elif section == "What matters":
        draw_dependence(results[0], word)
    else:
        draw_laws(results[0])

draw_in_code(
    "import jax.random as jr\n\n"
    f"from attnlab.generators import {type(generator).__name__}, sample\n"
    "from attnlab.optimum import agreement, baselines_of, dependence, frequencies, optimum\n\n"
    f"generator = {made_by(generator)}\n"
    f"length = {length}\n"
    "for row in sample(generator, key=jr.key(0), size=8, length=length + 1):\n"
    "    print(generator.vocabulary.render(row))\n"
    "print(frequencies(generator, length).days[-1], agreement(generator, length).values)\n"
    "print(optimum(generator, length).final)\n"
    "for baseline in baselines_of(generator, length):\n"
    "    print(baseline.name, baseline.best)\n"
    + "print(dependence(generator, length).replacement[-1])"
    * generator.has_law,
    lead="This script prints the results of all sections, without the laws:",
)
