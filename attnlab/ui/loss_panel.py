"""The loss chart, the reference lines on it, and the loss at which to stop."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnlab.charts import loss_chart, loss_table
from attnlab.experiment import Experiment
from attnlab.live import LiveRun
from attnlab.optimum import ladder, optimum
from attnlab.snapshot import Snapshot
from attnlab.ui.ground import CHART_HEIGHT, on_dark
from attnlab.ui.knowledge import answer_or_none

# A floor of nothing has no percent to come near by.
_LEAST_TARGET = 0.01


def draw_reference_choice(snapshot: Snapshot) -> Sequence[str]:
    """Which rungs of the ladder stand on the chart, beside chance and floor."""
    rungs = answer_or_none(ladder, snapshot.experiment.generator, snapshot.experiment.length)
    if rungs is None:
        return ()
    names = [rung.name for rung in rungs[1:-1]]
    return st.pills(
        "reference predictors on the loss chart",
        names,
        selection_mode="multi",
        key="rungs",
        persist_state="session",
        help="What could be had with less knowledge: unigram, the law of the final day; order-k, "
        "the last k days; linear, the best linear predictor from all days.",
    )


def draw_target(run: LiveRun, snapshot: Snapshot) -> None:
    """A switch that pauses the run near the floor."""
    known = answer_or_none(optimum, snapshot.experiment.generator, snapshot.experiment.length)
    wanted = st.toggle(
        "stop within 1 % of the floor",
        key="stop_at_target",
        persist_state="session",
        help="Pauses the run at the first test whose loss is at most 1.01 times the floor.",
    )
    if wanted and known is not None:
        run.stop_at(max(1.01 * known.final.nll, _LEAST_TARGET))
    else:
        run.stop_at(None)


def known_losses(experiment: Experiment, rungs: Sequence[str]) -> dict[str, float]:
    """Losses in nats that do not depend on the run, by name: chance, `rungs`, the floor."""
    known = {"chance": float(np.log(experiment.generator.vocabulary.size))}
    for rung in answer_or_none(ladder, experiment.generator, experiment.length) or ():
        if rung.name in rungs:
            known[rung.name] = rung.best.nll
    best = answer_or_none(optimum, experiment.generator, experiment.length)
    if best is not None:
        known["floor" if best.final.exact else "floor (estimated)"] = best.final.nll
    return known


def draw_loss(snapshot: Snapshot, rungs: Sequence[str], cursor: int | None) -> None:
    """Training and test loss, between chance and the floor."""
    experiment, latest = snapshot.experiment, snapshot.latest
    best = answer_or_none(optimum, experiment.generator, experiment.length)
    table = loss_table(
        snapshot.history,
        known=known_losses(experiment, rungs),
        last_step=experiment.training.steps,
        latest=(latest.step, latest.evaluation),
        cursor=cursor,
    )
    alt = "Loss against step."
    if not snapshot.active:
        # A text that changes draws the chart anew, so it names no figure that still moves.
        alt += f" Test loss {latest.evaluation.nll:.3f} nats at step {latest.step:,}."
        alt += "" if best is None else f" The floor is {best.final.nll:.3f} nats."
    with st.container(key="chart_loss"):
        st.altair_chart(
            loss_chart(
                table, last_step=experiment.training.steps, dark=on_dark(), height=CHART_HEIGHT
            ),
            width="stretch",
            alt=alt,
        )
    st.caption(
        "How to read it: lower is better, and nothing gets below the floor but by luck. Training: "
        "batches before their update; test: sequences never trained on."
    )
