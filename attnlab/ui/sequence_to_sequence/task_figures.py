"""How much the task asks for, and how many whole targets the model writes without a mistake."""

import math
from functools import partial

import numpy as np
import streamlit as st

from attnlab.configuration.number_text import show_measured, show_percent
from attnlab.generators import AbstractTask
from attnlab.inspection.targets import TargetTest
from attnlab.training.shares import share_in_training
from attnlab.ui.core.uncertainty import OF_OTHER_SEEDS, OVER_TEST_SEQUENCES
from attnlab.ui.sequence_to_sequence.target_work import draw_target_test
from attnlab.ui.train.bench import Bench


def draw_task_figures(bench: Bench) -> None:
    """The task in numbers; of a run that stands still its exact match over the test set."""
    snapshot, task = bench.snapshot, bench.snapshot.experiment.generator
    if not isinstance(task, AbstractTask):
        return
    share = share_in_training(snapshot.experiment)
    floor, bits = task.floor(), math.log2(task.targets())
    st.caption(
        f"{task.sources():,} sources, all equally likely. A code of fixed length needs {bits:.1f} "
        f"bits for their targets. Training meets {show_percent(share)} of the sources; no test "
        f"source is in a fixed training set. The floor is {floor:.3g} nats a target token"
        + ("." if floor else ": the target is a function of the source.")
    )
    test = bench.run.test_sequences()
    if snapshot.latest is None or snapshot.active or test is None:
        st.caption("Exact match: tested when the run pauses or ends.")
        return
    draw = partial(_draw, task=task, tested=len(test), step=snapshot.step)
    draw_target_test(task, snapshot.latest.model, np.asarray(test), draw)


def _draw(found: TargetTest, *, task: AbstractTask, tested: int, step: int) -> None:
    with st.container(horizontal=True, gap="medium", key="task_figures"):
        st.metric(
            f"exact match (%), step {step:,}",
            show_measured(100 * found.exact_match, 100 * found.exact_match_stderr, most_places=2),
            width="content",
            help=f"Share of {tested:,} test sources whose target is right from end to end, "
            f"written greedily by the model alone; {OVER_TEST_SEQUENCES}; {OF_OTHER_SEEDS}.",
        )
        last = len(found.tokens.positions) - 1
        for name, place in (("first", 0), ("last", last)):
            st.metric(
                f"loss of the {name} {task.token_name} (nats)",
                show_measured(
                    float(found.tokens.nll[place]), float(found.tokens.nll_stderr[place])
                ),
                width="content",
                help=f"Given the true ones before it; {OVER_TEST_SEQUENCES}. "
                "Inspect shows all places.",
            )
