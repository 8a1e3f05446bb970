"""The untrained model of the chosen settings, worked out in the background and shared by all."""

import dataclasses

import streamlit as st

from attnlab.live.answers import Answers
from attnlab.live.starting_point import StartingPoint, starting_point, without_course
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.ui.core.hosting import hosted
from attnlab.ui.core.session_run import shared_programs

_ASKED = "starting_point_asked"
_MOST = 8
# Of somebody who has left; far above the time between two pictures.
_PATIENCE = 30.0


@st.cache_resource(show_spinner=False)
def _points() -> Answers:
    return Answers(most=_MOST, patience=_PATIENCE)


def _point(experiment: Experiment) -> StartingPoint:
    if not hosted():
        # They are being compiled already, for whoever is about to press Start.
        shared_programs().wait_to_begin(experiment)
    return starting_point(experiment)


def with_starting_point(snapshot: Snapshot) -> Snapshot:
    """The snapshot; before the run's own first figures with those of its untrained model."""
    if snapshot.latest is not None:
        return snapshot
    experiment = without_course(snapshot.experiment)
    before = st.session_state.get(_ASKED)
    if before not in (None, experiment):
        _points().withdraw(_point, before)
    st.session_state[_ASKED] = experiment
    future = _points().ask(_point, experiment)
    if not future.done() or future.cancelled() or future.exception() is not None:
        return snapshot
    point: StartingPoint = future.result()
    return dataclasses.replace(
        snapshot, latest=point.look, probes=point.probes, parameters=point.parameters
    )


def is_start_pending(snapshot: Snapshot) -> bool:
    """Whether the untrained model of a run that has none of its own is still worked out."""
    if snapshot.latest is not None:
        return False
    future = _points().ask(_point, without_course(snapshot.experiment))
    return not future.done()
