"""Maps from key to query of one run, and of two runs beside each other."""

from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from attnlab import charts
from attnlab.inspection import Comparison, compare
from attnlab.models import AbstractModel, Trace
from attnlab.optimum import Dependence
from attnlab.runs.differences import label_of_change
from attnlab.runs.run import Run
from attnlab.training.experiment import Experiment
from attnlab.ui.controls.uploads import draw_upload, take_run_file
from attnlab.ui.core.figures import waiting
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result, session
from attnlab.ui.inspect.view import SHARES, View, known_truth, sequence_comparison
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

# Number of sequences: enough for a stable map, but few enough to replace every token of each one
# quickly. The time per sequence grows with the square of the length, or faster.
_SEQUENCES, _LONG_SEQUENCES, _FEWEST = 256, 48, 4
_LONG, _VERY_LONG = 24, 32
_MEANING = {
    "attends": "the model attends to",
    "depends": "its prediction depends on",
    "truth": "the true distribution depends on",
}
_UNITS = {"attends": "share", "depends": "total variation", "truth": "total variation"}
# Titles of the axes; {word} is what the process calls a position.
_TITLES = {"attends": ("key: {word} attended to →", "← query: {word} that attends")}
_OTHER_TITLES = ("{word} →", "← predicted from {word}")
_KEY_AND_QUERY = ("key {word} →", "← query {word}")
_FILE, _LOADED, _UPLOAD = "a run file", "second_run", "second_run_file"


class Map(NamedTuple):
    """A map to draw: values, unmasked cells, queries of the rows (from 1), noun of a position.

    Rows of queries before `trained_from` are not trained.
    """

    values: Float[np.ndarray, "query day"]
    seen: Bool[np.ndarray, "query day"]
    queries: tuple[int, ...]
    word: str
    trained_from: int

    def strongest(self) -> str:
        """Return text with the largest value of the last row."""
        row = self.values[-1]
        return f"In the last row {self.word} {row.argmax() + 1} counts most, with {row.max():.2f}."


def _maps_of(experiment: Experiment, found: Comparison, view: View) -> dict[str, Map]:
    """Return the maps by name: all rows, or only that of the query that predicts."""
    length = experiment.length
    past = np.tri(length, dtype=bool)[-len(found.depends) :]
    seen = past if experiment.model.causal else np.ones_like(past)
    measured = {"depends": (found.depends, seen)}
    if found.truth is not None:
        measured["truth"] = (found.truth, past)
    if found.attention:
        attention, pattern = view.of(found.attention)
        measured = {"attends": (pattern, attention.mask), **measured}
    is_whole = len(found.depends) == length
    queries = tuple(range(1, length + 1)) if is_whole else (experiment.read_position + 1,)
    word, trained = experiment.generator.position_word, {"truth"}
    if found.attention and attention is not found.attention[-1]:
        # All its rows are trained, since the last layer reads its output.
        trained.add("attends")
    is_last = experiment.training.loss == "last" and is_whole
    return {
        name: Map(
            view.values(np.asarray(values, float)),
            np.asarray(mask),
            queries,
            word,
            experiment.read_position + 1 if is_last and name not in trained else 1,
        )
        for name, (values, mask) in measured.items()
    }


def choose_sequences(experiment: Experiment, test: np.ndarray) -> np.ndarray | None:
    """Draw the choice of the maps' sequences; return visible tokens of some, or None for one."""
    size = min(len(test), _sequences(experiment.length))
    mean = f"mean of {size}"
    over = st.segmented_control(
        "sequences",
        [mean, "the sequence above"],
        default=mean,
        required=True,
        key="map_over",
        help="Show the mean over test sequences, or the edited sequence above.",
    )
    return test[:size, :-1] if over == mean else None


def draw_maps(
    experiment: Experiment,
    model: AbstractModel,
    sequences: np.ndarray | None,
    tokens: np.ndarray,
    view: View,
) -> None:
    """Draw maps of attention, of the model's dependence and of the true dependence.

    The maps have the same axes and scale. They are means over `sequences` or, without these, of the
    single sequence `tokens`. Below is the difference of two maps.
    """
    true, marginals = known_truth(experiment)
    if sequences is not None:
        truth = None if true is None else true.replacement
        found = kept_result(
            "mean_comparison",
            model,
            len(sequences),
            lambda: compare(experiment, model, sequences, truth, marginals),
        )
    else:
        found = sequence_comparison(experiment, model, tokens, marginals)
    maps = _maps_of(experiment, found, view)
    # Aligned at the bottom, since some titles take two lines.
    columns = st.columns(len(maps), vertical_alignment="bottom")
    for column, (name, each) in zip(columns, maps.items(), strict=True):
        # Maps with the same unit have the same scale.
        same = [maps[n].values for n in maps if view.shares or _UNITS[n] == _UNITS[name]]
        with column, st.container(key=f"chart_{name}"):
            st.markdown(f"**{name}**: what {_MEANING[name]}")
            _draw_map(
                each,
                SHARES if view.shares else _UNITS[name],
                (0, charts.top_of_scale(*same)),
                name=f"Map: {name}",
                alt=f"Map of what {_MEANING[name]}. {each.strongest()}",
                titles=_TITLES.get(name, _OTHER_TITLES),
                ramp=charts.TRUTHS if name == "truth" else charts.SHARES,
            )
    _draw_how_to_read(found, experiment, true)
    pairs = {
        f"{one} − {other}": (one, other)
        for one, other in (("depends", "truth"), ("attends", "depends"), ("attends", "truth"))
        if one in maps and other in maps
    }
    if not pairs:
        return
    with st.expander("Where do two maps differ?", icon=":material/difference:"):
        chosen = st.selectbox("difference", list(pairs), key="map_difference")
        first, second = pairs[chosen]
        unit = "difference of shares" if view.shares else "difference"
        with st.container(key="chart_difference"):
            _draw_difference(
                maps[first], maps[second], unit, name=f"Difference: {chosen}", alt=chosen
            )
        st.caption(f"How to read it: “{first}” is larger in violet cells, “{second}” in brown.")


def _sequences(length: int) -> int:
    """Return the number of sequences that the maps are means over."""
    if length <= _LONG:
        return _SEQUENCES
    return max(_FEWEST, _LONG_SEQUENCES * _VERY_LONG**2 // max(_VERY_LONG, length) ** 2)


def _draw_map(
    each: Map,
    unit: str,
    domain: tuple[float, float],
    *,
    name: str,
    alt: str,
    titles: tuple[str, str] = _KEY_AND_QUERY,
    **look: Any,
) -> None:
    """Draw a map; in the `titles` of keys and queries, {word} is replaced by its noun."""
    rows = len(each.values)
    across, down = (title.format(word=each.word) for title in titles)
    draw_chart(
        charts.map_chart(
            each.values,
            seen=each.seen,
            first_query=each.queries[0],
            title=unit,
            domain=domain,
            titles=(across, down if rows > 1 else "query"),
            queries=each.queries,
            word=each.word,
            trained_from=each.trained_from,
            **look,
        ),
        name=name,
        alt=alt,
    )


def _draw_difference(one: Map, other: Map, unit: str, *, name: str, alt: str) -> None:
    """Draw one map minus another, for the rows that both maps have."""
    rows, word = min(len(one.values), len(other.values)), one.word
    queries = one.queries if len(one.values) == rows else other.queries
    seen = one.seen[-rows:] | other.seen[-rows:]
    values = np.where(seen, one.values[-rows:] - other.values[-rows:], 0.0)
    row, key = np.unravel_index(np.abs(values).argmax(), values.shape)
    most = charts.top_of_scale(values)
    _draw_map(
        Map(values, seen, queries, word, max(one.trained_from, other.trained_from)),
        unit,
        (-most, most),
        name=name,
        alt=f"{alt}: largest at query {word} {queries[row]} and {word} {key + 1}, "
        f"{values[row, key]:+.2f}.",
        ramp=charts.SIGNED,
        form="+.3f",
    )


def _draw_how_to_read(found: Comparison, experiment: Experiment, true: Dependence | None) -> None:
    word, more = experiment.generator.position_word, []
    words = ["How to read it: rows are queries, columns are keys."]
    if (block := charts.block_of(experiment.length)) > 1:
        words.append(f"Each cell is the maximum of a {block} × {block} block.")
    if found.attention:
        words.append(
            f"A {word} that is strong in “attends” but not in “depends” is attended to but not "
            "used."
        )
        more.append(
            f"Attention to {word}s that do not matter is not an error in itself: different "
            "patterns can predict equally well."
        )
    else:
        words.append(
            f"This model has no attention. A {word} that is strong in “depends” but not in “truth” "
            "changes only the model's prediction."
            if true is not None
            else "This model has no attention."
        )
    if len(found.depends) == experiment.length and experiment.training.loss == "last":
        words.append("Faded rows are not trained (loss `last`).")
    if np.isfinite(found.depends_stderr[-1]).all():
        source = "" if true is None else "The true dependence is exact."
        if true is not None and not true.exact:
            most = true.replacement_stderr[-1].max()
            source = f"The true dependence is estimated, ± {most:.3f} at most."
        more.append(
            "The model's dependence in the last row has a standard error of at most "
            f"{found.depends_stderr[-1].max():.3f} (total variation). {source}"
        )
    st.caption(" ".join(words), help=" ".join(more) or None)


@panel("How does another run differ?", key="two_runs", icon="compare")
def draw_two_runs(experiment: Experiment, model: AbstractModel, tokens: np.ndarray) -> None:
    """Draw the same map of the current run and of another run, and their difference."""
    other, word = _draw_run_choice(experiment), experiment.generator.position_word
    if other is None:
        return
    if experiment.length != other.experiment.length:
        st.info(
            f"This run sees {experiment.length} {word}s and the other {other.experiment.length}, "
            "so no sequence fits both. Choose a run of the same length.",
            icon=":material/compare:",
        )
        return
    if experiment.generator.vocabulary != other.experiment.generator.vocabulary:
        st.info(
            "The two runs have different tokens. Choose a run of a process with the same tokens.",
            icon=":material/compare:",
        )
        return
    with waiting():
        _, marginals = known_truth(experiment)
        mine = sequence_comparison(experiment, model, tokens, marginals)
        its = sequence_comparison(
            other.experiment, other.state.model, tokens, marginals, key="other_comparison"
        )
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
    draw_upload("Run file to compare with", key=_UPLOAD, help="Compared with the current run.")
    return st.session_state.get(_LOADED)


def _load(stored: Run | None) -> None:
    st.session_state[_LOADED] = stored


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
    maps, unit = {}, _UNITS[measure]
    for column, (name, (experiment, found)) in zip(columns, runs.items(), strict=False):
        with column:
            words = f"{experiment.generator.name}, {experiment.model.name}, seed {experiment.seed}"
            st.markdown(f"**{name} run**: {as_text(words)}")
            choice = Choice()
            if measure == "attends":
                choice = Choice(0, *draw_head_choice(Trace(found.attention), f"{name}_run"))
            maps[name] = _maps_of(experiment, found, View(False, choice))[measure]
    most = charts.top_of_scale(*(each.values for each in maps.values()))
    for column, (name, each) in zip(columns, maps.items(), strict=False):
        with column, st.container(key=f"chart_{name}_run"):
            alt = f"The {name} run {measure}. {each.strongest()}"
            _draw_map(each, unit, (0, most), name=f"Two runs: {name} run", alt=alt)
    with columns[2], st.container(key="chart_two_runs"):
        st.markdown("**this run − other run**")
        words = "This run minus the other"
        difference = f"difference, {unit}"
        one, other = maps.values()
        _draw_difference(one, other, difference, name="Two runs: difference", alt=words)
    st.caption("Both models read the sequence above. Violet: larger in this run. Brown: smaller.")
