"""Training again with one head held at a pattern, beside the free run, over seeds."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import HUES, Scale, Series, lines_chart, series_table
from attnlab.comparisons.intervals import student_interval
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import OptionError
from attnlab.inspection import HeadScore
from attnlab.live.jobs import JobState
from attnlab.runs.snapshot import Snapshot
from attnlab.training.clamp import CLAMPS, clamp, run_clamped
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_comparison
from attnlab.training.loop import EvaluationEvent, Event, run
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, job_of, start_job
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.in_context.heads_panel import head_title

_WORK, _HEIGHT, _MOST_SEEDS = "clamp", 260, 5
_FREE = Series("free", HUES.learned)
Curve = tuple[tuple[int, Evaluation], ...]
# The free and the clamped run of one seed.
Pair = tuple[Curve, Curve]


class Clamped(NamedTuple):
    """Runs with a head held at one of `CLAMPS` from `step` on; layer and head count from 0.

    The first of the `seeds` is that of the experiment, and the others are the following ones.
    """

    experiment: Experiment
    layer: int
    head: int
    at: str
    step: int
    seeds: int = 1

    @property
    def name(self) -> str:
        """Return a name for the legend."""
        since = f" from step {self.step:,}" * (self.step > 0)
        return f"L{self.layer + 1} H{self.head + 1}: {self.at}{since}"


def pairs_of(clamped: Clamped, free: Curve) -> Iterator[tuple[Pair, ...]]:
    """Train with each seed; yield the test results so far, by seed, after every chunk.

    `free` are the results of the free run with the first seed, which is not trained again.
    """
    experiment, layer, head, at, step, seeds = clamped
    edit, done = clamp(experiment, layer=layer, head=head, at=at), ()
    for more in range(seeds):
        with_seed = dataclasses.replace(experiment, seed=experiment.seed + more)
        if more:
            for free in _curves(run(with_seed)):
                yield (*done, (free, ()))
        for curve in _curves(run_clamped(with_seed, edit, step=step)):
            yield (*done, (free, curve))
        done = (*done, (free, curve))


def _curves(events: Iterable[Event]) -> Iterator[Curve]:
    """Yield all test results so far after every event."""
    tests: Curve = ()
    for event in events:
        if isinstance(event, EvaluationEvent):
            tests = (*tests, (event.step, event.evaluation))
        yield tests


@panel("What does the model learn if a head is clamped?", key="clamp_panel", icon="lock")
def draw_clamp(snapshot: Snapshot, heads: Sequence[HeadScore]) -> None:
    """Draw the controls of a clamped run, and its loss beside that of the free run."""
    experiment, steps = snapshot.experiment, snapshot.experiment.training.steps
    st.markdown(
        "Which head does learning depend on? Train again from the same weights and data, with one "
        "head held at a fixed pattern (Singh et al. 2024)."
    )
    if not snapshot.history.tests or snapshot.history.changes:
        st.caption(
            "First train this run without changing its settings. It is the unclamped (free) run."
        )
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
        seeds = st.number_input("seeds", 1, _MOST_SEEDS, 1, key="clamp_seeds", width=110)
        score = heads[place]
        clamped = Clamped(experiment, score.layer - 1, score.head - 1, at, step, seeds)
        try:
            clamp(experiment, layer=clamped.layer, head=clamped.head, at=at)
            check_comparison([experiment, experiment], limits(), seeds=seeds)
        except OptionError as error:
            draw_error(str(error))
            return
        free = snapshot.history.tests
        start = partial(start_job, _WORK, partial(pairs_of, clamped, free), of=clamped)
        draw_job_buttons(_WORK, "Train with this clamp", start)
    job = job_of(_WORK)
    if job is None or job.of.experiment != experiment:
        return
    draw_job(
        _WORK,
        partial(_draw, job.of, free),
        failed="The clamped run",
        progress=lambda found: (_share(found or (), job.of), ""),
    )


def _share(pairs: Sequence[Pair], clamped: Clamped) -> float:
    """Return the share of the steps made; the first free run was trained before."""
    made = sum(curve[-1][0] for pair in pairs for curve in pair if curve)
    return max(0.0, made / clamped.experiment.training.steps - 1) / (2 * clamped.seeds - 1)


def _draw(clamped: Clamped, free: Curve, state: JobState | None) -> None:
    pairs: tuple[Pair, ...] = (state and state.latest) or ((free, ()),)
    names, steps = (_FREE.name, clamped.name), clamped.experiment.training.steps
    done = [pair for pair in pairs if pair[1] and pair[1][-1][0] == steps] or pairs[:1]
    words = ", ".join(
        f"**{name}** {_in_words([_halfway(pair[place], pair[0]) for pair in done])}"
        for place, name in enumerate(names)
    )
    over = f", mean of {len(done)} seeds with 95 % interval" if len(done) > 1 else ""
    st.caption(
        f"Step at which the loss is halfway between the free run's first and last loss{over}: "
        f"{words}."
    )
    tables = [
        series_table(name, [step for step, _ in curve], _losses(curve)).assign(seed=more)
        for more, pair in enumerate(pairs)
        for name, curve in zip(names, pair, strict=True)
    ]
    first, others = pd.concat(tables[:2]), tables[2:]
    top = 1.1 * max(_losses(curve).max(initial=0) for pair in pairs for curve in pair)
    thin = " Thin lines are those of other seeds." * bool(others)
    draw_chart(
        lines_chart(
            first,
            None,
            None,
            pd.concat(others) if others else None,
            x=Scale("step", ",d", ",d"),
            y=Scale("test loss (nats)", ".3f", domain=(0.0, float(top))),
            series=(_FREE, Series(clamped.name, HUES.sampled, "square", (9, 3))),
            look="line",
            noun="run",
            tips=(),
            height=_HEIGHT,
        ),
        name="Loss with a clamped head",
        alt=f"Test loss of the free run and of the run with {clamped.name}.{thin}",
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


def _in_words(steps: Sequence[int | None]) -> str:
    """Return a step, or the mean over seeds with its interval, and how many have none."""
    reached = [step for step in steps if step is not None]
    never = len(steps) - len(reached)
    if not reached:
        return "never"
    found = student_interval(reached).within(0, np.inf)
    interval = "" if found.low is None else f" ({show_range(*found.ends, places=0)})"
    failed = f", never for {never} of {len(steps)} seeds" if never else ""
    return f"{found.mean:,.0f}{interval}{failed}"
