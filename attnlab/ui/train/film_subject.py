"""What the page's film shows beside the sequence, and what is measured of the models for it."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from attnlab.film import (
    BeliefChoice,
    Subject,
    probed_outputs,
    shipped_film,
    subject_data,
    subject_of,
)
from attnlab.generators import AbstractGenerator, AbstractHiddenChain
from attnlab.inspection import references_of
from attnlab.inspection.belief_probes import TARGETS, has_beliefs
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import Pending, figure
from attnlab.ui.core.session import session
from attnlab.ui.train.course import Course, result_shown
from attnlab.ui.train.cursor import shown_moment, without_course

# Keys of the controls that choose which beliefs are shown.
TARGET, SITE, POSITION = "belief_target", "belief_site", "belief_position"
CORNERS = "belief_corners"
ALL_POSITIONS = "all"
_KEY = "film_subject"


def targets_of_process(process: AbstractGenerator) -> list[str]:
    """Return what a probe may read of a process, the belief first."""
    draws_states = isinstance(process, AbstractHiddenChain)
    return [name for name in TARGETS if draws_states or name != "hidden state"]


def belief_choice(experiment: Experiment, sites: tuple[str, ...]) -> BeliefChoice:
    """Return the choice of the controls, and the default for what does not fit the experiment."""
    state = st.session_state
    target = state.get(TARGET, "belief")
    target = target if target in targets_of_process(experiment.generator) else "belief"
    outputs = probed_outputs(experiment.generator, target)
    position, site = state.get(POSITION, ALL_POSITIONS), state.get(SITE, "")
    is_one = isinstance(position, int) and position <= experiment.length
    corners = tuple(outputs.index(each) for each in state.get(CORNERS, ()) if each in outputs)
    return BeliefChoice(
        target=target,
        site=site if site in sites else "",
        position=position if is_one else None,
        corners=corners if len(corners) == 3 < len(outputs) else (),
    )


def subject_of_page(snapshot: Snapshot) -> Subject | None:
    """Return what the film of a run shows beside the sequence, if there is such a thing.

    Raises:
        Pending: If it is not known yet.
    """
    if snapshot.latest is None or snapshot.latest.model is None:
        return None
    experiment = without_course(snapshot.experiment)
    of = experiment, belief_choice(experiment, snapshot.latest.model.sites)
    kept = session().kept
    if kept.get(_KEY, (None,))[0] != of:
        kept[_KEY] = of, subject_of(*of, compute=_when_known)
    return kept[_KEY][1]


def _when_known(function: Callable[..., Any], *arguments: Any) -> Any:
    found = figure(function, *arguments)
    if found is None:
        what = "predictions" if function is references_of else "beliefs"
        raise Pending(f"Computing the exact {what} …")
    return found


def measured_over_training(snapshot: Snapshot, subject: Subject) -> Course[Any]:
    """Return what a film's subject keeps of each model, by step."""
    # Another site or position needs no other measurements.
    target = belief_choice(snapshot.experiment, ()).target
    return Course(f"{_KEY}_measured", snapshot, (subject.name, target))


def not_measured(snapshot: Snapshot) -> Sequence[tuple[int, AbstractModel]]:
    """Return the kept models that the film's subject has yet to measure, by step."""
    with contextlib.suppress(Pending):
        if (subject := subject_of_page(snapshot)) is not None:
            return measured_over_training(snapshot, subject).missing()
    return ()


def subject_of_film(snapshot: Snapshot) -> dict[str, Any]:
    """Return the subject of the page's film, with the newest result or, at rest, with all."""
    try:
        subject = subject_of_page(snapshot)
    except Pending as pending:
        # The truth is known without training.
        shipped = shipped_film(snapshot.experiment) or {}
        if "subject" in shipped and belief_choice(snapshot.experiment, ()) == BeliefChoice():
            return {"subject": shipped["subject"], "measured": []}
        # Beliefs come first in the picture, losses last.
        is_first = has_beliefs(snapshot.experiment.generator)
        return {"subject": {"name": "waiting", "words": str(pending)}} if is_first else {}
    if subject is None:
        return {}
    known = measured_over_training(snapshot, subject).results
    if not known:
        _measure_shown(snapshot, subject)
    # The browser keeps earlier ones.
    newest = {max(known): known[max(known)]}
    return subject_data(subject, newest if snapshot.active else known)


def measure_some(snapshot: Snapshot) -> None:
    """Measure the shown model, and at rest some others, for the film's subject."""
    with contextlib.suppress(Pending):
        if (subject := subject_of_page(snapshot)) is not None:
            _measure_shown(snapshot, subject)
            course = measured_over_training(snapshot, subject)
            course.compute_some(lambda _, model: subject.keep(subject.measure(model)))


def _measure_shown(snapshot: Snapshot, subject: Subject) -> None:
    shown = result_shown(
        subject.name, subject.of, snapshot, shown_moment(snapshot), subject.measure
    )
    results = measured_over_training(snapshot, subject).results
    results[shown.step] = subject.keep(shown.result)
