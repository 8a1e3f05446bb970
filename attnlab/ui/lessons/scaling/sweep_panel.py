"""Matched runs with and without 1/√d: started, watched, stopped, read."""

import dataclasses
from functools import partial

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.lessons.sweep import Sweep, SweepProgress, check_sweep, run_sweep, target_gap
from attnlab.live.background import Background
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.session_work import (
    draw_while_working,
    draw_work_buttons,
    session_work,
    work_in_words,
)
from attnlab.ui.lessons.scaling.sweep_pictures import draw_looks, draw_results

_WORK, _PLAN = "sweep", "sweep_plan"
_PROCESSES = ("markov", "recall", "ndays", "dotmod")


def draw_sweep() -> None:
    """Settings, the two buttons, and what the runs have given so far."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        process = linked(st.selectbox, "process", _PROCESSES, key="sweep_process", width=150)
        steps = linked(
            st.slider, "steps of a run", 100, 1_000, 300, 100, key="sweep_steps", width=220
        )
        seeds = linked(st.slider, "seeds", 2, 6, 3, 1, key="sweep_seeds", width=160)
        sweep = _sweep(process, steps, seeds)
        refusal = _refusal(sweep)
        state = draw_work_buttons(
            _WORK,
            "Train them all",
            start="sweep_start",
            stop="sweep_stop",
            on_start=partial(_start, sweep),
        )
    if refusal:
        draw_error(refusal)
    if state is None:
        runs = 2 * len(sweep.widths) * len(sweep.gains) * seeds
        st.info(
            f"Press **Train them all**: {runs} runs of {steps} steps, {seeds} seeds for every "
            f"width from {sweep.widths[0]} to {sweep.widths[-1]}, every init gain, with and "
            "without 1/√d. Results appear as they come, with the time left, and the runs can be "
            "stopped.",
            icon=":material/play_circle:",
        )
        return
    plan = st.session_state[_PLAN]
    if plan != sweep:
        st.info(
            "Settings changed: **Train them all** applies them. Below are the previous runs.",
            icon=":material/change_circle:",
        )
    with st.container(horizontal=True, gap="medium"):
        gain = linked(
            st.segmented_control,
            "init gain of W_Q and W_K",
            [f"{gain:g}" for gain in plan.gains],
            default="1",
            required=True,
            key="sweep_gain",
            help=(
                "A factor on the initial weights of queries and keys. Initial scores are "
                "multiplied by its square."
            ),
        )
        percent = linked(
            st.slider, "target: % of what can be learned", 50, 99, 90, 1, key="sweep_target",
            width=280,
        )  # fmt: skip
    place = [f"{each:g}" for each in plan.gains].index(gain)
    draw_while_working(_WORK, partial(_draw_work, plan=plan, gain=place, share=percent / 100))


def _sweep(process: str, steps: int, seeds: int) -> Sweep:
    base = PRESETS[f"corrected-{process}"].experiment
    training = dataclasses.replace(
        base.training, steps=steps, data="fixed", train_size=20_000, test_size=500, batch=100
    )
    return Sweep(dataclasses.replace(base, training=training), seeds=seeds)


def _refusal(sweep: Sweep) -> str:
    """Why this server does not train so many, or nothing."""
    try:
        check_sweep(sweep, limits())
    except OptionError as error:
        return str(error)
    return ""


def _start(sweep: Sweep) -> None:
    if _refusal(sweep):
        return
    st.session_state[_PLAN] = sweep
    session_work().start(_WORK, partial(run_sweep, sweep))


def _draw_work(work: Background, *, plan: Sweep, gain: int, share: float) -> None:
    state = work.state()
    progress: SweepProgress = state.latest or SweepProgress(0.0, "", ())
    with st.container(key="sweep_status"):
        if state.error:
            draw_error(f"The runs ended by an error. {state.error}")
        else:
            words = work_in_words(state, progress.share)
            st.progress(progress.share, " · ".join(filter(None, (words, progress.doing))))
    # Before a width was looked at, there is nothing to draw of it.
    tracks = progress.tracks
    if not tracks:
        if state.message:
            return
        st.caption("Drawing the data and compiling one program for all runs …")
        return
    gap = target_gap(plan.experiment, share)
    draw_looks(tracks, plan, gain)
    draw_results(tracks, plan, gain, gap, share)
