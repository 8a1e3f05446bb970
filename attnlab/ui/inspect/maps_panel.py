"""Inspect: what the model attends to, what it depends on, what the truth depends on."""

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from attnlab.charts import (
    days_chart,
    days_table,
    difference_chart,
    difference_table,
    pattern_chart,
    pattern_table,
)
from attnlab.inspection import Comparison, compare, informative_days
from attnlab.models import AbstractModel, Trace
from attnlab.models.readout import readout_position
from attnlab.optimum import Dependence, day_laws, dependence, true_influence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.process_figures import answer_or_none, is_answered
from attnlab.ui.train.inside_panel import Choice, draw_head_choice

_HEIGHT, _LONG_HEIGHT, _ROW_HEIGHT = 300, 420, 150
# Enough for a map that is steady to the eye, few enough to be met with every day changed.
_SEQUENCES, _LONG_SEQUENCES, _LONG = 256, 48, 24


def draw_maps(
    experiment: Experiment, model: AbstractModel, test: np.ndarray, single: np.ndarray
) -> None:
    """Three maps on the same axes and scale, their difference, and the score.

    They are means over visible days of `test`, or of the one sequence `single`.
    """
    length = experiment.length
    known = (dependence, day_laws)
    true, laws = (answer_or_none(f, experiment.generator, length) for f in known)
    if true is None or laws is None:
        draw_while(
            lambda: not all(is_answered(f, experiment.generator, length) for f in known),
            lambda: st.caption(":material/hourglass_top: Working out the true dependence …"),
            key="truth",
            waited=True,
        )
        return
    size = min(len(test), _SEQUENCES if length <= _LONG else _LONG_SEQUENCES)
    mean, shares = f"mean of {size}", "share of the row"
    with st.container(horizontal=True):
        over = st.segmented_control(
            "sequences",
            [mean, "the one below"],
            default=mean,
            required=True,
            key="map_over",
            help="Test sequences, or the one that can be edited further down.",
        )
        scale = st.segmented_control(
            "scale",
            [shares, "as measured"],
            default=shares,
            required=True,
            key="map_scale",
            help="As measured: attention in shares, dependence as total variation from 0 to 1. "
            "Share of the row: every row over its sum, so that the three can be compared.",
        )
    if over == mean:
        found = _mean_maps(experiment, model, test[:size], true, laws)
    else:
        truth = true_influence(experiment.generator, single[None], laws)
        found = compare(experiment, model, single[None], truth, laws)
    maps = {"depends": found.depends, "truth": found.truth}
    past = np.tri(length, dtype=bool)[-len(found.depends) :]
    seen = {"depends": past if experiment.model.causal else np.ones_like(past), "truth": past}
    if found.attention:
        trace = Trace(found.attention)
        attention, attends = Choice(0, *draw_head_choice(trace, "map")).of(trace)
        maps = {"attends": attends, **maps}
        seen["attends"] = attention.mask
    drawn = {name: _by_row(values) if scale == shares else values for name, values in maps.items()}
    for column, (name, values) in zip(st.columns(len(drawn)), drawn.items(), strict=True):
        with column:
            unit = "share" if scale == shares else _UNITS[name]
            _draw_map(name, values, seen[name], experiment, unit)
    if found.attention:
        _draw_score(attends, true, length)
    _draw_how_to_read(found, experiment)
    _draw_last_rows(maps, found, true)
    _draw_difference(drawn, length)


def _mean_maps(experiment, model, sequences, true: Dependence, laws) -> Comparison:
    """The comparison, computed once for a model: moving a control must not repeat it."""
    # The model itself is kept, since the identity of one that is gone may be given again.
    kept = st.session_state.get("comparison")
    if kept is None or kept[0] is not model:
        kept = (model, compare(experiment, model, sequences, true.replacement, laws))
        st.session_state["comparison"] = kept
    return kept[1]


def _by_row(values: Float[np.ndarray, "query day"]) -> Float[np.ndarray, "query day"]:
    total = values.sum(axis=1, keepdims=True)
    return values / np.where(total > 0, total, 1)


_MEANING = {
    "attends": "the model attends to",
    "depends": "its prediction depends on",
    "truth": "the truth depends on",
}
_UNITS = {"attends": "share", "depends": "total variation", "truth": "total variation"}


def map_height(length: int) -> int:
    """Rows of many days need room for their names."""
    return _HEIGHT if length <= _LONG else _LONG_HEIGHT


def _draw_map(
    name: str,
    values: Float[np.ndarray, "query day"],
    seen: Bool[np.ndarray, "query day"],
    experiment: Experiment,
    unit: str,
) -> None:
    length, alone = experiment.length, len(values) == 1
    # A single row is the one that makes the prediction, wherever that is read out.
    first = readout_position(experiment.training.readout, length) + 1 if alone else 1
    day, query = "key: day attended to →", "← query: day that attends"
    if name != "attends":
        day, query = "day →", "← predicted from day"
    strongest = int(values[-1].argmax()) + 1
    with st.container(key=f"chart_{name}"):
        st.markdown(f"**{name}**: what {_MEANING[name]}")
        draw_chart(
            pattern_chart(
                pattern_table(values, seen, None, first_query=first),
                length=length,
                symbols=None,
                dark=on_dark(),
                height=_ROW_HEIGHT if alone else map_height(length),
                meaning=unit,
                titles=(day, "query" if alone else query),
                queries=(first,) if alone else None,
            ),
            name=f"Map: {name}",
            alt=f"Map of what {_MEANING[name]}. In the last row day {strongest} counts most, with "
            f"{values[-1, strongest - 1]:.2f}.",
        )


def _draw_score(attends: Float[np.ndarray, "query day"], true: Dependence, length: int) -> None:
    informative = informative_days(true)
    if not informative.any():
        return
    mass = float(attends[-1][informative].sum())
    even = informative.sum() / length
    days = ", ".join(str(day + 1) for day in np.flatnonzero(informative))
    st.markdown(
        f"**{mass:.0%}** of the attention that makes the prediction goes to the truly informative "
        f"days ({days}); spread evenly it would be {even:.0%}."
    )


def _draw_how_to_read(found: Comparison, experiment: Experiment) -> None:
    if not found.attention:
        every = experiment.model.every_position
        st.caption(
            "How to read it: "
            + ("a row is the day that asks, " if every else "")
            + "a column is the day looked at; this model has no attention"
            + (". " if every else ", and reads all days at once. ")
            + "A day that is bright at the left and dark at the right moves the model's "
            "prediction, but not the truth."
            + (" With the loss `last` only the last row was trained." if every else "")
        )
        return
    st.caption(
        "How to read it: a row is the day that asks, a column the day looked at. A day that is "
        "bright at the left and dark in the middle is attended to but not used; one that is dark "
        "at the left may still count, since a query carries its own day. Many patterns predict "
        "alike: a low score is no error by itself. "
        + (
            "Only the row that makes the prediction is compared."
            if len(found.depends) == 1
            else "With the loss `last` only the last row was trained."
        )
    )


def _draw_last_rows(
    maps: dict[str, Float[np.ndarray, "query day"]], found: Comparison, true: Dependence
) -> None:
    rows = {name: _by_row(values[-1:])[0] for name, values in maps.items()}
    strongest = {name: int(values.argmax()) + 1 for name, values in rows.items()}
    with st.container(key="chart_last_row"):
        draw_chart(
            days_chart(days_table(rows), series=tuple(rows), dark=on_dark(), height=200),
            name="The last row by day",
            alt="The last row by day. Most: "
            + ", ".join(f"{name} day {day}" for name, day in strongest.items())
            + ".",
        )
    if np.isfinite(found.depends_stderr[-1]).all():
        error = true.replacement_stderr[-1].max()
        source = "is exact" if true.exact else f"is estimated, ± {error:.3f} at most"
        st.caption(
            "How to read it: the row that makes the prediction, each series as shares of its sum. "
            "Standard error of the model's dependence, in total variation: "
            f"{found.depends_stderr[-1].max():.3f} at most; the truth {source}."
        )


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
                difference_chart(table, length=length, dark=on_dark(), height=map_height(length)),
                name=f"Difference: {chosen}",
                alt=f"{chosen}: largest at query day {largest['query']:.0f} and day "
                f"{largest['key']:.0f}, {largest['difference']:+.2f}.",
            )
        st.caption(
            "How to read it: where the first map is larger the cell has the one hue, where the "
            "second is larger the other; nothing is left out of the scale from -1 to 1."
        )
