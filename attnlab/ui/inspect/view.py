"""What the panels of the Inspect page share: the view settings and cached comparisons."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from attnlab.inspection import Comparison, can_align, compare
from attnlab.models import AbstractModel, AttentionMap, Trace
from attnlab.models.inside import mean_trace, trace_of
from attnlab.optimum import Dependence, dependence, token_marginals, true_influence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import figure, is_known
from attnlab.ui.core.session import kept_result
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

_KNOWN = (dependence, token_marginals)
# A smaller row sum is rounding error: the prediction depends on nothing.
_NOTHING = 1e-5

Marginals = Float[np.ndarray, "length vocab"]
_SHARES, _MEASURED = "share of the row", "as measured"
UNITS = {"attends": "share", "depends": "total variation", "truth": "total variation"}


def known_truth(experiment: Experiment) -> tuple[Dependence, Marginals] | None:
    """Return the true dependence and each position's token distribution, or None if unknown."""
    true, marginals = (figure(f, experiment.generator, experiment.length) for f in _KNOWN)
    return None if true is None or marginals is None else (true, marginals)


def is_truth_known(experiment: Experiment) -> bool:
    """Return whether `known_truth` is available; if not, start computing it."""
    return all(is_known(f, experiment.generator, experiment.length) for f in _KNOWN)


def sequence_comparison(
    experiment: Experiment,
    model: AbstractModel,
    tokens: np.ndarray,
    marginals: Marginals,
    *,
    key: str = "sequence_comparison",
) -> Comparison:
    """Return what a model attends to and depends on in one sequence, and the true dependence.

    The last result is cached under `key`.
    """
    days = tuple(tokens.tolist())
    truth = kept_result(
        f"{key}_truth",
        None,
        (experiment.generator, days),
        lambda: true_influence(experiment.generator, tokens[None], marginals),
    )
    return kept_result(
        key, model, days, lambda: compare(experiment, model, tokens[None], truth, marginals)
    )


def mean_comparison(
    experiment: Experiment,
    model: AbstractModel,
    sequences: np.ndarray,
    true: Dependence,
    marginals: Marginals,
) -> Comparison:
    """Return what a model attends to and depends on, and the true dependence, over sequences."""
    return kept_result(
        "mean_comparison",
        model,
        len(sequences),
        lambda: compare(experiment, model, sequences, true.replacement, marginals),
    )


def mean_patterns(
    model: AbstractModel, sequences: Int[np.ndarray, "size length"], *, key: str = "mean_patterns"
) -> Trace:
    """Return a model's trace averaged over sequences; the last one is cached under `key`."""
    return kept_result(key, model, sequences.tobytes(), lambda: mean_trace(model, sequences))


def as_shares(values: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
    """Divide every row by its sum; rows that are only rounding errors become 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > _NOTHING, values / np.where(total > _NOTHING, total, 1), 0.0)


class View(NamedTuple):
    """The unit of the maps, and the chosen layer and head.

    With `shares` every row of a map is divided by its sum; otherwise values are as measured.
    """

    shares: bool
    choice: Choice

    def of(self, attention: tuple[AttentionMap, ...]) -> tuple[AttentionMap, np.ndarray]:
        """Return the chosen map and the pattern of its chosen head, `(query, key)`."""
        return self.choice.of(Trace(attention))

    def values(self, measured: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
        """Return measured values in the chosen unit."""
        return as_shares(measured) if self.shares else measured


def draw_task_view(model: AbstractModel, tokens: np.ndarray) -> View:
    """Draw menus for layer and head; by default, the last layer that attends to the source."""
    trace = trace_of(model, tokens)
    places = [place for place, found in enumerate(trace.attention) if can_align(found)]
    return View(True, Choice(0, *draw_head_choice(trace, "map", first=(places or [0])[-1])))


def draw_view(model: AbstractModel, tokens: np.ndarray) -> View:
    """Draw the menus for unit, layer and head; return the view that they describe."""
    scale = st.segmented_control(
        "cell values",
        [_SHARES, _MEASURED],
        default=_SHARES,
        required=True,
        key="map_scale",
        help="Share of the row: each row is divided by its sum, so that maps can be compared. As "
        "measured: attention as a share, dependence as total variation from 0 to 1.",
    )
    return View(scale == _SHARES, Choice(0, *draw_head_choice(trace_of(model, tokens), "map")))
