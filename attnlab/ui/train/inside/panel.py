"""The panel with the inside of a model: attention, influence, weights or hidden states."""

from types import MappingProxyType
from typing import Any

import numpy as np
import streamlit as st

from attnlab.configuration.options import present
from attnlab.film.sequence import final_sources
from attnlab.generators import as_task
from attnlab.inspection import depends_on
from attnlab.inspection.targets import on_true_alignment
from attnlab.models import AbstractModel, Trace
from attnlab.models.inside import map_name, mean_trace, trace_of
from attnlab.optimum import token_marginals
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core.display import INSIDE_HEIGHT, on_dark
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.train.inside.maps import MAP_VIEWS
from attnlab.ui.train.inside.other_views import ALIGNMENT_VIEW, VALUE_VIEWS, cross_maps
from attnlab.ui.train.inside.sequence_panel import draw_sequence_choice
from attnlab.ui.train.inside.shown import ALIGNMENT, MEAN, Choice, Influence, Inside, Shown

# In the order of the menu.
VIEWS = MappingProxyType({ALIGNMENT: ALIGNMENT_VIEW, **MAP_VIEWS, **VALUE_VIEWS})

# With more heads, a chip only has room for a name such as "H1".
_NAMED_IN_FULL = 4
# Every redraw replaces each token of each of these sequences by each other token.
_SEQUENCES, _LONG_SEQUENCES, _LONG, _VERY_LONG = 32, 4, 24, 64


def draw_head_choice(
    trace: Trace, key: str, *, first: int | None = None
) -> tuple[int, tuple[int, ...]]:
    """Draw menus for layer and head; return the map's index, and the head as a tuple.

    `first` is the map chosen at first; by default the last one, which makes the prediction.
    """
    maps = trace.attention
    first = len(maps) - 1 if first is None else first
    with st.container(horizontal=True):
        place = _choose("layer", key, [map_name(found) for found in maps], first=first)
        heads = len(maps[place].pattern) if maps else 1
        if heads < 2:
            return place, (0,)
        chips = {"default": 0, "required": True, "label_visibility": "visible"}
        return place, (_draw_chips("head", key, "{}", heads, **chips),)


def draw_inside_choice(inside: Inside) -> tuple[int, tuple[int, ...], str]:
    """Draw menus for view, layer and heads; return the map's index, the heads, and the view."""
    views, trace = views_of(inside), inside.trace
    view = views[_choose("view", "inside", list(views))] if views else ""
    if view == ALIGNMENT:
        names = [f"layer {found.layer + 1}" for found in cross_maps(trace)]
        return _choose("decoder", "inside", names), (0,), view
    if view != "attention":
        return 0, (0,), view
    maps = trace.attention
    # The last layer makes the prediction.
    names = [f"layer {map_name(found)}" for found in maps]
    place = _choose("layer", "inside", names, first=len(maps) - 1)
    heads = len(maps[place].pattern)
    if heads < 2:
        return place, (0,), view
    name = "head {}" if len(maps) == 1 and heads <= _NAMED_IN_FULL else "H{}"
    chips = {"selection_mode": "multi", "label_visibility": "collapsed"}
    chosen = _draw_chips("heads", "inside", name, heads, **chips)
    return place, tuple(sorted(chosen)) or tuple(range(heads)), view


def _draw_chips(label: str, key: str, name: str, heads: int, **how: Any) -> Any:
    """Draw one chip per head; return the chosen head, or a list of heads."""
    return st.pills(
        label,
        range(heads),
        format_func=lambda head: name.format(head + 1),
        # The key includes the count, so that a new count creates a new control.
        key=f"{key}_head_{heads}",
        persist_state="session",
        **how,
    )


def _choose(label: str, key: str, names: list[str], *, first: int = 0) -> int:
    if len(names) < 2:
        return 0
    return st.selectbox(
        label,
        range(len(names)),
        index=first,
        format_func=names.__getitem__,
        key=f"{key}_{label}_{len(names)}",
        persist_state="session",
        label_visibility="collapsed" if key == "inside" else "visible",
        width=150,
    )


def inside_of(model: AbstractModel, snapshot: Snapshot, sequence: int | str) -> Inside:
    """Return the inside of a model on the chosen probe sequence, or the mean over all of them.

    A model without attention has its influence instead, once the tokens' distribution is known.
    """
    probes = present(snapshot.probes)
    if sequence != MEAN:
        probes = probes[[int(sequence)]]
    trace = mean_trace(model, probes) if sequence == MEAN else trace_of(model, probes[0])
    experiment = snapshot.experiment
    if cross_maps(trace):
        on_truth = on_true_alignment(as_task(experiment.generator), model, probes)
        return Inside(trace, on_truth=on_truth)
    if model.has_heads or experiment.generator.prompt_length():
        return Inside(trace)
    marginals = figure(token_marginals, experiment.generator, experiment.length)
    if marginals is None:
        return Inside(trace)
    many = _SEQUENCES if experiment.length <= _LONG else _LONG_SEQUENCES
    many = 1 if experiment.length > _VERY_LONG else many
    found = depends_on(experiment, model, probes[:many], marginals)
    return Inside(trace, Influence(*found, len(probes[:many])))


def views_of(inside: Inside) -> tuple[str, ...]:
    """Return the names of the views that apply to a model, the default view first."""
    return tuple(name for name, view in VIEWS.items() if view.applies(inside))


@panel("Other views of the model", key="views", icon="grid_view")
def draw_views(
    snapshot: Snapshot,
    model: AbstractModel,
    informative: np.ndarray | None,
    at_rest: bool,
) -> None:
    """Draw one view of the model, of one sequence or of the mean over all probe sequences."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        sequence = draw_sequence_choice(snapshot, "views_probe", has_mean=True)
        inside = inside_of(model, snapshot, sequence)
        choice = Choice(sequence, *draw_inside_choice(inside))
    marked = _marked(snapshot, choice, informative)
    shown = Shown(snapshot, inside, choice, marked, at_rest, on_dark())
    with st.container(key="inside"), st.container(key="chart_attention"):
        if choice.view not in views_of(inside):
            st.caption(":material/hourglass_top: Computing …")
            return
        view = VIEWS[choice.view]
        chart, alt = view.chart(shown, INSIDE_HEIGHT), view.alternative(shown)
        draw_chart(chart, name=view.title(shown), alt=alt, fills=True)
    st.caption(view.how(shown))


def _marked(snapshot: Snapshot, choice: Choice, informative: np.ndarray | None) -> tuple[int, ...]:
    """Return the positions, from 1, that the final prediction in the shown maps depends on."""
    if choice.sequence != MEAN:
        tokens = tuple(map(int, present(snapshot.probes)[int(choice.sequence)]))
        sources = final_sources(snapshot.experiment.generator, tokens)
        if sources is not None:
            return sources
    return () if informative is None else tuple(map(int, np.flatnonzero(informative) + 1))
