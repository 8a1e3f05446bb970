"""Inspect: maps from key to query for one run, and for two runs side by side."""

import functools
from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnlab import charts
from attnlab.configuration.options import OptionError, quoted
from attnlab.inspection import Comparison
from attnlab.models import AbstractModel, Trace
from attnlab.optimum import Dependence
from attnlab.runs.differences import label_of_change
from attnlab.runs.storage import Run, RunFileError, from_bytes
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.controls.uploads import Message, draw_upload, take_upload
from attnlab.ui.core.fragments import draw_while, panel
from attnlab.ui.core.outside import as_text, draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import session
from attnlab.ui.inspect.view import (
    UNITS,
    View,
    is_truth_known,
    known_truth,
    mean_comparison,
    sequence_comparison,
)
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

_HEIGHT, _LONG_HEIGHT, _ROW_HEIGHT = 300, 420, 150
# Number of sequences: enough for a stable map, but few enough to replace every token of each one
# quickly. The time per sequence grows with the square of the length, or faster.
_SEQUENCES, _LONG_SEQUENCES, _FEWEST = 256, 48, 4
_LONG, _VERY_LONG = 24, 32
_MEANING = {
    "attends": "the model attends to",
    "depends": "its prediction depends on",
    "truth": "the truth depends on",
}
_TITLES = {"attends": ("key: day attended to →", "← query: day that attends")}
_OTHER_TITLES = ("day →", "← predicted from day")
_FILE, _LOADED, _UPLOAD = "a run file", "second_run", "second_run_file"


class _Map(NamedTuple):
    """A map to draw: values, which cells are unmasked, and the queries of its rows (from 1)."""

    values: Float[np.ndarray, "query day"]
    seen: Bool[np.ndarray, "query day"]
    queries: tuple[int, ...]


def draw_maps(
    experiment: Experiment, model: AbstractModel, test: np.ndarray, tokens: np.ndarray, view: View
) -> None:
    """Draw maps of attention, of the model's dependence and of the true dependence.

    The maps have the same axes and scale. They are means over sequences of `test`, or of the single
    sequence `tokens`. Below is the difference of two maps.
    """
    known = known_truth(experiment)
    if known is None:
        draw_while(
            lambda: not is_truth_known(experiment),
            lambda: st.caption(":material/hourglass_top: Computing the true dependence …"),
            key="truth",
            waited=True,
        )
        return
    true, marginals = known
    size = min(len(test), _sequences(experiment.length))
    mean = f"mean of {size}"
    over = st.segmented_control(
        "sequences",
        [mean, "the one above"],
        default=mean,
        required=True,
        key="map_over",
        help="Test sequences, or the edited one above.",
    )
    if over == mean:
        found = mean_comparison(experiment, model, test[:size], true, marginals)
    else:
        found = sequence_comparison(experiment, model, tokens, marginals)
    seen, past = _masks(experiment, found)
    measured = {"depends": (found.depends, seen), "truth": (found.truth, past)}
    if found.attention:
        attention, attends = view.of(found.attention)
        measured = {"attends": (attends, attention.mask), **measured}
    drawn = {
        name: _map(view.values(np.asarray(values, float)), seen, experiment)
        for name, (values, seen) in measured.items()
    }
    # Aligned at the bottom, since some titles take two lines.
    columns = st.columns(len(drawn), vertical_alignment="bottom")
    for column, (name, each) in zip(columns, drawn.items(), strict=True):
        # Maps with the same unit have the same scale.
        same = [drawn[n].values for n in drawn if view.shares or UNITS[n] == UNITS[name]]
        with column, st.container(key=f"chart_{name}"):
            st.markdown(f"**{name}**: what {_MEANING[name]}")
            _draw_map(
                each,
                "share of the row" if view.shares else UNITS[name],
                charts.top_of_scale(*same),
                ramp=charts.TRUTHS if name == "truth" else charts.SHARES,
                titles=_TITLES.get(name, _OTHER_TITLES),
                name=f"Map: {name}",
                alt=f"Map of what {_MEANING[name]}",
            )
    _draw_how_to_read(found, experiment, true)
    with st.expander("Difference of two maps", icon=":material/difference:"):
        pairs = {
            f"{one} - {other}": (one, other)
            for one, other in (("depends", "truth"), ("attends", "depends"), ("attends", "truth"))
            if one in drawn
        }
        chosen = st.selectbox("difference", list(pairs), key="map_difference")
        first, second = pairs[chosen]
        with st.container(key="chart_difference"):
            _draw_difference(
                drawn[first],
                drawn[second],
                "difference of shares" if view.shares else "difference",
                name=f"Difference: {chosen}",
                alt=chosen,
            )
        st.caption(f"How to read it: above 0 “{first}” is larger, below 0 “{second}”.")


def _sequences(length: int) -> int:
    """Return the number of sequences that the maps are means over."""
    if length <= _LONG:
        return _SEQUENCES
    return max(_FEWEST, _LONG_SEQUENCES * _VERY_LONG**2 // max(_VERY_LONG, length) ** 2)


def _masks(experiment: Experiment, found: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of what the model and the truth can depend on, for each row of a comparison."""
    past = np.tri(experiment.length, dtype=bool)[-len(found.depends) :]
    return past if experiment.model.causal else np.ones_like(past), past


def _map(values: np.ndarray, seen: np.ndarray, experiment: Experiment) -> _Map:
    length = experiment.length
    # A single row is always that of the predicting query.
    alone = (experiment.read_position + 1,)
    queries = tuple(range(1, length + 1)) if len(values) == length else alone
    return _Map(values, np.asarray(seen), queries)


def map_height(length: int, rows: int = 2) -> int:
    """Return the height of a map in pixels; more for long sequences, whose rows need room."""
    if rows == 1:
        return _ROW_HEIGHT
    return _HEIGHT if length <= _LONG else _LONG_HEIGHT


def _draw_map(
    each: _Map,
    unit: str,
    most: float,
    *,
    name: str,
    alt: str,
    titles: tuple[str, str],
    ramp: charts.Ramp = charts.SHARES,
) -> None:
    rows, length = each.values.shape
    strongest = int(each.values[-1].argmax())
    draw_chart(
        charts.map_chart(
            charts.map_table(each.values, seen=each.seen, first_query=each.queries[0]),
            length=length,
            title=unit,
            domain=(0, most),
            ramp=ramp,
            titles=titles if rows > 1 else (titles[0], "query"),
            queries=each.queries,
            height=map_height(length, rows),
        ),
        name=name,
        alt=f"{alt}. In the last row day {strongest + 1} counts most, with "
        f"{each.values[-1, strongest]:.2f}.",
    )


def _draw_difference(one: _Map, other: _Map, title: str, *, name: str, alt: str) -> None:
    """Draw one map minus another, for the rows that both maps have."""
    rows, length = min(len(one.values), len(other.values)), one.values.shape[1]
    shorter = one if len(one.values) == rows else other
    table = charts.map_table(
        one.values[-rows:] - other.values[-rows:],
        seen=one.seen[-rows:] | other.seen[-rows:],
        first_query=shorter.queries[0],
    )
    largest = table.loc[table["value"].abs().idxmax()]
    most = charts.top_of_scale(table["value"].to_numpy())
    draw_chart(
        charts.map_chart(
            table,
            length=length,
            title=title,
            domain=(-most, most),
            ramp=charts.SIGNED,
            titles=("key day →", "← query day"),
            queries=shorter.queries,
            form="+.3f",
            height=map_height(length, rows),
        ),
        name=name,
        alt=f"{alt}: largest at query day {largest['query']:.0f} and day {largest['key']:.0f}, "
        f"{largest['value']:+.2f}.",
    )


def _draw_how_to_read(found: Comparison, experiment: Experiment, true: Dependence) -> None:
    words = ["How to read it: rows are queries, columns are days."]
    if (block := charts.block_of(experiment.length)) > 1:
        words.append(f"Each cell is the strongest of {block} × {block}.")
    if found.attention:
        words.append(
            "High in “attends” but near 0 in “depends”: attended to but not used. Attention to "
            "other days is not an error in itself: different patterns can predict equally well."
        )
    else:
        words.append(
            "This model has no attention. A day high in “depends” but near 0 in “truth” changes "
            "only the model's prediction."
        )
    if len(found.depends) == experiment.length and experiment.training.loss == "last":
        words.append("Only the last row was trained (loss `last`).")
    if np.isfinite(found.depends_stderr[-1]).all():
        source = (
            "is exact"
            if true.exact
            else f"is estimated, ± {true.replacement_stderr[-1].max():.3f} at most"
        )
        words.append(
            "Standard error of the model's dependence in the last row, in total variation: at "
            f"most {found.depends_stderr[-1].max():.3f}; the truth {source}."
        )
    st.caption(" ".join(words))


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
    take_upload(_UPLOAD, _load)
    draw_upload(
        "Run file to compare with",
        key=_UPLOAD,
        help="Compared with the current run.",
    )
    return st.session_state.get(_LOADED)


def _load(file: UploadedFile | None) -> Message:
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
    """Return why the runs cannot be compared on one sequence, or ""."""
    if this.length != other.length:
        return (
            f"This run sees {this.length} days and the other {other.length}, so no sequence fits "
            "both. Choose a run of the same length."
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
        st.caption(" ".join(without) + " The maps show what the predictions depend on.")
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
    maps = {}
    for column, (name, (experiment, found)) in zip(columns, runs.items(), strict=False):
        with column:
            words = f"{experiment.generator.name}, {experiment.model.name}, seed {experiment.seed}"
            st.markdown(f"**{name} run**: {as_text(words)}")
            maps[name] = _map_of_run(experiment, found, measure, name)
    most = charts.top_of_scale(*(each.values for each in maps.values()))
    for column, (name, each) in zip(columns, maps.items(), strict=False):
        with column, st.container(key=f"chart_{name}_run"):
            _draw_map(
                each,
                UNITS[measure],
                most,
                titles=("key day →", "← query day"),
                name=f"Two runs: {name} run",
                alt=f"The {name} run {measure}",
            )
    with columns[2], st.container(key="chart_two_runs"):
        st.markdown("**this run - other run**")
        unit = f"difference, {UNITS[measure]}"
        words = "This run minus the other"
        one, other = maps.values()
        _draw_difference(one, other, unit, name="Two runs: difference", alt=words)
    st.caption(
        "Both models read the sequence above, and both maps have the same scale. Positive "
        "differences: larger in this run."
    )


def _map_of_run(experiment: Experiment, found: Comparison, measure: str, name: str) -> _Map:
    if measure == "attends":
        trace = Trace(found.attention)
        attention, values = Choice(0, *draw_head_choice(trace, f"{name}_run")).of(trace)
        return _map(np.asarray(values, float), attention.mask, experiment)
    return _map(np.asarray(found.depends, float), _masks(experiment, found)[0], experiment)
