"""The loss chart, its reference lines, and the switch that stops a run near the floor."""

from collections.abc import Sequence

import streamlit as st

from attnlab import charts
from attnlab.comparisons.intervals import CurveOverSeeds
from attnlab.configuration.number_text import show_estimate, show_measured
from attnlab.live.live_run import LiveRun
from attnlab.optimum import ladder, optimum
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import LOSS_HEIGHT
from attnlab.ui.core.figures import figure, known_losses
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import session
from attnlab.ui.train.cursor import LOSS_CHART, follow_shown_step

# A run near the floor is stopped when its loss is at most this many times the floor.
TARGET = 1.01
# In nats, for floors near zero: 1 % of zero would never be reached.
_LEAST_TARGET = 0.01


def draw_reference_choice(snapshot: Snapshot) -> Sequence[str]:
    """Draw the choice of baselines for the loss chart; return the names of the chosen ones."""
    baselines = figure(ladder, snapshot.experiment.generator, snapshot.experiment.length)
    if baselines is None:
        st.caption(":material/hourglass_top: Computing baselines …")
        return ()
    names = [baseline.name for baseline in baselines[1:-1]]
    word = snapshot.experiment.generator.position_word
    return st.pills(
        "baselines on the loss chart",
        names,
        selection_mode="multi",
        key="rungs",
        persist_state="session",
        help=(
            "Losses of the best predictors with less information. unigram: the distribution of "
            f"the final {word} alone. order-k: the last k {word}s. linear: the best linear "
            f"predictor from all {word}s."
        ),
    )


def target_of(experiment: Experiment, test: Evaluation | None) -> float | None:
    """Return the test loss at which to stop, in nats, or None while the floor is not known.

    The floor here is the loss of the exact predictions on the same test sequences, so that sampling
    noise cancels.
    """
    known = figure(optimum, experiment.generator, experiment.length)
    if known is None:
        return None
    floor = of_test = known.final.nll
    if test is not None and test.excess is not None:
        # Rounded, so that the value is the same at every evaluation.
        of_test = round(test.nll - test.excess, 9)
    return of_test + max((TARGET - 1) * floor, _LEAST_TARGET - floor)


def draw_target(run: LiveRun, snapshot: Snapshot) -> None:
    """Draw the switch that pauses the run when its loss is near the floor."""
    wanted = st.toggle(
        "stop within 1 % of the floor",
        key="stop_at_target",
        persist_state="session",
        help="Pauses the run when its test loss is at most 1 % above that of the true "
        "probabilities. The target loss is never below 0.01 nats.",
    )
    test = None if snapshot.latest is None else snapshot.latest.evaluation
    run.stop_at(target_of(snapshot.experiment, test) if wanted else None)


def draw_axis_choice() -> bool:
    """Draw the switch for a logarithmic step axis; return whether it is on."""
    return st.toggle(
        "logarithmic steps",
        key="log_steps",
        persist_state="session",
        help="Spreads out the first steps, in which most is learned.",
    )


def draw_loss(
    snapshot: Snapshot,
    baselines: Sequence[str],
    cursor: int | None,
    past: Sequence[RunSummary],
    seeds: CurveOverSeeds | None,
    *,
    logarithmic: bool,
) -> None:
    """Draw training and test loss, past runs, and reference lines from uniform guess to floor."""
    curves = [_curve(run) for run in past if run.number not in session().hidden_runs]
    ends = (step for curve in curves for step, _ in curve.tests)
    last_step = max([snapshot.experiment.training.steps, *ends])
    latest = snapshot.latest
    table = charts.loss_table(
        snapshot.history,
        known=known_losses(snapshot.experiment, baselines),
        last_step=last_step,
        latest=None if latest is None else (latest.step, latest.evaluation),
        cursor=cursor,
        past=curves,
        seeds=seeds,
    )
    drawing = charts.loss_chart(
        table,
        last_step=last_step,
        height=LOSS_HEIGHT,
        past=tuple((curve.name, curve.colour) for curve in curves),
        logarithmic=logarithmic,
        seeds=seeds is not None,
    )
    with st.container(key="chart_loss"):
        draw_chart(
            drawing,
            name="Loss",
            alt=_alternative(snapshot, curves),
            key=LOSS_CHART,
            fills=True,
            on_select=follow_shown_step,
            selection_mode=charts.HOVER,
        )


def _alternative(snapshot: Snapshot, past: Sequence[charts.PastCurve]) -> str:
    """Return the chart's text alternative, which has numbers only when the run is at rest.

    A changed text would redraw the chart.
    """
    if snapshot.active or snapshot.latest is None:
        return "Loss against step."
    experiment, latest = snapshot.experiment, snapshot.latest
    subject = f"Loss against step: {experiment.model.name} on {experiment.generator.name}."
    best = figure(optimum, experiment.generator, experiment.length)
    test = show_measured(latest.evaluation.nll, latest.evaluation.nll_stderr)
    figures = [f"Test loss {test} nats at step {latest.step:,}."]
    if best is not None:
        floor, estimated = best.final, "" if best.final.exact else " (estimated)"
        figures.append(
            f"The floor is {show_estimate(floor.nll, floor.nll_stderr)} nats{estimated}."
        )
    figures += [f"Before: {curve.name}, {curve.tests[-1][1]:.3f} nats." for curve in past]
    return " ".join([subject, *figures])


def _curve(run: RunSummary) -> charts.PastCurve:
    tests = tuple((step, test.nll) for step, test in run.tests)
    return charts.PastCurve(run.name, charts.past_hue(run.number), tests)
