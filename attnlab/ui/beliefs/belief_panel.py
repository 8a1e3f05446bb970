"""The tab “What it believes”: the controls of the film's beliefs, and what probes find."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import present
from attnlab.film import NOUNS, probed_outputs
from attnlab.generators import AbstractGenerator
from attnlab.inspection.belief_probes import check_can_probe, has_beliefs
from attnlab.models.sites import site_title
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.lesson import draw_lesson
from attnlab.ui.beliefs.planes import draw_thumbnails, targets_of
from attnlab.ui.beliefs.scores import answer, draw_course, verdict
from attnlab.ui.beliefs.steering import draw_steering
from attnlab.ui.beliefs.what_it_knows import draw_attention, draw_beside, draw_gap, draw_together
from attnlab.ui.core.glossary import link_to
from attnlab.ui.train.course import draw_over_training, result_shown, with_model
from attnlab.ui.train.cursor import follow_shown_step, shown_moment
from attnlab.ui.train.film_subject import (
    ALL_POSITIONS,
    CORNERS,
    POSITION,
    SITE,
    TARGET,
    belief_choice,
    measured_over_training,
    not_measured,
    subject_of_page,
    targets_of_process,
)
from attnlab.ui.train.tabs import BELIEFS, TABS
from attnlab.ui.train.training_page import Bench


def draw_beliefs(bench: Bench) -> None:
    """Draw what probes find, and the controls of the film's beliefs; redraw during training."""
    st.markdown(
        f"The process has {link_to('hidden state', 'hidden states')}. The {link_to('belief')} is "
        "the distribution over them, given the tokens so far."
    )
    draw_over_training(bench.run, TABS[BELIEFS], _draw, not_measured)
    if has_beliefs(bench.run.experiment.generator):
        draw_lesson(bench.run.experiment.generator)


def _draw(snapshot: Snapshot) -> None:
    snapshot = with_model(snapshot)
    experiment, process = snapshot.experiment, snapshot.experiment.generator
    names = {site: site_title(site) for site in present(present(snapshot.latest).model).sites}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        target = _choose_target(process)
        check_can_probe(experiment, target)
        _choose_place(names, experiment)
        _choose_corners(probed_outputs(process, target))
    subject = present(subject_of_page(snapshot))
    setup: Any = subject.of
    choice = belief_choice(experiment, tuple(names))
    moment = shown_moment(snapshot)
    probed = result_shown(subject.name, setup, snapshot, moment, subject.measure)
    sites, step = probed.result, probed.step
    course = measured_over_training(snapshot, subject)
    course.results[step] = subject.keep(sites)
    chosen = next(each for each in sites if each.site == (choice.site or sites[-1].site))
    score, where = chosen.trained.score, ""
    if choice.position is not None:
        score = chosen.trained.by_position[choice.position - 1]
        where = f"At {process.position_word} {choice.position}, "
    if step == 0:
        where = f"Before training, {where[:1].lower()}{where[1:]}"
    st.markdown(answer(where, NOUNS[target], names[chosen.site], score))
    left, right = st.columns(2, gap="medium")
    with left:
        draw_course(course, names, setup.controls, experiment.training.steps)
    with right:
        targets = targets_of(setup, probed_outputs(process, target), choice)
        draw_thumbnails(targets, sites, names)
    st.caption(verdict(sites, setup.controls))
    size = len(setup.test.sequences)
    width = sum(each.trained.probe.weight.shape[1] for each in sites)
    # Single-precision numbers for both halves of the sequences.
    megabytes = 8e-6 * width * setup.test.sequences.size
    st.caption(
        f"Probes are fitted on {size:,} sequences; scores and charts use {size:,} others. "
        f"{show_percent(setup.repeated.mean())} of the pasts in these were also fitted.",
        help="R² weights each past by how often it occurs. ± is one standard error over other "
        "sequences of the process. It says little about pasts that were not fitted if most were. "
        f"All activations together take {megabytes:.1f} MB. If they would take more than 64 "
        "MB, there are fewer sequences, but at least 20. Only models that see no later tokens can "
        "be probed, since a belief depends only on earlier ones.",
    )
    draw_attention(experiment, probed.model, step, setup)
    if snapshot.active:
        st.caption("Pause or finish the run to see the gap to the floor and steering.")
        return
    draw_together(experiment, target, moment.model, setup)
    draw_beside(experiment, target)
    if target != "belief":
        st.caption("Set “probe for” to **belief** to see the gap to the floor and steering.")
        return
    draw_gap(experiment, moment.model, setup, chosen)
    draw_steering(experiment, moment.model, setup, chosen, targets)


def _choose_target(process: AbstractGenerator) -> str:
    targets = targets_of_process(process)
    # Another process may not draw its hidden states.
    if st.session_state.get(TARGET) not in targets:
        st.session_state[TARGET] = targets[0]
    return st.selectbox(
        "probe for",
        targets,
        key=TARGET,
        on_change=follow_shown_step,
        persist_state="session",
        width=150,
    )


def _choose_place(names: dict[str, str], experiment: Experiment) -> None:
    """Draw the choices of site and position, at first the last site and all positions."""
    positions = [ALL_POSITIONS, *range(1, experiment.length + 1)]
    # Another model has other sites, and another length other positions.
    for key, options in ((SITE, names), (POSITION, positions)):
        if st.session_state.get(key) not in options:
            st.session_state.pop(key, None)
    st.segmented_control(
        "activations after",
        list(names),
        default=list(names)[-1],
        required=True,
        format_func=names.__getitem__,
        key=SITE,
        on_change=follow_shown_step,
        persist_state="session",
    )
    st.select_slider(
        f"after {experiment.generator.position_word}",
        positions,
        key=POSITION,
        on_change=follow_shown_step,
        width=180,
        persist_state="session",
    )


def _choose_corners(outputs: Sequence[str]) -> None:
    """Draw the choice of the outputs at the corners; without one it is a principal plane."""
    if len(outputs) <= 3:
        return
    # Another process has other states, and another target other outputs.
    if not set(st.session_state.get(CORNERS, ())) <= set(outputs):
        st.session_state.pop(CORNERS)
    st.multiselect(
        "corners",
        outputs,
        max_selections=3,
        placeholder="principal components",
        key=CORNERS,
        on_change=follow_shown_step,
        width=340,
        help="Choose three as the corners of a triangle; the others are then at its centre. "
        "Without a choice, the picture shows the first two principal components.",
        persist_state="session",
    )
