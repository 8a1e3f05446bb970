"""Inspect: the same map of two runs, and their difference."""

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.inspection import Comparison
from attnlab.models import AbstractModel, Trace
from attnlab.runs.differences import label_of_change
from attnlab.runs.storage import Run
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.uploads import draw_upload, take_run_file
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.session import session
from attnlab.ui.inspect.maps_panel import (
    KEY_AND_QUERY,
    Cells,
    cells_of,
    draw_cells,
    draw_difference,
    masks,
    strongest,
)
from attnlab.ui.inspect.view import UNITS, known_truth, sequence_comparison
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

_FILE, _LOADED, _UPLOAD = "a run file", "second_run", "second_run_file"


@panel("Compare with another run", key="two_runs", icon="compare")
def draw_two_runs(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw the same map of the current run and of another run, and their difference."""
    other = _draw_run_choice(experiment)
    known = known_truth(experiment)
    if other is None or known is None:
        return
    if reason := _reason_against(experiment, other.experiment):
        st.info(reason, icon=":material/compare:")
        return
    its = sequence_comparison(
        other.experiment, other.state.model, tokens, known[1], key="other_comparison"
    )
    mine = sequence_comparison(experiment, model, tokens, known[1])
    _draw_comparison({"this": (experiment, mine), "other": (other.experiment, its)})


def _draw_run_choice(experiment: Experiment) -> Run | None:
    past = {run.number: run for run in session().past_runs}
    choice = st.selectbox(
        "other run",
        [*past, _FILE],
        key=f"other_run_{len(past)}",
        format_func=lambda number: (
            number
            if number == _FILE
            else f"{past[number].name}: {label_of_change(experiment, past[number].experiment)}, "
            f"step {past[number].steps:,}"
        ),
        help="An earlier run of this session, or a run file.",
    )
    if choice != _FILE:
        return past[int(choice)].run
    take_run_file(_UPLOAD, _load)
    draw_upload(
        "Run file to compare with",
        key=_UPLOAD,
        help="Compared with the current run.",
    )
    return st.session_state.get(_LOADED)


def _load(stored: Run | None) -> None:
    st.session_state[_LOADED] = stored


def _reason_against(this: Experiment, other: Experiment) -> str:
    """Return why the runs cannot be compared on one sequence, or ""."""
    if this.length != other.length:
        return (
            f"This run sees {this.length} {this.generator.position_word}s and the other "
            f"{other.length}, so no sequence fits both. Choose a run of the same length."
        )
    if this.generator.vocabulary != other.generator.vocabulary:
        return "The two runs have different tokens. Choose a run of a process with the same tokens."
    return ""


def _draw_comparison(runs: dict[str, tuple[Experiment, Comparison]]) -> None:
    without = [
        f"The model of {'the ' * (name == 'other')}{name} run, `{experiment.model.name}`, has no "
        "attention."
        for name, (experiment, found) in runs.items()
        if not found.attention
    ]
    if without:
        st.caption(" ".join(without) + " The maps show what their predictions depend on.")
        measure = "depends"
    else:
        measure = st.segmented_control(
            "compare what the models",
            ["attends", "depends"],
            default="attends",
            required=True,
            format_func=lambda name: {"attends": "attends to", "depends": "depends on"}[name],
            key="two_runs_measure",
        )
    columns = st.columns(3, gap="small", vertical_alignment="bottom")
    maps = {}
    for column, (name, (experiment, found)) in zip(columns, runs.items(), strict=False):
        with column:
            words = f"{experiment.generator.name}, {experiment.model.name}, seed {experiment.seed}"
            st.markdown(f"**{name} run**: {as_text(words)}")
            maps[name] = _map_of_run(experiment, found, measure, name)
    most = charts.top_of_scale(*(each.values for each in maps.values()))
    for column, (name, each) in zip(columns, maps.items(), strict=False):
        with column, st.container(key=f"chart_{name}_run"):
            draw_cells(
                each,
                UNITS[measure],
                (0, most),
                titles=KEY_AND_QUERY,
                name=f"Two runs: {name} run",
                alt=f"The {name} run {measure}. {strongest(each)}",
            )
    with columns[2], st.container(key="chart_two_runs"):
        st.markdown("**this run − other run**")
        unit = f"difference, {UNITS[measure]}"
        words = "This run minus the other"
        one, other = maps.values()
        draw_difference(one, other, unit, name="Two runs: difference", alt=words)
    st.caption("Both models read the sequence above. Violet: larger in this run. Brown: smaller.")


def _map_of_run(experiment: Experiment, found: Comparison, measure: str, name: str) -> Cells:
    if measure == "attends":
        trace = Trace(found.attention)
        attention, values = Choice(0, *draw_head_choice(trace, f"{name}_run")).of(trace)
        return cells_of(np.asarray(values, float), attention.mask, experiment)
    return cells_of(np.asarray(found.depends, float), masks(experiment, found)[0], experiment)
