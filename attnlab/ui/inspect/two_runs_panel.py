"""Inspect: this run beside another one, on the same sequence."""

import functools
from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab.charts import (
    dependence_chart,
    dependence_table,
    difference_chart,
    difference_table,
    top_of_scale,
)
from attnlab.configuration.options import OptionError, quoted
from attnlab.inspection import Comparison
from attnlab.models import AbstractModel, Trace
from attnlab.runs.storage import Run, RunFileError, from_bytes
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.controls.uploads import Told, draw_upload, take_upload
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.inspect.comparisons import known_truth, sequence_comparison
from attnlab.ui.inspect.maps_panel import map_height, queries_of, seen_by
from attnlab.ui.inspect.view import UNITS
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice
from attnlab.ui.train.session_past_runs import past_runs

_FILE, _LOADED, _UPLOAD = "a run file", "second_run", "second_run_file"
_ROW_HEIGHT = 150


class _Map(NamedTuple):
    """A map of a run, with the cells that it has, and the days of its rows."""

    values: Float[np.ndarray, "query day"]
    seen: Bool[np.ndarray, "query day"]
    queries: tuple[int, ...]


def draw_two_runs(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """A map of this run, the same of another one, and their difference."""
    panel = st.expander(
        "Compare with another run", key="two_runs", on_change="rerun", icon=":material/compare:"
    )
    if not panel.open:
        return
    with panel:
        other = _draw_run_choice()
        known = known_truth(experiment)
        if other is None or known is None:
            return
        if reason := _reason_against(experiment, other.experiment):
            st.info(reason, icon=":material/compare:")
            return
        _draw_comparison(
            (experiment, sequence_comparison(experiment, model, tokens, known[1])),
            (
                other.experiment,
                sequence_comparison(
                    other.experiment, other.state.model, tokens, known[1], key="other_comparison"
                ),
            ),
        )


def _draw_run_choice() -> Run | None:
    past = {run.number: run for run in past_runs()}
    choice = st.selectbox(
        "other run",
        [*past, _FILE],
        key=f"other_run_{len(past)}",
        format_func=lambda number: (
            number
            if number == _FILE
            else f"{past[number].name}: {past[number].label}, step {past[number].snapshot.step:,}"
        ),
        help="A run of this visit that another one followed, or a file that attnlab saved.",
    )
    if choice != _FILE:
        return past[choice].stored
    take_upload(_UPLOAD, _load)
    draw_upload(
        "Run file to compare with",
        key=_UPLOAD,
        help="It is compared with the present run, which is kept.",
    )
    return st.session_state.get(_LOADED)


def _load(file: UploadedFile | None) -> Told:
    st.session_state[_LOADED] = None
    if file is None:
        return None
    try:
        stored = from_bytes(file.getvalue())
        check_limits(stored.experiment, limits())
    except (RunFileError, OptionError) as error:
        return functools.partial(draw_error, f"{quoted(file.name)}: {error}")
    st.session_state[_LOADED] = stored
    return None


def _reason_against(this: Experiment, other: Experiment) -> str:
    """Why the two cannot be shown the same sequence, or nothing."""
    if this.length != other.length:
        return (
            f"This run sees {this.length} days and the other {other.length}: no sequence fits "
            "both. Choose a run of the same length."
        )
    if this.generator.vocabulary != other.generator.vocabulary:
        return "The tokens of the two runs differ. Choose a run of a process with the same tokens."
    return ""


def _draw_comparison(
    this: tuple[Experiment, Comparison], other: tuple[Experiment, Comparison]
) -> None:
    without = [
        f"The model of {name} run, `{experiment.model.name}`, has no attention."
        for name, (experiment, found) in (("this", this), ("the other", other))
        if not found.attention
    ]
    if without:
        st.caption(" ".join(without) + " Compared is what the predictions depend on.")
        measure = "depends"
    else:
        measure = st.segmented_control(
            "compare what it",
            ["attends", "depends"],
            default="attends",
            required=True,
            format_func=lambda name: {"attends": "attends to", "depends": "depends on"}[name],
            key="two_runs_measure",
        )
    columns = st.columns(3, gap="small", vertical_alignment="bottom")
    maps = []
    for column, (experiment, found), name in zip(
        columns, (this, other), ("this", "other"), strict=False
    ):
        with column:
            st.markdown(f"**{name} run**: {as_text(_description(experiment))}")
            maps.append(_map_of(experiment, found, measure, name))
    rows = min(len(each.values) for each in maps)
    most = top_of_scale(*(each.values for each in maps))
    for column, each, name in zip(columns, maps, ("this", "other"), strict=False):
        with column, st.container(key=f"chart_{name}_run"):
            _draw_map(name, each, measure, most)
    with columns[2], st.container(key="chart_two_runs"):
        st.markdown("**this run - other run**")
        _draw_difference(*maps, rows, measure)
    st.caption(
        "How to read it: both models are shown the sequence above; the two maps have one scale. In "
        "the difference a number above 0 is larger in this run, one below 0 in the other."
        + (" Only the row that makes the prediction is in both." if rows == 1 else "")
    )


def _description(experiment: Experiment) -> str:
    return f"{experiment.generator.name}, {experiment.model.name}, seed {experiment.seed}"


def _map_of(experiment: Experiment, found: Comparison, measure: str, name: str) -> _Map:
    if measure == "attends":
        trace = Trace(found.attention)
        attention, values = Choice(0, *draw_head_choice(trace, f"{name}_run")).of(trace)
        seen = attention.mask
    else:
        values, seen = found.depends, seen_by(experiment, found)
        seen = seen if experiment.model.causal else np.ones_like(seen)
    return _Map(np.asarray(values, float), np.asarray(seen), queries_of(values, experiment))


def _draw_map(name: str, each: _Map, measure: str, most: float) -> None:
    length = each.values.shape[1]
    strongest = int(each.values[-1].argmax())
    draw_chart(
        dependence_chart(
            dependence_table(each.values, seen=each.seen, first_query=each.queries[0]),
            length=length,
            title=UNITS[measure],
            most=most,
            learned=True,
            errors=False,
            dark=on_dark(),
            height=_ROW_HEIGHT if len(each.values) == 1 else map_height(length),
            titles=("key day →", "← query day"),
            queries=each.queries,
        ),
        name=f"Two runs: {name} run",
        alt=f"The {name} run {measure}. In the last row day {strongest + 1} counts most, with "
        f"{each.values[-1, strongest]:.2f}.",
    )


def _draw_difference(this: _Map, other: _Map, rows: int, measure: str) -> None:
    length = this.values.shape[1]
    queries = this.queries[-rows:]
    table = difference_table(
        this.values[-rows:],
        other.values[-rows:],
        queries[0],
        seen=this.seen[-rows:] | other.seen[-rows:],
    )
    largest = table.loc[table["difference"].abs().idxmax()]
    draw_chart(
        difference_chart(
            table,
            length=length,
            most=top_of_scale(table["difference"].to_numpy()),
            title=f"difference, {UNITS[measure]}",
            dark=on_dark(),
            height=_ROW_HEIGHT if rows == 1 else map_height(length),
            queries=queries,
        ),
        name="Two runs: difference",
        alt=f"This run less the other: largest at query day {largest['query']:.0f} and day "
        f"{largest['key']:.0f}, {largest['difference']:+.2f}.",
    )
