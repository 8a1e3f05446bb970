"""Another run beside the current one on the Beliefs page: its R² by site."""

import streamlit as st

from attnlab.configuration.options import present
from attnlab.inspection import prepare_probes, probe_sites
from attnlab.inspection.belief_probes import SiteProbe
from attnlab.models.sites import site_title
from attnlab.runs.differences import label_of_change
from attnlab.runs.library import LibraryError, Query
from attnlab.runs.past_runs import name_of
from attnlab.runs.run_file_header import RunFileError
from attnlab.training.experiment import Experiment
from attnlab.ui.beliefs.course_panel import can_probe, show_score
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.session import kept_result
from attnlab.ui.core.session_library import session_library


def draw_beside(experiment: Experiment, target: str) -> None:
    """Draw the choice of another run of the same process, and its R² at every site."""
    library = session_library().library
    try:
        entries = library.entries(Query(generator=experiment.generator.name))
    except LibraryError:
        # The page Library shows the error.
        return
    found = {
        each.number: each
        for each in entries
        if each.has_model and _fits(each.experiment, experiment, target)
    }
    if not found:
        return
    number = st.selectbox(
        "beside another run",
        list(found),
        index=None,
        placeholder="choose a run of this process",
        format_func=lambda number: (
            f"{name_of(found[number])}: {label_of_change(experiment, found[number].experiment)}"
        ),
        key=f"beliefs_beside_{len(found)}",
        width=420,
        help="The runs of the Library with the same process and length.",
    )
    if number is None:
        return

    def probe() -> tuple[SiteProbe, ...]:
        run = present(library.run_of(number))
        return probe_sites(prepare_probes(run.experiment, target), run.state.model)

    try:
        with st.spinner("Probing the other run …"):
            sites = kept_result("beside", None, (number, found[number].date, target), probe)
    except (LibraryError, RunFileError) as error:
        draw_error(str(error))
        return
    name = found[number].experiment.model.name
    st.table(
        {
            "activations after": [site_title(each.site) for each in sites],
            f"R², {name}": [show_score(each.trained.score) for each in sites],
            "before training": [show_score(each.untrained) for each in sites],
        }
    )


def _fits(other: Experiment, experiment: Experiment, target: str) -> bool:
    """Return whether another run has the same targets, but is not the same run."""
    return (
        other != experiment
        and (other.generator, other.length) == (experiment.generator, experiment.length)
        and can_probe(other, target)
    )
