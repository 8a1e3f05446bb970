"""How the maps of the Inspect page are looked at: in which unit, of which layer and head."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float

from attnlab.inspection import can_align
from attnlab.models import AbstractModel, AttentionMap, Trace
from attnlab.models.inside import trace_of
from attnlab.ui.inspect.comparisons import as_shares
from attnlab.ui.train.inside.panel import draw_head_choice, layer_key
from attnlab.ui.train.inside.shown import Choice

_SHARES, _MEASURED = "share of the row", "as measured"
UNITS = {"attends": "share", "depends": "total variation", "truth": "total variation"}


class View(NamedTuple):
    """The unit, and the part of a trace that is chosen.

    With `shares` every row of a map is divided by its sum; else it is as measured.
    """

    shares: bool
    choice: Choice

    def of(self, attention: tuple[AttentionMap, ...]) -> tuple[AttentionMap, np.ndarray]:
        """The chosen map and the pattern of the chosen head."""
        return self.choice.of(Trace(attention))

    def values(self, measured: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
        """A map in the chosen unit."""
        return as_shares(measured) if self.shares else measured


def draw_task_view(model: AbstractModel, tokens: np.ndarray) -> View:
    """The controls of layer and head alone; at first of a layer that looks at the source."""
    trace = trace_of(model, tokens)
    places = [place for place, found in enumerate(trace.attention) if can_align(found)]
    if len(trace.attention) > 1 and places:
        st.session_state.setdefault(layer_key(trace, "map"), places[-1])
    return View(True, Choice(0, *draw_head_choice(trace, "map")))


def draw_view(model: AbstractModel, tokens: np.ndarray) -> View:
    """The controls of the view on what a model has inside it on a sequence."""
    scale = st.segmented_control(
        "numbers",
        [_SHARES, _MEASURED],
        default=_SHARES,
        required=True,
        key="map_scale",
        help="Share of the row: every row over its sum, so that the three can be compared. As "
        "measured: attention in shares, dependence as total variation from 0 to 1.",
    )
    return View(scale == _SHARES, Choice(0, *draw_head_choice(trace_of(model, tokens), "map")))
