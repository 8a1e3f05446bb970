"""The session's past runs."""

import streamlit as st

from attnlab.live.keeping import Keeping
from attnlab.live.live_run import LiveRun
from attnlab.runs.past_runs import PastRun, with_run, without_run

_PAST, _COUNT, _KEEPINGS = "past_runs", "count_of_runs", "keepings_of_past_runs"


def past_runs() -> tuple[PastRun, ...]:
    """The runs before the present one, oldest first."""
    return st.session_state.get(_PAST, ())


def set_past_runs(runs: tuple[PastRun, ...]) -> None:
    """Put others in their place."""
    st.session_state[_PAST] = runs


def shelve_run(run: LiveRun) -> None:
    """Keep the present run for comparison, before another takes its place.

    A run without a step has nothing to compare.
    """
    run.pause()
    snapshot, stored = run.snapshot(), run.stored()
    if stored is None or snapshot.step == 0 or snapshot.latest is None:
        return
    number = st.session_state.get(_COUNT, 0) + 1
    st.session_state[_COUNT] = number
    set_past_runs(with_run(past_runs(), snapshot, stored, number=number))
    there = {past.number for past in past_runs()}
    before: dict[int, Keeping] = st.session_state.get(_KEEPINGS, {})
    st.session_state[_KEEPINGS] = {
        past: keeping for past, keeping in before.items() if past in there
    } | {number: run.keeping}


def return_to(run: LiveRun, chosen: PastRun) -> None:
    """Shelve the present run, and put a past one in its place, kept where it was kept before."""
    shelve_run(run)
    keeping = st.session_state.get(_KEEPINGS, {}).get(chosen.number)
    set_past_runs(without_run(past_runs(), chosen.number))
    run.resume(chosen.stored, keeping=keeping, seconds=chosen.snapshot.seconds)
