"""Inspect: maps from key to query of one run."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from attnlab import charts
from attnlab.inspection import Comparison
from attnlab.models import AbstractModel
from attnlab.optimum import Dependence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.inspect.view import (
    UNITS,
    View,
    is_truth_known,
    known_truth,
    mean_comparison,
    sequence_comparison,
)

# Number of sequences: enough for a stable map, but few enough to replace every token of each one
# quickly. The time per sequence grows with the square of the length, or faster.
_SEQUENCES, _LONG_SEQUENCES, _FEWEST = 256, 48, 4
_LONG, _VERY_LONG = 24, 32
_MEANING = {
    "attends": "the model attends to",
    "depends": "the model's prediction depends on",
    "truth": "the true distribution depends on",
}
# Titles of the axes; {word} is what the process calls a position.
_TITLES = {"attends": ("key: {word} attended to →", "← query: {word} that attends")}
_OTHER_TITLES = ("{word} →", "← predicted from {word}")
KEY_AND_QUERY = ("key {word} →", "← query {word}")


class Cells(NamedTuple):
    """A map to draw: values, unmasked cells, queries of the rows (from 1), noun of a position."""

    values: Float[np.ndarray, "query day"]
    seen: Bool[np.ndarray, "query day"]
    queries: tuple[int, ...]
    word: str


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
        [mean, "the sequence above"],
        default=mean,
        required=True,
        key="map_over",
        help="Show the mean over test sequences, or the edited sequence above.",
    )
    if over == mean:
        found = mean_comparison(experiment, model, test[:size], true, marginals)
    else:
        found = sequence_comparison(experiment, model, tokens, marginals)
    seen, past = masks(experiment, found)
    measured = {"depends": (found.depends, seen), "truth": (found.truth, past)}
    if found.attention:
        attention, attends = view.of(found.attention)
        measured = {"attends": (attends, attention.mask), **measured}
    drawn = {
        name: cells_of(view.values(np.asarray(values, float)), seen, experiment)
        for name, (values, seen) in measured.items()
    }
    # Aligned at the bottom, since some titles take two lines.
    columns = st.columns(len(drawn), vertical_alignment="bottom")
    for column, (name, each) in zip(columns, drawn.items(), strict=True):
        # Maps with the same unit have the same scale.
        same = [drawn[n].values for n in drawn if view.shares or UNITS[n] == UNITS[name]]
        with column, st.container(key=f"chart_{name}"):
            st.markdown(f"**{name}**: what {_MEANING[name]}")
            draw_cells(
                each,
                "share of the row" if view.shares else UNITS[name],
                (0, charts.top_of_scale(*same)),
                ramp=charts.TRUTHS if name == "truth" else charts.SHARES,
                titles=_TITLES.get(name, _OTHER_TITLES),
                name=f"Map: {name}",
                alt=f"Map of what {_MEANING[name]}. {strongest(each)}",
            )
    _draw_how_to_read(found, experiment, true)
    with st.expander("Difference of two maps", icon=":material/difference:"):
        pairs = {
            f"{one} − {other}": (one, other)
            for one, other in (("depends", "truth"), ("attends", "depends"), ("attends", "truth"))
            if one in drawn
        }
        chosen = st.selectbox("difference", list(pairs), key="map_difference")
        first, second = pairs[chosen]
        with st.container(key="chart_difference"):
            draw_difference(
                drawn[first],
                drawn[second],
                "difference of shares" if view.shares else "difference",
                name=f"Difference: {chosen}",
                alt=chosen,
            )
        st.caption(f"How to read it: “{first}” is larger in violet cells, “{second}” in brown.")


def _sequences(length: int) -> int:
    """Return the number of sequences that the maps are means over."""
    if length <= _LONG:
        return _SEQUENCES
    return max(_FEWEST, _LONG_SEQUENCES * _VERY_LONG**2 // max(_VERY_LONG, length) ** 2)


def masks(experiment: Experiment, found: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of what the model and the truth can depend on, for each row of a comparison."""
    past = np.tri(experiment.length, dtype=bool)[-len(found.depends) :]
    return past if experiment.model.causal else np.ones_like(past), past


def cells_of(values: np.ndarray, seen: np.ndarray, experiment: Experiment) -> Cells:
    """Return a map of an experiment, which has all rows or only that of the predicting query."""
    length = experiment.length
    alone = (experiment.read_position + 1,)
    queries = tuple(range(1, length + 1)) if len(values) == length else alone
    return Cells(values, np.asarray(seen), queries, experiment.generator.position_word)


def draw_cells(
    each: Cells,
    unit: str,
    domain: tuple[float, float],
    *,
    titles: tuple[str, str],
    name: str,
    alt: str,
    ramp: charts.Ramp = charts.SHARES,
    form: str = ".3f",
) -> None:
    """Draw a map; in the `titles` of keys and queries, {word} is replaced by its noun."""
    rows, length = each.values.shape
    titles = titles if rows > 1 else (titles[0], "query")
    draw_chart(
        charts.map_chart(
            charts.map_table(each.values, seen=each.seen, first_query=each.queries[0]),
            length=length,
            title=unit,
            domain=domain,
            ramp=ramp,
            titles=(titles[0].format(word=each.word), titles[1].format(word=each.word)),
            queries=each.queries,
            form=form,
            word=each.word,
        ),
        name=name,
        alt=alt,
    )


def strongest(each: Cells) -> str:
    """Return text with the largest value of the last row."""
    row = each.values[-1]
    return f"In the last row {each.word} {row.argmax() + 1} counts most, with {row.max():.2f}."


def draw_difference(one: Cells, other: Cells, title: str, *, name: str, alt: str) -> None:
    """Draw one map minus another, for the rows that both maps have."""
    rows, word = min(len(one.values), len(other.values)), one.word
    queries = one.queries if len(one.values) == rows else other.queries
    seen = one.seen[-rows:] | other.seen[-rows:]
    values = np.where(seen, one.values[-rows:] - other.values[-rows:], 0.0)
    row, key = np.unravel_index(np.abs(values).argmax(), values.shape)
    most = charts.top_of_scale(values)
    draw_cells(
        Cells(values, seen, queries, word),
        title,
        (-most, most),
        ramp=charts.SIGNED,
        titles=KEY_AND_QUERY,
        form="+.3f",
        name=name,
        alt=f"{alt}: largest at query {word} {queries[row]} and {word} {key + 1}, "
        f"{values[row, key]:+.2f}.",
    )


def _draw_how_to_read(found: Comparison, experiment: Experiment, true: Dependence) -> None:
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
        )
    if len(found.depends) == experiment.length and experiment.training.loss == "last":
        words.append("Only the last row was trained (loss `last`).")
    if np.isfinite(found.depends_stderr[-1]).all():
        source = (
            "is exact"
            if true.exact
            else f"is estimated, ± {true.replacement_stderr[-1].max():.3f} at most"
        )
        more.append(
            "The model's dependence in the last row has a standard error of at most "
            f"{found.depends_stderr[-1].max():.3f} (total variation). The true dependence {source}."
        )
    st.caption(" ".join(words), help=" ".join(more) or None)
