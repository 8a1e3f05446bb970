"""Training again with one head held at a pattern, beside the free run."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import HUES, Scale, Series, lines_chart, series_table
from attnlab.configuration.options import OptionError
from attnlab.inspection import HeadScore
from attnlab.live.jobs import JobState
from attnlab.runs.snapshot import Snapshot
from attnlab.training.clamp import CLAMPS, clamp, run_clamped
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.loop import EvaluationEvent
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, job_of, start_job
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.in_context.heads_panel import head_title

_WORK, _HEIGHT = "clamp", 260
_FREE = Series("free", HUES.learned)
Curve = tuple[tuple[int, Evaluation], ...]


class Clamped(NamedTuple):
    """A run with a head held at one of `CLAMPS` from `step` on; layer and head count from 0."""

    experiment: Experiment
    layer: int
    head: int
    at: str
    step: int

    @property
    def name(self) -> str:
        """Return a name for the legend."""
        since = f" from step {self.step:,}" * (self.step > 0)
        return f"L{self.layer + 1} H{self.head + 1}: {self.at}{since}"


def curve_of(clamped: Clamped) -> Iterator[Curve]:
    """Train; yield all test results so far after every chunk."""
    experiment, layer, head, at, step = clamped
    tests: Curve = ()
    edit = clamp(experiment, layer=layer, head=head, at=at)
    for event in run_clamped(experiment, edit, step=step):
        if isinstance(event, EvaluationEvent):
            tests = (*tests, (event.step, event.evaluation))
        yield tests


@panel("Clamp a head during training", key="clamp_panel", icon="lock")
def draw_clamp(snapshot: Snapshot, heads: Sequence[HeadScore]) -> None:
    """Draw the controls of a clamped run, and its loss beside that of the free run."""
    experiment, steps = snapshot.experiment, snapshot.experiment.training.steps
    st.markdown(
        "Which head does learning depend on? Train again from the same weights and data, with one "
        "head held at a fixed pattern (Singh et al. 2024)."
    )
    if not snapshot.history.tests or snapshot.history.changes:
        st.caption("Press **Start** to train the free run first, without changes of its settings.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.selectbox(
            "head",
            range(len(heads)),
            format_func=lambda at: head_title(heads[at]),
            key=f"clamp_head_{len(heads)}",
            width=120,
        )
        at = st.selectbox("held at", CLAMPS, 1, key="clamp_at", width=180)
        step = st.number_input("from step", 0, steps - 1, 0, key=f"clamp_step_{steps}", width=140)
        score = heads[place]
        clamped = Clamped(experiment, score.layer - 1, score.head - 1, at, step)
        try:
            clamp(experiment, layer=clamped.layer, head=clamped.head, at=at)
        except OptionError as error:
            draw_error(str(error))
            return
        start = partial(start_job, _WORK, partial(curve_of, clamped), of=clamped)
        draw_job_buttons(_WORK, "Train with this clamp", start)
    job = job_of(_WORK)
    if job is None or job.of.experiment != experiment:
        return
    draw_job(
        _WORK,
        partial(_draw, job.of, snapshot.history.tests),
        failed="The clamped run",
        progress=lambda found: (found[-1][0] / steps if found else 0.0, ""),
    )


def _draw(clamped: Clamped, free: Curve, state: JobState | None) -> None:
    curves = {_FREE.name: free, clamped.name: (state and state.latest) or ()}
    halves = {
        name: f"step {step:,}" if (step := _halfway(curve, free)) is not None else "never"
        for name, curve in curves.items()
    }
    words = ", ".join(f"**{name}** {step}" for name, step in halves.items())
    st.caption(f"The loss is halfway between the free run's first and last loss at: {words}.")
    top = 1.1 * max(_losses(curve).max(initial=0) for curve in curves.values())
    draw_chart(
        lines_chart(
            pd.concat(
                series_table(name, [step for step, _ in curve], _losses(curve))
                for name, curve in curves.items()
            ),
            x=Scale("step", ",d", ",d"),
            y=Scale("test loss (nats)", ".3f", domain=(0.0, float(top))),
            series=(_FREE, Series(clamped.name, HUES.sampled, "square", (9, 3))),
            look="line",
            noun="run",
            tips=(),
            height=_HEIGHT,
        ),
        name="Loss with a clamped head",
        alt=f"Test loss of the free run and of the run with {clamped.name}.",
    )


def _losses(curve: Curve) -> np.ndarray:
    found = [test.by_position.mean if test.by_position else test.nll for _, test in curve]
    return np.array(found, np.float64)


def _halfway(curve: Curve, free: Curve) -> int | None:
    """Return the first step with at most the mean of the free run's first and last loss."""
    ends = _losses(free)
    for (step, _), loss in zip(curve, _losses(curve), strict=True):
        if loss <= (ends[0] + ends[-1]) / 2:
            return step
    return None
