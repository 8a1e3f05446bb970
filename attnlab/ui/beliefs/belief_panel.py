"""The charts of the Beliefs page: exact beliefs beside those that a probe finds in the model."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    PICK,
    Plane,
    belief_colours,
    belief_table,
    corner_table,
    plane_of,
    simplex_address,
    simplex_chart,
)
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import OptionError, present
from attnlab.generators import AbstractGenerator, AbstractHiddenChain
from attnlab.inspection import TARGETS, prepare_probes, probe_sites
from attnlab.inspection.belief_probes import (
    ProbeSetup,
    SiteProbe,
    check_can_probe,
    has_beliefs,
)
from attnlab.live.jobs import JobState
from attnlab.models.sites import site_title
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.attention_panel import draw_attention
from attnlab.ui.beliefs.beside_panel import draw_beside
from attnlab.ui.beliefs.course_panel import (
    TARGET,
    add_missing,
    answer,
    draw_course,
    missing,
    note_scores,
    verdict,
)
from attnlab.ui.beliefs.gap_panel import draw_gap, draw_together
from attnlab.ui.beliefs.steering_panel import (
    BELIEF_CHART,
    chosen_belief,
    distinct_pasts,
    draw_steering,
    grid_of_beliefs,
)
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.jobs import draw_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.train.bench import Bench
from attnlab.ui.train.course import draw_over_training, result_shown
from attnlab.ui.train.cursor import shown_moment, with_starting_point, without_course

_THUMBNAIL = 120
# Fewer different points than this are drawn larger.
_SPARSE = 200
_ALL = "all"
_SETUP = "probe_setup"
_SITE, _POSITION, _CORNERS = "belief_site", "belief_position", "belief_corners"
# What the charts show, by target.
_NOUNS = {
    "belief": "beliefs",
    "next token": "next-token distributions",
    "last token": "last tokens",
    "hidden state": "hidden states",
}


def draw_beliefs(bench: Bench) -> None:
    """Draw the charts and their controls; redraw them during training and replays."""
    draw_over_training(
        bench.run,
        has_beliefs,
        "**The selected process has no hidden states.** Choose a process that has them, below or "
        "under **process**.",
        _draw,
        missing,
    )


def _draw(snapshot: Snapshot) -> None:
    experiment = snapshot.experiment
    if not has_beliefs(experiment.generator):
        st.caption(
            "The current run's process has no hidden states. Press **Start** to train on the "
            "selected process."
        )
        return
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    if snapshot.latest is None:
        st.caption(":material/hourglass_top: Preparing the run …")
        return
    controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with controls:
        target = _choose_target(experiment.generator)
    try:
        check_can_probe(experiment, target)
    except OptionError as error:
        st.caption(str(error))
        return
    setup = _setup_of(snapshot, target)
    if setup is None:
        draw_job(_SETUP, _draw_preparing, failed="Preparing the probes")
        return
    moment = shown_moment(snapshot)
    probed = result_shown("probed", setup, snapshot, moment, partial(probe_sites, setup))
    sites = probed.result
    note_scores(experiment, probed.step, sites)
    if not snapshot.active:
        add_missing(snapshot, setup)
    names = {each.site: site_title(each.site) for each in sites}
    positions = [_ALL, *range(1, experiment.length + 1)]
    # Another model has other sites, and another length other positions.
    for key, options in ((_SITE, names), (_POSITION, positions)):
        if st.session_state.get(key) not in options:
            st.session_state.pop(key, None)
    process = experiment.generator
    is_of_states = target in ("belief", "hidden state")
    outputs = process.hidden_states if is_of_states else process.vocabulary.symbols
    with controls:
        site = st.segmented_control(
            "activations after",
            list(names),
            default=sites[-1].site,
            required=True,
            format_func=names.__getitem__,
            key=_SITE,
            persist_state="session",
        )
        position = st.select_slider(
            f"after {process.position_word}",
            positions,
            key=_POSITION,
            persist_state="session",
            width=180,
        )
        corners = _choose_corners(outputs)
    chosen = next(each for each in sites if each.site == site)
    plane = plane_of(outputs, setup.targets[1], corners)
    at = slice(None) if position == _ALL else slice(int(position) - 1, int(position))
    score = chosen.trained.score if position == _ALL else chosen.trained.by_position[at][0]
    pasts, exact, count = distinct_pasts(setup, at)
    is_belief, points, beliefs = target == "belief", None, exact
    if is_belief:
        # The grid first, so that another position keeps the pick.
        grid = grid_of_beliefs(len(outputs))
        beliefs = np.vstack([grid, exact])
        texts = ["–"] * len(grid) + [process.vocabulary.render(past) for past in pasts]
        points = belief_table(plane, beliefs, texts, chosen_belief(len(beliefs)))
    noun = _NOUNS[target]
    where = "" if position == _ALL else f"At {process.position_word} {position}, "
    if probed.step == 0:
        where = f"Before training, {where[:1].lower()}{where[1:]}"
    st.markdown(answer(where, noun, names[chosen.site], score))
    left, right, curve = st.columns(3, gap="medium")
    with left:
        st.markdown(f"**Exact {noun}**")
        st.caption(
            "Each point is a test token. Its colour mixes the corner colours."
            f"{_plane_in_words(outputs, corners, position == _ALL)}"
        )
        _draw_plane(f"Exact {noun}", setup, plane, outputs, setup.targets[1], at, points)
        if is_belief and len(pasts) < count:
            st.caption(f"Only {len(pasts):,} of {count:,} different sequences have tooltips.")
    with right:
        noun = noun[0].upper() + noun[1:]
        st.markdown(f"**{noun} in the model**, step {probed.step:,}")
        st.caption("Read by an affine probe. Points keep the colours of the exact ones.")
        _draw_plane(f"{noun} in the model", setup, plane, outputs, chosen.trained.predicted, at)
    with curve:
        st.markdown("**R² over training**")
        st.caption("Dashed lines do not use the model.")
        draw_course(snapshot, names, setup)
    st.caption(verdict(sites, setup.controls))
    size = len(setup.test.sequences)
    width = sum(each.trained.probe.weight.shape[1] for each in sites)
    # Single-precision numbers for both halves of the sequences.
    megabytes = 8e-6 * width * setup.test.sequences.size
    st.caption(
        f"Probes are fitted on {size:,} sequences; scores and charts use {size:,} others. "
        f"{show_percent(setup.repeated.mean())} of the pasts in these were also fitted.",
        help="R² weights each past by how often it occurs. Its 95 % interval, of which ± is half "
        "the width, is for other sequences of the process. It says little about pasts that were "
        "not fitted if most were. "
        f"All activations together take {megabytes:.1f} MB. If they would take more than 64 "
        "MB, there are fewer sequences, but at least 20. Only models that see no later tokens can "
        "be probed, since a belief depends only on earlier ones.",
    )
    _draw_thumbnails(setup, plane, sites, names)
    draw_attention(experiment, probed.model, probed.step, setup)
    if snapshot.active:
        st.caption("Pause or finish the run to see the gap to the floor and steering.")
        return
    draw_together(experiment, target, moment.model, setup)
    draw_beside(experiment, target)
    if not is_belief:
        st.caption("Set “probe for” to **belief** to see the gap to the floor and steering.")
        return
    draw_gap(experiment, moment.model, setup, chosen)
    draw_steering(experiment, moment.model, setup, chosen, beliefs, len(beliefs) - len(exact))


def _choose_target(process: AbstractGenerator) -> str:
    draws_states = isinstance(process, AbstractHiddenChain)
    targets = [name for name in TARGETS if draws_states or name != "hidden state"]
    # Another process may not draw its hidden states.
    if st.session_state.get(TARGET) not in targets:
        st.session_state[TARGET] = targets[0]
    return st.selectbox("probe for", targets, key=TARGET, persist_state="session", width=150)


def _prepare(experiment: Experiment, target: str) -> Iterator[ProbeSetup]:
    yield prepare_probes(experiment, target)


def _setup_of(snapshot: Snapshot, target: str) -> ProbeSetup | None:
    """Return what all probes share, or None while a job prepares it."""
    of = without_course(snapshot.experiment), target
    job = job_of(_SETUP)
    if job is None or job.of != of:
        # A run that trains had its turn in the queue; its probes must not wait until it ends.
        start_job(_SETUP, partial(_prepare, *of), of=of, at_once=snapshot.active)
    return present(job_of(_SETUP)).state().latest


def _draw_preparing(state: JobState | None) -> None:
    if state is None or state.done:
        return
    st.caption(f":material/hourglass_top: Preparing the probes … {state.message}")
    if not state.running:
        draw_button("Continue", f"{_SETUP}_go_on", "resume", present(job_of(_SETUP)).start)


def _choose_corners(outputs: Sequence[str]) -> tuple[int, ...]:
    """Return the outputs at the corners of the triangle; none chosen means a principal plane."""
    if len(outputs) <= 3:
        return ()
    # Another process has other states, and another target other outputs.
    if not set(st.session_state.get(_CORNERS, ())) <= set(outputs):
        st.session_state.pop(_CORNERS)
    chosen = st.multiselect(
        "corners",
        outputs,
        max_selections=3,
        placeholder="principal components",
        key=_CORNERS,
        persist_state="session",
        width=340,
        help="Choose three as the corners of a triangle; the others are then at its centre. "
        "Without a choice, the chart shows the first two principal components.",
    )
    return tuple(outputs.index(each) for each in chosen) if len(chosen) == 3 else ()


def _plane_in_words(outputs: Sequence[str], corners: tuple[int, ...], is_all: bool) -> str:
    if len(outputs) == 3:
        return ""
    if len(outputs) == 2:
        return " Later tokens are plotted lower." if is_all else ""
    if corners:
        return f" The other {len(outputs) - 3} corners are at the centre."
    shown = f"the first two {link_to('principal components')} of {len(outputs)} dimensions"
    return f" Shown are {shown}."


def _draw_plane(
    name: str,
    setup: ProbeSetup,
    plane: Plane,
    outputs: Sequence[str],
    beliefs: np.ndarray,
    at: slice,
    points: pd.DataFrame | None = None,
) -> None:
    """Draw predictions of a probe, or its targets, in the colours of the targets."""
    address = _address(plane, beliefs, setup.targets[1], at)
    count = beliefs[:, at].shape[0] * beliefs[:, at].shape[1]
    picture, corners = pd.DataFrame({"url": [address]}), corner_table(plane)
    draw_chart(
        simplex_chart(picture, corners, points, states=tuple(outputs)),
        name=name,
        alt=f"{name}: {count:,} points, one for each token, in the colours of the exact ones.",
        key=None if points is None else BELIEF_CHART,
        on_select="ignore" if points is None else "rerun",
        selection_mode=None if points is None else PICK,
    )


def _address(plane: Plane, beliefs: np.ndarray, exact: np.ndarray, at: slice, **size: int) -> str:
    shown = plane._replace(by_position=plane.by_position and beliefs[:, at].shape[1] > 1)
    colours = belief_colours(exact[:, at]).reshape(-1, 3)
    points = shown.of(beliefs[:, at])
    is_sparse = len(np.unique(points.round(3), axis=0)) < _SPARSE
    return simplex_address(points, colours, dot=6 if is_sparse else 2, **size)


def _draw_thumbnails(
    setup: ProbeSetup, plane: Plane, sites: Sequence[SiteProbe], names: Mapping[str, str]
) -> None:
    """Draw a small chart for every site."""
    with st.container(horizontal=True, gap="medium", key="belief_sites"):
        for each in sites:
            beliefs = each.trained.predicted
            address = kept_result(
                f"thumbnail {each.site}",
                beliefs,
                plane.names,
                partial(_address, plane, beliefs, setup.targets[1], slice(None), side=_THUMBNAIL),
            )
            with st.container(width=_THUMBNAIL, gap="xxsmall"):
                alt = f"The same chart for the activations after {names[each.site]}"
                st.image(address, width=_THUMBNAIL, alt=alt)
                st.caption(
                    f"{names[each.site]}: R² {each.trained.score.r2:.2f} "
                    f"(untrained {each.untrained.r2:.2f})"
                )
