"""Training runs that differ only in the scaling by 1/√d: buttons, progress and results."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.charts import SCALED, UNSCALED, Scale
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import OptionError
from attnlab.lessons.sweep import (
    Sweep,
    SweepProgress,
    Track,
    check_sweep,
    over_seeds,
    run_sweep,
    steps_to,
    target_gap,
    usual_sweep,
)
from attnlab.live.jobs import JobState
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, draw_source, start_job
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.server import limits
from attnlab.ui.lessons.kit import choose, control_row, draw_figure, share_done

_WORK = "sweep"
_PROCESSES = ("markov", "recall", "ndays", "dotmod")
_NAMES = {"1/sqrt(d)": SCALED, "none": UNSCALED}
_HEIGHT = 270


def draw_sweep() -> None:
    """Draw settings, buttons, and the results of the runs so far."""
    with control_row():
        process = linked(st.selectbox, "process", _PROCESSES, key="sweep_process", width=150)
        steps = linked(
            st.slider, "steps of a run", 100, 1_000, 300, 100, key="sweep_steps", width=220
        )
        seeds = linked(st.slider, "seeds", 2, 6, 3, 1, key="sweep_seeds", width=160)
        sweep = usual_sweep(process, steps, seeds)
        refusal = _refusal(sweep)
        draw_job_buttons(_WORK, "Train all", partial(_start, sweep))
    if refusal:
        draw_error(refusal)
    runs = 2 * len(sweep.widths) * len(sweep.gains) * seeds
    source = draw_source(
        _WORK,
        sweep,
        "Train all",
        of_example=_in_words,
        invitation=f"Press **Train all** for your {runs} runs: {_in_words(sweep)}.",
    )
    if source is None:
        return
    plan: Sweep = source.of
    gains = [f"{gain:g}" for gain in plan.gains]
    with st.container(horizontal=True, gap="medium"):
        gain = choose(
            "init gain of W_Q and W_K",
            gains,
            "1",
            key="sweep_gain",
            help="A factor on the initial weights of queries and keys; scores grow with its "
            "square.",
        )
        label = "target: % of what can be learned"
        percent = linked(st.slider, label, 50, 99, 90, 1, key="sweep_target", width=280)
    draw_job(
        _WORK,
        partial(_draw_runs, plan=plan, gain=gains.index(gain), share=percent / 100),
        failed="The runs",
        progress=share_done,
        source=source,
    )


def _in_words(sweep: Sweep) -> str:
    experiment = sweep.experiment
    return f"{experiment.generator.name}, {experiment.training.steps:,} steps, {sweep.seeds} seeds"


def _refusal(sweep: Sweep) -> str:
    """Return why this server does not train this many runs, or ""."""
    try:
        check_sweep(sweep, limits())
    except OptionError as error:
        return str(error)
    return ""


def _start(sweep: Sweep) -> None:
    if not _refusal(sweep):
        start_job(_WORK, partial(run_sweep, sweep), of=sweep)


def _draw_runs(state: JobState, *, plan: Sweep, gain: int, share: float) -> None:
    progress: SweepProgress | None = state.latest
    if progress is not None and progress.tracks:
        _draw_initial(progress.tracks, plan, gain)
        _draw_during(progress.tracks, plan, gain)
        _draw_results(progress.tracks, plan, gain, target_gap(plan.experiment, share), share)
    elif not state.message:
        st.caption("Generating data and compiling one program for all runs …")


def _draw_initial(tracks: Sequence[Track], plan: Sweep, gain: int) -> None:
    """Draw spread of the scores and entropy of the pattern at step 0, by width."""
    even = float(np.log(plan.experiment.length))
    for column, figure, title, known in zip(
        st.columns(2, gap="medium"),
        ("std", "entropy"),
        ("standard deviation of initial scores", "entropy at the start (nats)"),
        (None, {"uniform": even}),
        strict=True,
    ):
        tables = []
        for scale, name in _NAMES.items():
            mine = [track for track in tracks if track.scale == scale]
            figures = np.array([over_seeds(getattr(track, figure)[gain, :, 0]) for track in mine])
            tables.append(charts.series_table(name, [track.d_attn for track in mine], *figures.T))
        draw_figure(
            column,
            f"sweep_{figure}",
            charts.lines_chart,
            pd.concat(tables, ignore_index=True),
            known and charts.level_table(known, plan.widths),
            name=f"{title[0].upper()}{title[1:]} against d_attn",
            alt=f"{title.capitalize()}, against d_attn, with and without 1/√d."
            + _at_widest(tracks, plan, figure, gain, look=0),
            x=Scale("d_attn", "d", labels="d", kind="log", ticks=plan.widths),
            y=Scale(title, ".4g", domain=(0, 1.2 * even))
            if known
            else Scale(title, ".4g", labels="~g", kind="log"),
            series=charts.BY_SCALE,
            noun="scores",
            height=_HEIGHT,
        )


def _draw_during(tracks: Sequence[Track], plan: Sweep, gain: int) -> None:
    """Draw scores, entropy and gap to the floor during training, with one line per width."""
    titles = {
        "std": "standard deviation of the scores",
        "entropy": "entropy of the pattern (nats)",
        "gap": "gap (nats)",
    }
    for column, (figure, title) in zip(st.columns(3, gap="medium"), titles.items(), strict=True):
        draw_figure(
            column,
            f"training_{figure}",
            charts.training_chart,
            charts.training_table(tracks, figure, gain),
            name=f"{title[0].upper()}{title[1:]} during training",
            alt=f"The {title} during training, a line for every width."
            + _at_widest(tracks, plan, figure, gain, look=-1),
            y_title=title,
            last_step=plan.experiment.training.steps,
            widths=plan.widths,
            logarithmic=figure != "entropy",
            height=_HEIGHT,
        )
    st.caption(
        "All charts show means over test sequences and seeds, for the row that makes the "
        "prediction. In the lower row each line is a width; larger widths have stronger colours.",
        help="Scores are before the softmax. The gap is the mean of KL(true ‖ model): the expected "
        "loss minus the best possible loss. Hover over a point for its standard error over seeds.",
    )


def _draw_results(
    tracks: Sequence[Track], plan: Sweep, gain: int, gap: float, share: float
) -> None:
    """Draw the steps until `gap` was reached, and the final gaps, of widths that are finished."""
    steps = plan.experiment.training.steps
    ready = tuple(track for track in tracks if track.steps[-1] == steps)
    if not ready:
        return
    said = _widest_in_words(ready, gain, gap, share)
    left, *others = st.columns(3, gap="medium")
    draw_figure(
        left,
        "reached",
        charts.reached_chart,
        charts.reached_table(ready, gap, gain, steps),
        name=f"Steps to {share:.0%} of what can be learned",
        alt=f"Steps to {share:.0%} of what can be learned, a mark for every seed. {said}",
        widths=plan.widths,
        last_step=steps,
        height=330,
    )
    most = 0.1 * float(np.log(plan.experiment.generator.vocabulary.size))
    for column, (scale, name) in zip(others, _NAMES.items(), strict=True):
        column.markdown(f"**{name}**: final gap")
        draw_figure(
            column,
            f"gap_{'scaled' if name == SCALED else 'unscaled'}",
            charts.gap_map_chart,
            charts.gap_map_table(ready, plan.gains, scale),
            name=f"Final gap {name}",
            alt=f"The final gap {name}, by width and init gain."
            + _at_widest(tracks, plan, "gap", gain, look=-1),
            widths=plan.widths,
            gains=plan.gains,
            most=most,
            height=290,
        )
    with st.container(key="sweep_result"):
        st.markdown(said)
    st.caption(
        f"Left: the step at which each seed's gap first fell to {gap:.4f} nats; triangles stayed "
        "above it. Right: the mean final gap for every gain.",
        help="The gap includes what a single head cannot express. About twenty evaluations are "
        "evenly spaced in the logarithm of the step. Hover over a cell for its standard error "
        f"over {plan.seeds} seeds.",
    )


def _at_widest(tracks: Sequence[Track], plan: Sweep, figure: str, gain: int, *, look: int) -> str:
    """Return the widest heads' result at evaluation `look` as text, or "" until their runs end."""
    widest, last = max(plan.widths), plan.experiment.training.steps
    mine = [track for track in tracks if track.d_attn == widest and track.steps[-1] == last]
    if len(mine) < len(_NAMES):
        return ""
    unit = "" if figure == "std" else " nats"
    said = [
        show_measured(*over_seeds(getattr(track, figure)[gain, :, look]), most_places=4)
        + f"{unit} {_NAMES[track.scale]}"
        for track in mine
    ]
    return f" At d_attn = {widest}: {' and '.join(said)}."


def _widest_in_words(tracks: Sequence[Track], gain: int, gap: float, share: float) -> str:
    """Return when seeds of the widest heads reached `gap`, and their final gap, as text."""
    widest, said = max(track.d_attn for track in tracks), []
    for track in (track for track in tracks if track.d_attn == widest):
        first = steps_to(track, gap)[gain]
        reached = first[np.isfinite(first)]
        median = "median of these: " * (reached.size > 1)
        when = f" ({median}{np.median(reached):,.0f} steps)" if reached.size else ""
        final = show_measured(*over_seeds(track.gap[gain, :, -1]), most_places=4)
        said.append(
            f"At d_attn = {widest}, {_NAMES[track.scale]}: {reached.size} of {first.size} seeds "
            f"reached {share:.0%} of what can be learned{when}; the final gap was {final} nats."
        )
    return " ".join(said)
