"""How the maps of the Inspect page are looked at, and what its panels compare."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from attnlab.inspection import Comparison, can_align, compare
from attnlab.models import AbstractModel, AttentionMap, Trace
from attnlab.models.inside import mean_trace, trace_of
from attnlab.optimum import Dependence, dependence, token_marginals, true_influence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import figure, is_known
from attnlab.ui.core.session import session
from attnlab.ui.train.inside.panel import draw_head_choice, layer_key
from attnlab.ui.train.inside.shown import Choice

_KNOWN = (dependence, token_marginals)
# Of what depends on nothing, rounding leaves less than this.
_NOTHING = 1e-5

Marginals = Float[np.ndarray, "length vocab"]
_SHARES, _MEASURED = "share of the row", "as measured"
UNITS = {"attends": "share", "depends": "total variation", "truth": "total variation"}


def known_truth(experiment: Experiment) -> tuple[Dependence, Marginals] | None:
    """What predictions truly depend on, and how each day is distributed; None until known."""
    true, marginals = (figure(f, experiment.generator, experiment.length) for f in _KNOWN)
    return None if true is None or marginals is None else (true, marginals)


def is_truth_known(experiment: Experiment) -> bool:
    """Whether `known_truth` is there; asked for in any case."""
    return all(is_known(f, experiment.generator, experiment.length) for f in _KNOWN)


def sequence_comparison(
    experiment: Experiment,
    model: AbstractModel,
    tokens: np.ndarray,
    marginals: Marginals,
    *,
    key: str = "sequence_comparison",
) -> Comparison:
    """The comparison on one sequence alone. Those of another `key` are kept beside it."""
    days = tuple(tokens.tolist())
    truth = _kept(
        f"{key}_truth",
        (experiment.generator, days),
        lambda: true_influence(experiment.generator, tokens[None], marginals),
    )
    return kept_of_model(
        key, model, days, lambda: compare(experiment, model, tokens[None], truth, marginals)
    )


def mean_comparison(
    experiment: Experiment,
    model: AbstractModel,
    sequences: np.ndarray,
    true: Dependence,
    marginals: Marginals,
) -> Comparison:
    """The comparison as a mean over sequences."""
    return kept_of_model(
        "mean_comparison",
        model,
        len(sequences),
        lambda: compare(experiment, model, sequences, true.replacement, marginals),
    )


def mean_patterns(
    model: AbstractModel, sequences: Int[np.ndarray, "size length"], *, key: str = "mean_patterns"
) -> Trace:
    """The trace as a mean over sequences. Those of another `key` are kept beside it."""
    return kept_of_model(key, model, sequences.tobytes(), lambda: mean_trace(model, sequences))


def kept_of_model(key: str, model: AbstractModel, rest: Any, make: Callable[[], Any]) -> Any:
    """What is made of a model and the rest of a question, once for the last ones under the key."""
    # The model itself is kept, since the identity of one that is gone may be given again.
    kept = session().kept.get(key)
    if kept is None or kept[0] is not model or kept[1] != rest:
        session().kept[key] = kept = (model, rest, make())
    return kept[2]


def _kept(key: str, question: Any, make: Callable[[], Any]) -> Any:
    kept = session().kept.get(key)
    if kept is None or kept[0] != question:
        session().kept[key] = kept = (question, make())
    return kept[1]


def as_shares(values: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
    """Every row over its sum; rows of nothing but rounding are 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > _NOTHING, values / np.where(total > _NOTHING, total, 1), 0.0)


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
