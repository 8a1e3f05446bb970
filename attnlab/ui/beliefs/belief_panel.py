"""The picture of the Beliefs page: exact beliefs beside those that a probe finds in the model."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    PICK,
    Plane,
    Scale,
    belief_colours,
    belief_table,
    corner_table,
    distinct,
    level_table,
    lines_chart,
    plane_of,
    series_table,
    simplex_address,
    simplex_chart,
)
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import OptionError
from attnlab.inspection import BeliefGap, belief_gap, prepare_probes, probe_all_sites, probe_sites
from attnlab.inspection.belief_probes import (
    LAST_TOKEN,
    NEXT_TOKEN,
    ProbeSetup,
    SiteProbe,
    has_beliefs,
)
from attnlab.inspection.probes import Score, activations
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.ui.beliefs.steering_panel import (
    BELIEF_CHART,
    chosen_belief,
    distinct_pasts,
    draw_steering,
)
from attnlab.ui.controls.form_state import read_form
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result, session
from attnlab.ui.core.uncertainty import OVER_TEST_SEQUENCES
from attnlab.ui.train.bench import Bench
from attnlab.ui.train.cursor import Moment, is_replaying, shown_moment, with_starting_point
from attnlab.ui.train.welcome import draw_preset_choice

_SECONDS = 0.5
# While the run trains, probes take at most this share of the time.
_SHARE = 0.2
_COURSE = "belief_course"
# Models whose scores are drawn against the step.
_MOST_MODELS = 16
_CHART_HEIGHT, _THUMBNAIL = 300, 120
_ALL = "all"
_SITE, _POSITION = "belief_site", "belief_position"
# R² from which the next-token distribution counts as giving the belief.
_DETERMINED = 0.99


def draw_beliefs(bench: Bench) -> None:
    """Draw the pictures and their controls; redraw them during training and replays."""
    form = read_form()
    if not isinstance(form, OptionError) and not has_beliefs(form.generator):
        presets = {n: p for n, p in PRESETS.items() if has_beliefs(p.experiment.generator)}
        draw_preset_choice(
            "**The controls describe a process without hidden states.** Choose one below or under "
            "**process**. The current run stays until you press Start.",
            presets,
        )
        return
    draw_while(
        lambda: _moves(bench.run.snapshot()),
        lambda: _draw(bench.run.snapshot()),
        key="beliefs",
        seconds=_SECONDS,
    )


def _moves(snapshot: Snapshot) -> tuple[bool, ...]:
    reasons = snapshot.active, is_replaying(), bool(_missing(snapshot))
    return reasons if any(reasons) else ()


def _draw(snapshot: Snapshot) -> None:
    experiment = snapshot.experiment
    if not has_beliefs(experiment.generator):
        st.caption("The current run's process has no hidden states. Press **Start** to train.")
        return
    with st.spinner("Building the untrained model …"):
        snapshot = with_starting_point(snapshot)
    if snapshot.latest is None:
        st.caption(":material/hourglass_top: Preparing the run …")
        return
    try:
        with st.spinner("Following the exact beliefs …"):
            setup = _setup_of(experiment)
    except OptionError as error:
        st.caption(str(error))
        return
    moment = shown_moment(snapshot)
    probed = _probed(snapshot, setup, moment)
    sites = probed.sites
    _note_scores(experiment, probed.step, sites)
    if not snapshot.active:
        _add_missing(snapshot, setup)
    names = {each.site: site_title(each.site) for each in sites}
    positions = [_ALL, *range(1, experiment.length + 1)]
    # Another model has other sites, and another length other positions.
    for key, options in ((_SITE, names), (_POSITION, positions)):
        if st.session_state.get(key) not in options:
            st.session_state.pop(key, None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        site = st.segmented_control(
            "activations after",
            list(names),
            default=sites[-1].site,
            required=True,
            format_func=names.__getitem__,
            key=_SITE,
            persist_state="session",
        )
        word = experiment.generator.position_word
        position = st.select_slider(
            f"after {word}",
            positions,
            key=_POSITION,
            persist_state="session",
            width=180,
        )
    chosen = next(each for each in sites if each.site == site)
    plane = plane_of(experiment.generator.hidden_states, setup.test.beliefs)
    at = slice(None) if position == _ALL else slice(int(position) - 1, int(position))
    score = chosen.trained.score if position == _ALL else chosen.trained.by_position[at][0]
    pasts, beliefs = distinct_pasts(setup, at)
    render = experiment.generator.vocabulary.render
    points = belief_table(
        plane, beliefs, [render(past) for past in pasts], chosen_belief(len(pasts))
    )
    left, right, curve = st.columns(3, gap="medium")
    with left:
        st.markdown("**Exact beliefs**")
        st.caption("Each point is the belief after one past.")
        _draw_plane("Exact beliefs", setup, plane, setup.test.beliefs, at, points)
    with right:
        st.markdown(f"**Beliefs in the model**, step {probed.step:,}")
        st.caption(f"Affine map of activations, R² {show_score(score)}.")
        _draw_plane("Beliefs in the model", setup, plane, chosen.trained.predicted, at)
    with curve:
        st.markdown("**R² over training**")
        st.caption("Dashed: what needs no model.")
        _draw_course(experiment, names, setup)
    st.caption(_verdict(sites, setup.controls))
    size = len(setup.test.sequences)
    st.caption(f"Probes are fitted on {size:,} sequences, and scored and drawn on {size:,} others.")
    _draw_thumbnails(setup, plane, sites, names)
    if snapshot.active:
        st.caption("More follows when the run pauses or ends: the gap, and steering.")
        return
    _draw_gap(experiment, moment.model, setup, chosen)
    draw_steering(experiment, moment.model, setup, chosen, beliefs)


def _setup_of(experiment: Experiment) -> ProbeSetup:
    return kept_result("probe_setup", None, experiment, partial(prepare_probes, experiment))


class _Probed(NamedTuple):
    """The probes of a model, its step, and until when they are shown while the run trains."""

    sites: tuple[SiteProbe, ...]
    step: int
    of: ProbeSetup
    model: AbstractModel
    until: float


def _probed(snapshot: Snapshot, setup: ProbeSetup, moment: Moment) -> _Probed:
    """Return the probes of the shown model or, while the run trains, of a recent one."""
    kept: _Probed | None = session().kept.get("probed")
    if kept is not None and kept.of is setup:
        is_recent = snapshot.active and moment.is_now and time.monotonic() < kept.until
        if is_recent or kept.model is moment.model:
            return kept
    began = time.monotonic()
    sites = probe_sites(setup, moment.model)
    took = time.monotonic() - began
    until = began + took / _SHARE
    found = session().kept["probed"] = _Probed(sites, moment.model_step, setup, moment.model, until)
    return found


def site_title(site: str) -> str:
    """Return the name of a site on the page: the part that it follows, with layers from 1.

    >>> site_title("attention.0"), site_title("mlp.1"), site_title("final")
    ('attention 1', 'MLP 2', 'output')
    """
    part, _, layer = site.partition(".")
    name = {"mlp": "MLP", "final": "output", "conv": "convolution"}.get(part, part)
    return f"{name} {int(layer) + 1}" if layer.isdigit() else name


def show_score(score: Score) -> str:
    """Return R² with the half-width of its interval."""
    if np.isnan(score.r2):
        return "not defined"
    return show_measured(score.r2, (score.high - score.low) / 2)


def _draw_plane(
    name: str,
    setup: ProbeSetup,
    plane: Plane,
    beliefs: np.ndarray,
    at: slice,
    points: pd.DataFrame | None = None,
) -> None:
    """Draw beliefs in the colours of the exact ones."""
    address = _address(plane, beliefs, setup.test.beliefs, at)
    count = beliefs[:, at].shape[0] * beliefs[:, at].shape[1]
    draw_chart(
        simplex_chart(pd.DataFrame({"url": [address]}), corner_table(plane), points),
        name=name,
        alt=f"{name}: {count:,} points, one for each past, coloured by the exact belief.",
        key=None if points is None else BELIEF_CHART,
        on_select="ignore" if points is None else "rerun",
        selection_mode=None if points is None else PICK,
    )


def _address(plane: Plane, beliefs: np.ndarray, exact: np.ndarray, at: slice, **size: int) -> str:
    shown = plane._replace(by_position=plane.by_position and beliefs[:, at].shape[1] > 1)
    colours = belief_colours(exact[:, at]).reshape(-1, 3)
    return simplex_address(shown.of(beliefs[:, at]), colours, **size)


def _course_of(experiment: Experiment) -> dict[int, dict[str, float]]:
    """Return R² by step and site, for the models of this experiment that were probed."""
    kept = session().kept.get(_COURSE)
    if kept is None or kept[0] != experiment:
        session().kept[_COURSE] = kept = (experiment, {})
    return kept[1]


def _note_scores(experiment: Experiment, step: int, sites: Sequence[SiteProbe]) -> None:
    scores = {each.site: float(each.trained.score.r2) for each in sites}
    _course_of(experiment)[step] = scores


def _missing(snapshot: Snapshot) -> list[tuple[int, AbstractModel]]:
    """Return the checkpoints that are not probed yet; none while the run trains."""
    kept = snapshot.history.checkpoints
    if snapshot.active or not has_beliefs(snapshot.experiment.generator):
        return []
    known = _course_of(snapshot.experiment)
    chosen = kept[:: -(-len(kept) // _MOST_MODELS) or 1]
    return [(step, model) for step, model in chosen if step not in known]


def _add_missing(snapshot: Snapshot, setup: ProbeSetup) -> None:
    """Probe one checkpoint, so that the page stays quick."""
    for step, model in _missing(snapshot)[:1]:
        _note_scores(snapshot.experiment, step, probe_sites(setup, model))


def _draw_course(experiment: Experiment, names: Mapping[str, str], setup: ProbeSetup) -> None:
    course = sorted(_course_of(experiment).items())
    steps = [step for step, _ in course]
    table = pd.concat(
        [
            series_table(name, steps, [scores[site] for _, scores in course])
            for site, name in names.items()
        ]
    )
    known = level_table({name: setup.controls[name].r2 for name in (NEXT_TOKEN, LAST_TOKEN)}, steps)
    draw_chart(
        lines_chart(
            table,
            known,
            x=Scale("step", ",d", ",d"),
            y=Scale("R²", ".3f", zero=False),
            series=distinct(names.values()),
            noun="activations",
            height=_CHART_HEIGHT,
        ),
        name="R² over training",
        alt=f"R² of the belief at {len(names)} sites over {len(steps)} steps, beside its controls.",
    )


def _verdict(sites: Sequence[SiteProbe], controls: Mapping[str, Score]) -> str:
    """Return what a high R² means here, from the controls."""
    law, last = controls[NEXT_TOKEN].r2, controls[LAST_TOKEN].r2
    untrained = max(each.untrained.r2 for each in sites)
    text = (
        f"The same probe of the untrained model gives R² {untrained:.2f} "
        f"at best, the last token alone {last:.2f}. "
    )
    if law > _DETERMINED:
        return text + (
            "The next-token distribution alone gives the belief, so a high R² shows no more than "
            "good predictions."
        )
    return text + (
        f"The exact next-token distribution gives {law:.2f}, so a higher R² shows more than good "
        "predictions."
    )


def _draw_thumbnails(
    setup: ProbeSetup, plane: Plane, sites: Sequence[SiteProbe], names: Mapping[str, str]
) -> None:
    """Draw a small picture of every site."""
    with st.container(horizontal=True, gap="medium", key="belief_sites"):
        for each in sites:
            beliefs = each.trained.predicted
            address = kept_result(
                f"thumbnail {each.site}",
                beliefs,
                None,
                partial(_address, plane, beliefs, setup.test.beliefs, slice(None), side=_THUMBNAIL),
            )
            with st.container(width=_THUMBNAIL, gap="xxsmall"):
                st.image(address, width=_THUMBNAIL)
                st.caption(
                    f"{names[each.site]}: R² {each.trained.score.r2:.2f} "
                    f"(untrained {each.untrained.r2:.2f})"
                )


def _draw_gap(
    experiment: Experiment,
    model: AbstractModel,
    setup: ProbeSetup,
    chosen: SiteProbe,
) -> None:
    def split() -> BeliefGap:
        rows = activations(model, setup.test.sequences, [chosen.site])[chosen.site]
        return belief_gap(experiment.generator, model, chosen.trained.probe, rows, setup.test)

    gap = kept_result("belief_gap", model, (id(setup), chosen.site), split)
    together = kept_result("all_sites", model, id(setup), lambda: probe_all_sites(setup, model))
    st.caption(f"All activations together give R² {show_score(together.score)}.")
    st.header("Where the gap is", anchor=False)
    with st.container(horizontal=True, gap="medium", key="belief_gap"):
        for label, value, stderr, explanation in (
            ("gap to the floor (nats)", gap.gap, gap.gap_stderr, "Loss of the model minus floor."),
            (
                "not represented (nats)",
                gap.not_represented,
                gap.not_represented_stderr,
                "What a prediction from the probed belief would lose.",
            ),
            (
                "represented, not used (nats)",
                gap.not_used,
                gap.not_used_stderr,
                "What the model loses on top of that; negative if it knows more than the probe.",
            ),
        ):
            draw_metric(
                label,
                show_measured(value, stderr, most_places=4),
                f"{explanation} Mean over all positions; {OVER_TEST_SEQUENCES}.",
            )
