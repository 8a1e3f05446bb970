"""Another run beside the current one on the Beliefs page: its R² by site."""

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.inspection import prepare_probes, probe_sites
from attnlab.inspection.belief_probes import SiteProbe, check_can_probe
from attnlab.runs.differences import label_of_change
from attnlab.runs.storage import Run
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.course_panel import show_score, site_title
from attnlab.ui.core.session import kept_result, session


def draw_beside(experiment: Experiment, target: str) -> None:
    """Draw the choice of an earlier run of the same process, and R² at every site of it."""
    past = {
        each.number: each
        for each in session().past_runs
        if each.run is not None and _fits(each.experiment, experiment, target)
    }
    if not past:
        return
    number = st.selectbox(
        "beside another run",
        list(past),
        index=None,
        placeholder="choose an earlier run of this process",
        format_func=lambda number: (
            f"{past[number].name}: {label_of_change(experiment, past[number].experiment)}"
        ),
        key=f"beliefs_beside_{len(past)}",
        width=420,
    )
    run: Run | None = None if number is None else past[number].run
    if run is None:
        return

    def probe() -> tuple[SiteProbe, ...]:
        return probe_sites(prepare_probes(run.experiment, target), run.state.model)

    with st.spinner("Probing the other run …"):
        sites = kept_result("beside", run.state.model, target, probe)
    st.table(
        {
            "activations after": [site_title(each.site) for each in sites],
            f"R², {run.experiment.model.name}": [show_score(each.trained.score) for each in sites],
            "before training": [show_score(each.untrained) for each in sites],
        }
    )


def _fits(other: Experiment, experiment: Experiment, target: str) -> bool:
    """Return whether another run has the same targets."""
    if (other.generator, other.length) != (experiment.generator, experiment.length):
        return False
    try:
        check_can_probe(other, target)
    except OptionError:
        return False
    return True
