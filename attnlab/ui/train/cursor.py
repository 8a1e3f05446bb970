"""The one step that every panel of the Train page shows."""

import bisect
from typing import NamedTuple

import streamlit as st

from attnlab.charts import HOVER
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.loop import schedule

NOW = "now"
LOSS_CHART = "loss_chart"
# `_REPLAYED` is the step that a replay is at, if there is one, and `NOW` once it is over. The
# slider follows it: what a browser sends of a slider that moves by itself is where it stood a
# moment ago.
_SHOWN, _REPLAYED = "shown_step", "replayed_step"


class Moment(NamedTuple):
    """A run at one step: its test there, and the model that was kept at that step or before.

    `is_now` for the newest step, which moves while the run trains.
    """

    step: int
    evaluation: Evaluation
    model: AbstractModel
    model_step: int
    is_now: bool


def models_before(snapshot: Snapshot, moment: Moment) -> dict[int, AbstractModel]:
    """The models of the run that were kept before that of the moment, by step."""
    return {step: model for step, model in snapshot.history.checkpoints if step < moment.model_step}


def draw_scrubber(snapshot: Snapshot) -> None:
    """The slider through the run: a step that is shown everywhere, or now."""
    # All steps of the plan from the first moment on, so that the slider never jumps.
    planned = schedule(snapshot.experiment.training.steps).checkpoints
    kept = {step for step, _ in snapshot.history.checkpoints}
    options = [*sorted(kept.union(s for s in planned if s > snapshot.step)), NOW]
    if st.session_state.get(_SHOWN, NOW) not in options:
        st.session_state[_SHOWN] = NOW
    st.select_slider(
        "shown step",
        options,
        # Where a slider stands in a browser that has heard nothing else.
        value=NOW,
        key=_SHOWN,
        persist_state="session",
        format_func=lambda step: step if step == NOW else f"{step:,}",
        disabled=is_replaying(),
        label_visibility="collapsed",
        help="Scrub through training, or point at a step of the chart: all panels show that step. "
        "At “now” they follow the run.",
    )


def draw_replay(snapshot: Snapshot) -> None:
    """The button that plays the run's history through the slider, or the one that stops it.

    They are two, since the message of a timer may take a click along that is then sent again by
    itself: one that both begins and stops would do both.
    """
    # A place for one of them, where the other does not stay until all is drawn.
    with st.container(key="run_replay", width="content"), st.empty():
        if is_replaying():
            st.button(
                "Stop", key="replay_stop", icon=":material/pause:", on_click=_stop_replay, width=112
            )
        else:
            st.button(
                "Replay",
                key="replay_begin",
                icon=":material/play_arrow:",
                disabled=snapshot.active or len(snapshot.history.checkpoints) < 2,
                on_click=_begin_replay,
                args=(snapshot,),
                width=112,
            )


def is_replaying() -> bool:
    """Whether the shown step moves by itself."""
    return _REPLAYED in st.session_state


def advance_replay(snapshot: Snapshot) -> None:
    """One step of a replay, from each kept model to the next, and then to now.

    It has ended when the browser has heard of that.
    """
    if not is_replaying():
        return
    at = st.session_state[_REPLAYED]
    if snapshot.active or (at == NOW and st.session_state.get(_SHOWN, NOW) == NOW):
        del st.session_state[_REPLAYED]
        at = NOW
    elif at != NOW:
        kept = (step for step, _ in snapshot.history.checkpoints if step > at)
        at = st.session_state[_REPLAYED] = next(kept, NOW)
    st.session_state[_SHOWN] = at


def _begin_replay(snapshot: Snapshot) -> None:
    if is_replaying():
        return
    at = st.session_state.get(_SHOWN, NOW)
    first, _ = snapshot.history.checkpoints[0]
    st.session_state[_REPLAYED] = first if at == NOW else at


def _stop_replay() -> None:
    if is_replaying():
        st.session_state[_SHOWN] = st.session_state.pop(_REPLAYED)


def shown_moment(snapshot: Snapshot) -> Moment:
    """The step pointed at, else the one scrubbed to, else now."""
    tests, models = dict(snapshot.history.tests), snapshot.history.checkpoints
    step = None if is_replaying() else _hovered_step()
    if step not in tests:
        step = st.session_state.get(_SHOWN, NOW)
    if step not in tests or not models:
        latest = snapshot.latest
        return Moment(latest.step, latest.evaluation, latest.model, latest.step, is_now=True)
    place = bisect.bisect_right([kept for kept, _ in models], step) - 1
    model_step, model = models[max(place, 0)]
    return Moment(step, tests[step], model, model_step, is_now=False)


def _hovered_step() -> int | None:
    state = st.session_state.get(LOSS_CHART)
    points = state["selection"].get(HOVER, []) if state else []
    return int(points[0]["step"]) if points else None
