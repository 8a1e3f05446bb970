"""Inspect: all queries at once: what each attends to, depends on, and should depend on."""

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from attnlab.charts import (
    dependence_chart,
    dependence_table,
    difference_chart,
    difference_table,
    top_of_scale,
)
from attnlab.inspection import Comparison
from attnlab.models import AbstractModel
from attnlab.optimum import Dependence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.inspect.comparisons import (
    is_truth_known,
    known_truth,
    mean_comparison,
    sequence_comparison,
)
from attnlab.ui.inspect.view import UNITS, View

_HEIGHT, _LONG_HEIGHT, _ROW_HEIGHT = 300, 420, 150
# Enough for a map that is steady to the eye, few enough to be met with every day changed.
_SEQUENCES, _LONG_SEQUENCES, _LONG = 256, 48, 24
_MEANING = {
    "attends": "the model attends to",
    "depends": "its prediction depends on",
    "truth": "the truth depends on",
}


def draw_maps(
    experiment: Experiment, model: AbstractModel, test: np.ndarray, tokens: np.ndarray, view: View
) -> None:
    """Three maps on the same axes and scale, and their difference.

    They are means over visible days of `test`, or of the one sequence `tokens`.
    """
    known = known_truth(experiment)
    if known is None:
        draw_while(
            lambda: not is_truth_known(experiment),
            lambda: st.caption(":material/hourglass_top: Working out the true dependence …"),
            key="truth",
            waited=True,
        )
        return
    true, marginals = known
    size = min(len(test), _SEQUENCES if experiment.length <= _LONG else _LONG_SEQUENCES)
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
    maps = {"depends": found.depends, "truth": found.truth}
    past = seen_by(experiment, found)
    seen = {"depends": past if experiment.model.causal else np.ones_like(past), "truth": past}
    if found.attention:
        attention, attends = view.of(found.attention)
        maps, seen["attends"] = {"attends": attends, **maps}, attention.mask
    drawn = {name: view.values(np.asarray(values, float)) for name, values in maps.items()}
    # Their words may take two lines.
    columns = st.columns(len(drawn), vertical_alignment="bottom")
    for column, (name, values) in zip(columns, drawn.items(), strict=True):
        # Those of one unit are on one scale.
        alike = [drawn[n] for n in drawn if view.shares or UNITS[n] == UNITS[name]]
        unit = "share of the row" if view.shares else UNITS[name]
        with column:
            _draw_map(name, values, seen[name], experiment, unit, top_of_scale(*alike))
    _draw_how_to_read(found, experiment, true)
    _draw_difference(drawn, experiment.length)


def seen_by(experiment: Experiment, found: Comparison) -> Bool[np.ndarray, "query day"]:
    """The days up to the query, for each row of a comparison."""
    return np.tri(experiment.length, dtype=bool)[-len(found.depends) :]


def map_height(length: int) -> int:
    """Rows of many days need room for their names."""
    return _HEIGHT if length <= _LONG else _LONG_HEIGHT


def queries_of(values: np.ndarray, experiment: Experiment) -> tuple[int, ...]:
    """The days of the rows of a map, counted from 1."""
    length = experiment.length
    if len(values) == length:
        return tuple(range(1, length + 1))
    # A single row is the one that makes the prediction, wherever that is read out.
    return (experiment.read_position + 1,)


def _draw_map(
    name: str,
    values: Float[np.ndarray, "query day"],
    seen: Bool[np.ndarray, "query day"],
    experiment: Experiment,
    unit: str,
    most: float,
) -> None:
    alone, queries = len(values) == 1, queries_of(values, experiment)
    day, query = "key: day attended to →", "← query: day that attends"
    if name != "attends":
        day, query = "day →", "← predicted from day"
    strongest = int(values[-1].argmax()) + 1
    with st.container(key=f"chart_{name}"):
        st.markdown(f"**{name}**: what {_MEANING[name]}")
        draw_chart(
            dependence_chart(
                dependence_table(values, seen=seen, first_query=queries[0]),
                length=experiment.length,
                title=unit,
                most=most,
                learned=name != "truth",
                errors=False,
                dark=on_dark(),
                height=_ROW_HEIGHT if alone else map_height(experiment.length),
                titles=(day, "query" if alone else query),
                queries=queries,
            ),
            name=f"Map: {name}",
            alt=f"Map of what {_MEANING[name]}. In the last row day {strongest} counts most, with "
            f"{values[-1, strongest - 1]:.2f}.",
        )


def _draw_how_to_read(found: Comparison, experiment: Experiment, true: Dependence) -> None:
    every = len(found.depends) == experiment.length
    words = ["How to read it: a row is a query, a column a day."]
    if found.attention:
        words.append(
            "A day with a high number under attends and one near 0 under depends is attended to "
            "but not used; one near 0 under attends may still count, since a query carries its own "
            "day. Different patterns can predict alike: attention on other days is no error by "
            "itself."
        )
    else:
        words.append(
            "This model has no attention. A day with a high number under depends and one near 0 "
            "under truth moves the model's prediction, but not the true one."
        )
    if every and experiment.training.loss == "last":
        words.append("With the loss `last` only the last row was trained.")
    if np.isfinite(found.depends_stderr[-1]).all():
        source = (
            "is exact"
            if true.exact
            else f"is estimated, ± {true.replacement_stderr[-1].max():.3f} at most"
        )
        words.append(
            "Standard error of the model's dependence in the last row, in total variation: "
            f"{found.depends_stderr[-1].max():.3f} at most; the truth {source}."
        )
    st.caption(" ".join(words))


def _draw_difference(drawn: dict[str, Float[np.ndarray, "query day"]], length: int) -> None:
    with st.expander("Difference of two maps", icon=":material/difference:"):
        pairs = {
            f"{one} - {other}": (one, other)
            for one, other in (("depends", "truth"), ("attends", "depends"), ("attends", "truth"))
            if one in drawn
        }
        chosen = st.selectbox("difference", list(pairs), key="map_difference")
        one, other = (drawn[name] for name in pairs[chosen])
        rows = min(len(one), len(other))
        table = difference_table(one[-rows:], other[-rows:], length - rows + 1)
        largest = table.loc[table["difference"].abs().idxmax()]
        with st.container(key="chart_difference"):
            draw_chart(
                difference_chart(
                    table,
                    length=length,
                    most=top_of_scale(table["difference"].to_numpy()),
                    dark=on_dark(),
                    height=map_height(length) if rows > 1 else _ROW_HEIGHT,
                    queries=None if rows == length else (length,),
                ),
                name=f"Difference: {chosen}",
                alt=f"{chosen}: largest at query day {largest['query']:.0f} and day "
                f"{largest['key']:.0f}, {largest['difference']:+.2f}.",
            )
        first, second = pairs[chosen]
        st.caption(
            f"How to read it: above 0 {first} is larger, below 0 {second}; the scale has its "
            "numbers above the map."
        )
