"""The difficulty of a task, and the share of whole targets that a model gets right."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.comparisons.uncertainty import OF_OTHER_SEEDS, OVER_TEST_SEQUENCES
from attnlab.configuration.number_text import show_measured, show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask, is_task
from attnlab.inspection.targets import TargetTest, check_targets
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel
from attnlab.training.shares import share_in_training
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.jobs import draw_job, job_of, start_job
from attnlab.ui.train.training_page import Bench

_WORK = "target_test"


def draw_target_test(
    task: AbstractTask, model: AbstractModel, test: np.ndarray, draw: Callable[[TargetTest], None]
) -> None:
    """Test the model in the background; draw the results with `draw`, or a note until then."""

    def check() -> Iterator[TargetTest]:
        yield check_targets(task, model, jnp.asarray(test))

    # Keep the model, not its id: Python may reuse the id of a deleted object.
    job = job_of(_WORK)
    if job is None or job.of is not model:
        start_job(_WORK, check, of=model)

    def draw_state(state: JobState) -> None:
        if state.latest is not None:
            draw(state.latest)
        elif not state.error:
            st.caption(f":material/hourglass_top: {state.message or 'Computing the exact match …'}")

    draw_job(_WORK, draw_state, failed="The test of whole targets")


def draw_task_figures(bench: Bench) -> None:
    """Draw the size of the task and, when the run is not training, its exact match."""
    snapshot, task = bench.snapshot, bench.snapshot.experiment.generator
    if not is_task(task):
        return
    share = share_in_training(snapshot.experiment)
    floor, bits = task.floor(), math.log2(task.targets())
    st.caption(
        f"Training sees {show_percent(share)} of the {task.sources():,} possible sources, all "
        f"equally likely. Identifying a target takes {bits:.1f} bits. The best possible loss is "
        f"{floor:.3g} nats per target token"
        + ("." if floor else ": the source determines the target.")
    )
    test = bench.run.test_sequences()
    if snapshot.latest is None or snapshot.active or test is None:
        st.caption("The exact match is tested when the run pauses or ends.")
        return
    draw = partial(_draw_figures, task=task, tested=len(test), step=snapshot.step)
    draw_target_test(task, present(snapshot.latest.model), np.asarray(test), draw)


def _draw_figures(found: TargetTest, *, task: AbstractTask, tested: int, step: int) -> None:
    with st.container(horizontal=True, gap="medium", key="task_figures"):
        draw_metric(
            f"exact match (%), step {step:,}",
            show_measured(*(100 * each for each in found.exact_match), most_places=2),
            f"Share of {tested:,} test sources whose whole target is correct, decoded greedily; "
            f"{OVER_TEST_SEQUENCES}; {OF_OTHER_SEEDS}.",
        )
        nll, stderr = found.tokens.nll, found.tokens.nll_stderr
        for name, place in (("first", 0), ("last", -1)):
            draw_metric(
                f"loss of the {name} {task.token_name} (nats)",
                show_measured(float(nll[place]), float(stderr[place])),
                f"Given the true tokens before it; {OVER_TEST_SEQUENCES}. Look inside has the "
                "loss of every token.",
            )
