"""The gap between the exact loss and the floor, as a sum of parts."""

from collections.abc import Iterator
from functools import partial

import streamlit as st

from attnlab import charts
from attnlab.inspection.ledger import PARTS, Ledger, gap_ledger, on_law
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits

_WORK = "ledger"


def draw_ledger(experiment: Experiment, model: AbstractModel, step: int) -> None:
    """Draw the parts of the gap to the floor, computed on request; nothing without a law."""
    if not experiment.generator.has_law:
        return
    with st.expander(
        "Why is the loss above the floor?", key="ledger_panel", icon=":material/stacked_bar_chart:"
    ):
        st.markdown(
            "What would more data, longer training or another model gain? This trains on all "
            "possible sequences, and then minimises the loss by L-BFGS."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            # Keep the model, not its id: Python may reuse the id of a deleted object.
            job = job_of(_WORK)
            if job and job.of is not model:
                forget_job(_WORK)
            make = partial(_results, experiment, model, step)
            draw_job_buttons(_WORK, "Compute", partial(start_job, _WORK, make, of=model))
        draw_job(
            _WORK,
            _draw,
            failed="The computation",
            progress=lambda found: (found.done if found else 0.0, ""),
        )


def _results(experiment: Experiment, model: AbstractModel, step: int) -> Iterator[Ledger]:
    check_limits(on_law(experiment), limits())
    yield from gap_ledger(experiment, model, step=step)


def _draw(state: JobState | None) -> None:
    if state is None or state.latest is None or not state.latest.parts:
        return
    parts = dict(state.latest.parts)
    gap = sum(parts.values())
    words = ", ".join(f"{part} {nats:.4f}" for part, nats in parts.items())
    with st.container(key="chart_ledger"):
        draw_chart(
            charts.ledger_chart(parts),
            name="Parts of the gap",
            alt=f"Loss minus floor is {gap:.4f} nats: {words}.",
        )
    st.caption(
        f"**The exact loss is {gap:.4f} nats above the floor: {words}.** The family costs at most "
        "its part: better weights may exist.",
        help="  \n".join(f"**{part}**: {meaning}" for part, meaning in PARTS.items()),
    )
