"""Training runs that differ only in the scaling by 1/√d: buttons, progress and results."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.charts import Scale
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import OptionError
from attnlab.lessons.sweep import (
    Sweep,
    Track,
    check_sweep,
    over_seeds,
    run_sweep,
    target_gap,
    usual_sweep,
)
from attnlab.live.jobs import JobState
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, draw_source, start_job
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.lessons.kit import KEPT, choose, control_row, in_columns, share_done
from attnlab.ui.lessons.softmax_panel import BY_SCALE

_WORK = "sweep"
_PROCESSES = ("markov", "recall", "ndays", "dotmod")
_SERIES = tuple(BY_SCALE.values())
_TITLES = {
    "std": "standard deviation of the scores",
    "entropy": "entropy of the pattern (nats)",
    "gap": "gap (nats)",
}
_RUN = ["series", "d_attn", "seed"]
_HEIGHT = 270


def draw_sweep() -> None:
    """Draw settings, buttons, and the results of the runs so far."""
    with control_row():
        look = {"key": "sweep_process", "width": 150, **KEPT}
        process = linked(st.selectbox, "process", _PROCESSES, **look)
        look = {"key": "sweep_steps", "width": 220, **KEPT}
        steps = linked(st.slider, "steps of a run", 100, 1_000, 300, 100, **look)
        seeds = linked(st.slider, "seeds", 2, 6, 3, 1, key="sweep_seeds", width=160, **KEPT)
        sweep = usual_sweep(process, steps, seeds)
        refusal = _refusal(sweep)
        draw_job_buttons(_WORK, "Train all", partial(_start, sweep))
    if refusal:
        draw_error(refusal)
    runs = 2 * len(sweep.widths) * len(sweep.gains) * seeds
    invitation = f"Press **Train all** for your {runs} runs: {_in_words(sweep)}."
    source = draw_source(_WORK, sweep, "Train all", of_example=_in_words, invitation=invitation)
    if source is None:
        return
    plan: Sweep = source.of
    with st.container(horizontal=True, gap="medium"):
        gain = choose(
            "init gain of W_Q and W_K",
            [f"{gain:g}" for gain in plan.gains],
            "1",
            key="sweep_gain",
            help="A factor on the initial weights of queries and keys; scores grow with its "
            "square.",
            **KEPT,
        )
        label, look = "target: % of what can be learned", {"key": "sweep_target", "width": 280}
        percent = linked(st.slider, label, 50, 99, 90, 1, **look, **KEPT)
    draw = partial(_draw_runs, plan=plan, gain=float(gain), share=percent / 100)
    draw_job(_WORK, draw, failed="The runs", progress=share_done, source=source)


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


def _draw_runs(state: JobState, *, plan: Sweep, gain: float, share: float) -> None:
    if state.latest is not None and state.latest.tracks:
        table = _tests_table(state.latest.tracks, plan.gains)
        tests = table.query("gain == @gain")
        _draw_initial(tests, plan)
        _draw_during(tests, plan)
        last = plan.experiment.training.steps
        done = table.groupby(["series", "d_attn"]).filter(lambda runs: last in set(runs["step"]))
        if len(done):
            _draw_results(done, plan, gain, share)
    elif not state.message:
        st.caption("Generating data and compiling one program for all runs …")


def _tests_table(tracks: Sequence[Track], gains: Sequence[float]) -> pd.DataFrame:
    """Return `std`, `entropy` and `gap` of each run at each evaluated step, one row for each."""
    parts = []
    for track in tracks:
        axes = gains, range(track.gap.shape[1]), track.steps
        index = pd.MultiIndex.from_product(axes, names=["gain", "seed", "step"])
        values = {measure: getattr(track, measure).ravel() for measure in _TITLES}
        run = {"series": BY_SCALE[track.scale].name, "d_attn": track.d_attn}
        parts.append(pd.DataFrame(values, index).reset_index().assign(**run))
    return pd.concat(parts, ignore_index=True)


def _over_seeds(tests: pd.DataFrame, measure: str, *by: str) -> pd.DataFrame:
    """Return the mean of a measure over seeds, its standard error, and the ends of both."""
    groups = tests.groupby(["series", "d_attn", *by], sort=False)[measure]
    found = groups.agg(value="mean", error="sem").reset_index()
    error = found["error"].fillna(0)
    return found.assign(at=found["d_attn"], low=found["value"] - error, high=found["value"] + error)


def _draw_initial(tests: pd.DataFrame, plan: Sweep) -> None:
    """Draw spread of the scores and entropy of the pattern at step 0, by width."""
    even, first = float(np.log(plan.experiment.length)), tests.query("step == 0")
    spread, entropy = "standard deviation of initial scores", "entropy at the start (nats)"
    panels = {
        "std": (None, Scale(spread, ".4g", labels="~g", kind="log")),
        "entropy": ({"uniform": even}, Scale(entropy, ".4g", domain=(0, 1.2 * even))),
    }
    for measure, (known, y) in in_columns(panels.items()):
        draw_chart(
            charts.lines_chart(
                _over_seeds(first, measure),
                known and charts.level_table(known, plan.widths),
                x=Scale("d_attn", "d", labels="d", kind="log", ticks=plan.widths),
                y=y,
                series=_SERIES,
                noun="scores",
                height=_HEIGHT,
            ),
            name=f"{y.title[0].upper()}{y.title[1:]} against d_attn",
            alt=f"{y.title.capitalize()}, against d_attn, with and without 1/√d."
            + _at_widest(tests, plan, measure, 0),
        )


def _draw_during(tests: pd.DataFrame, plan: Sweep) -> None:
    """Draw scores, entropy and gap to the floor during training, with one line per width."""
    last = plan.experiment.training.steps
    for measure, title in in_columns(_TITLES.items()):
        draw_chart(
            charts.training_chart(
                _over_seeds(tests, measure, "step"),
                title=title,
                last_step=last,
                widths=plan.widths,
                series=_SERIES,
                logarithmic=measure != "entropy",
                height=_HEIGHT,
            ),
            name=f"{title[0].upper()}{title[1:]} during training",
            alt=f"The {title} during training, a line for every width."
            + _at_widest(tests, plan, measure, last),
        )
    st.caption(
        "All charts show means over test sequences and seeds, for the row that makes the "
        "prediction. In the lower row each line is a width; larger widths have stronger colours.",
        help="Scores are before the softmax. The gap is the mean of KL(true ‖ model): the expected "
        "loss minus the best possible loss. Hover over a point for its standard error over seeds.",
    )


def _at_widest(tests: pd.DataFrame, plan: Sweep, measure: str, step: int) -> str:
    """Return the widest heads' result at a step as text, or "" until their runs end."""
    width, unit = max(plan.widths), "" if measure == "std" else " nats"
    widest = tests.query("d_attn == @width")
    if plan.experiment.training.steps not in set(widest["step"]):
        return ""
    found = _over_seeds(widest.query("step == @step"), measure)
    said = (
        f"{show_measured(value, error, most_places=4)}{unit} {name}"
        for name, value, error in zip(found["series"], found["value"], found["error"], strict=True)
    )
    return f" At d_attn = {width}: {' and '.join(said)}."


def _draw_results(tests: pd.DataFrame, plan: Sweep, gain: float, share: float) -> None:
    """Draw the steps until the target was reached, and the final gaps, of finished widths."""
    last, gap = plan.experiment.training.steps, target_gap(plan.experiment, share)
    own = tests.query("gain == @gain")
    first = own.query("gap <= @gap").groupby(_RUN)["step"].min()
    runs = own.query("step == @last").set_index(_RUN).assign(step=first).reset_index()
    said, title = _widest_in_words(runs, share), f"Steps to {share:.0%} of what can be learned"
    is_reached = runs["step"].notna()
    runs = runs.fillna({"step": last}).assign(
        reached=np.where(is_reached, "reached", "not reached")
    )
    gaps = _over_seeds(tests.query("step == @last"), "gap", "gain")
    gaps["gain"] = gaps["gain"].map("{:g}".format)
    left, *others = st.columns(3, gap="medium")
    with left:
        look = {"widths": plan.widths, "series": _SERIES, "height": 330}
        draw_chart(
            charts.reached_chart(runs, last_step=last, **look),
            name=title,
            alt=f"{title}, a mark for every seed. {said}",
        )
    for column, name in zip(others, (one.name for one in _SERIES), strict=True):
        with column:
            st.markdown(f"**{name}**: final gap")
            draw_chart(
                charts.gap_map_chart(
                    gaps.query("series == @name"),
                    widths=plan.widths,
                    gains=tuple(f"{gain:g}" for gain in plan.gains),
                    most=0.1 * float(np.log(plan.experiment.generator.vocabulary.size)),
                    height=290,
                ),
                name=f"Final gap {name}",
                alt=f"The final gap {name}, by width and init gain."
                + _at_widest(own, plan, "gap", last),
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


def _widest_in_words(runs: pd.DataFrame, share: float) -> str:
    """Return when seeds of the widest heads reached the target, and their final gap, as text."""
    widest, said = runs["d_attn"].max(), []
    for name, each in runs.query("d_attn == @widest").groupby("series", sort=False):
        steps, gaps = (each[column].to_numpy() for column in ("step", "gap"))
        reached = steps[~np.isnan(steps)]
        median = "median of these: " * (reached.size > 1)
        when = f" ({median}{np.median(reached):,.0f} steps)" if reached.size else ""
        final = show_measured(*over_seeds(gaps), most_places=4)
        said.append(
            f"At d_attn = {widest}, {name}: {reached.size} of {steps.size} seeds reached "
            f"{share:.0%} of what can be learned{when}; the final gap was {final} nats."
        )
    return " ".join(said)
