"""Matched runs with and without 1/√d: started, watched, stopped, read."""

import dataclasses
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.background import Background
from attnlab.charts import (
    SCALED,
    UNSCALED,
    gap_map_chart,
    gap_map_table,
    level_table,
    reached_chart,
    reached_table,
    series_chart,
    series_table,
    training_chart,
    training_table,
)
from attnlab.number_text import show_measured
from attnlab.presets import PRESETS
from attnlab.sweep import Sweep, SweepProgress, Track, over_seeds, run_sweep, steps_to, target_gap
from attnlab.ui.drawn import draw_chart
from attnlab.ui.ground import on_dark
from attnlab.ui.linked import linked
from attnlab.ui.session_work import draw_while_working, session_work

_WORK, _PLAN = "sweep", "sweep_plan"
_PROCESSES = ("markov", "recall", "ndays", "dotmod")
_NAMES = {"1/sqrt(d)": SCALED, "none": UNSCALED}
_HEIGHT = 270


def draw_sweep() -> None:
    """Settings, the two buttons, and what the runs have given so far."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        process = linked(st.selectbox, "process", _PROCESSES, key="sweep_process", width=150)
        steps = linked(
            st.slider, "steps of a run", 100, 1_000, 300, 100, key="sweep_steps", width=220
        )
        seeds = linked(st.slider, "seeds", 2, 6, 3, 1, key="sweep_seeds", width=160)
        sweep = _sweep(process, steps, seeds)
        work = session_work()
        found = work.of(_WORK)
        running = found is not None and found.state().running
        st.button(
            "Train them all",
            key="sweep_start",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_start,
            args=(sweep,),
            disabled=running,
        )
        st.button(
            "Stop",
            key="sweep_stop",
            icon=":material/stop:",
            on_click=work.stop,
            args=(_WORK,),
            disabled=not running,
        )
    if found is None:
        runs = 2 * len(sweep.widths) * len(sweep.gains) * seeds
        st.info(
            f"Press **Train them all**: {runs} runs of {steps} steps, {seeds} seeds for every "
            f"width from {sweep.widths[0]} to {sweep.widths[-1]}, every starting size, with and "
            "without 1/√d. It takes about half a minute, shows what is there meanwhile, and can "
            "be stopped.",
            icon=":material/play_circle:",
        )
        return
    plan = st.session_state[_PLAN]
    if plan != sweep:
        st.info(
            "Settings changed: **Train them all** applies them. Below are the runs of before.",
            icon=":material/change_circle:",
        )
    with st.container(horizontal=True, gap="medium"):
        gain = linked(
            st.segmented_control,
            "starting size of W_Q and W_K",
            [f"{gain:g}" for gain in plan.gains],
            default="1",
            required=True,
            key="sweep_gain",
            help="A factor on the starting weights of queries and keys. Scores start with its "
            "square.",
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


def _start(sweep: Sweep) -> None:
    st.session_state[_PLAN] = sweep
    session_work().start(_WORK, partial(run_sweep, sweep))


def _draw_work(work: Background, *, plan: Sweep, gain: int, share: float) -> None:
    state = work.state()
    progress: SweepProgress = state.latest or SweepProgress(0.0, "", ())
    with st.container(key="sweep_status"):
        if state.error:
            st.error(f"The runs ended by an error. {state.error}", icon=":material/error:")
        elif state.running:
            st.progress(progress.share, f"running: {progress.share:.0%} · {progress.doing}")
        elif progress.share < 1:
            st.progress(progress.share, f"stopped: {progress.share:.0%}")
        else:
            st.progress(1.0, "done: 100%")
    # Before a width was looked at, there is nothing to draw of it.
    tracks = progress.tracks
    if not tracks:
        st.caption("Drawing the data and compiling one program for all runs …")
        return
    gap = target_gap(plan.experiment, share)
    _draw_starts(tracks, plan, gain)
    _draw_results(tracks, plan, gain, gap, share)


def _draw_starts(tracks: tuple[Track, ...], plan: Sweep, gain: int) -> None:
    experiment = plan.experiment
    even = float(np.log(experiment.length))
    left, right = st.columns(2, gap="medium")
    for column, figure, title, known in (
        (left, "spread", "spread of the scores at the start", None),
        (right, "entropy", "entropy at the start (nats)", {"even": even}),
    ):
        tables = []
        for scale, name in _NAMES.items():
            mine = [track for track in tracks if track.scale == scale]
            figures = np.array([over_seeds(getattr(track, figure)[gain, :, 0]) for track in mine])
            tables.append(series_table(name, [track.d_attn for track in mine], *figures.T))
        with column, st.container(key=f"chart_sweep_{figure}"):
            draw_chart(
                series_chart(
                    pd.concat(tables, ignore_index=True),
                    None if known is None else level_table(known, plan.widths),
                    x_title="d_attn",
                    y_title=title,
                    y_domain=None if known is None else (0, 1.2 * even),
                    ticks=plan.widths,
                    logarithmic=known is None,
                    dark=on_dark(),
                    height=_HEIGHT,
                ),
                alt=f"{title.capitalize()}, against d_attn, with and without 1/√d."
                + _at_widest(tracks, plan, figure, gain, look=0),
            )
    last = experiment.training.steps
    for column, figure, title, logarithmic in zip(
        st.columns(3, gap="medium"),
        ("spread", "entropy", "gap"),
        ("spread of the scores", "entropy of the pattern (nats)", "gap to the floor (nats)"),
        (True, False, True),
        strict=True,
    ):
        with column, st.container(key=f"chart_training_{figure}"):
            draw_chart(
                training_chart(
                    training_table(tracks, figure, gain),
                    y_title=title,
                    last_step=last,
                    widths=plan.widths,
                    logarithmic=logarithmic,
                    dark=on_dark(),
                    height=_HEIGHT,
                ),
                alt=f"The {title} during training, a line for every width."
                + _at_widest(tracks, plan, figure, gain, look=-1),
            )
    st.caption(
        "How to read it: of the row that makes the prediction, means over test sequences and "
        "seeds. Spread is the standard deviation of its scores before the softmax. Below, a line "
        "is a width over training, the widest drawn strongest. The gap is the mean of "
        "KL(true law ‖ model), the expected loss less the floor; hover for its standard error "
        "over seeds."
    )


def _draw_results(
    tracks: tuple[Track, ...], plan: Sweep, gain: int, gap: float, share: float
) -> None:
    steps = plan.experiment.training.steps
    ready = tuple(track for track in tracks if track.steps[-1] == steps)
    if not ready:
        return
    left, middle, right = st.columns(3, gap="medium")
    with left, st.container(key="chart_reached"):
        draw_chart(
            reached_chart(
                reached_table(ready, gap, gain, steps),
                widths=plan.widths,
                last_step=steps,
                dark=on_dark(),
                height=330,
            ),
            alt=f"Steps to {share:.0%} of what can be learned, a mark for every seed.",
        )
    most = 0.1 * float(np.log(plan.experiment.generator.vocabulary.size))
    for column, (scale, name) in zip((middle, right), _NAMES.items(), strict=True):
        with column, st.container(key=f"chart_gap_{'scaled' if name == SCALED else 'unscaled'}"):
            st.markdown(f"**{name}**: final gap")
            draw_chart(
                gap_map_chart(
                    gap_map_table(ready, plan.gains, scale),
                    widths=plan.widths,
                    gains=plan.gains,
                    most=most,
                    dark=on_dark(),
                    height=290,
                ),
                alt=f"The final gap to the floor {name}, by width and starting size."
                + _at_widest(tracks, plan, "gap", gain, look=-1),
            )
    _draw_sentence(ready, gain, gap, share)
    st.caption(
        f"How to read it: left, when each seed first came within {gap:.4f} nats of the floor, at "
        "one of about twenty looks spread evenly over the logarithm of the step; triangles never "
        "did. Right, the mean gap at the end for every starting size; hover for its standard "
        f"error over {plan.seeds} seeds, which few seeds give but roughly."
    )


def _at_widest(tracks: tuple[Track, ...], plan: Sweep, figure: str, gain: int, *, look: int) -> str:
    """What a figure is at the widest heads, in words; nothing while their runs still move it.

    A spread of scores has no unit, the other figures are in nats.
    """
    widest, last = max(plan.widths), plan.experiment.training.steps
    mine = [track for track in tracks if track.d_attn == widest and track.steps[-1] == last]
    if len(mine) < len(_NAMES):
        return ""
    unit = "" if figure == "spread" else " nats"
    said = [
        show_measured(*over_seeds(getattr(track, figure)[gain, :, look]), most_places=4)
        + f"{unit} {_NAMES[track.scale]}"
        for track in mine
    ]
    return f" At d_attn = {widest}: {' and '.join(said)}."


def _draw_sentence(tracks: tuple[Track, ...], gain: int, gap: float, share: float) -> None:
    widest = max(track.d_attn for track in tracks)
    parts = []
    for track in tracks:
        if track.d_attn == widest:
            first = steps_to(track, gap)[gain]
            parts.append(
                f"**{_NAMES[track.scale]}** {np.isfinite(first).sum()} of {first.size} seeds "
                f"reached {share:.0%}, and the gap ended at "
                f"{show_measured(*over_seeds(track.gap[gain, :, -1]), most_places=4)} nats"
            )
    with st.container(key="sweep_result"):
        st.markdown(f"At d_attn = {widest}: " + "; ".join(parts) + ".")
