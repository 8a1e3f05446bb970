"""What the panels of “Where it looks” share: the true dependence, comparisons, view settings."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from attnlab.inspection import Comparison, compare
from attnlab.models import AbstractModel, AttentionMap, Trace
from attnlab.models.inside import mean_trace, trace_of
from attnlab.optimum import Dependence, dependence, token_marginals, true_influence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import Pending, figure
from attnlab.ui.core.session import kept_result
from attnlab.ui.train.inside.panel import draw_head_choice
from attnlab.ui.train.inside.shown import Choice

# A smaller row sum is rounding error: the prediction depends on nothing.
_NOTHING = 1e-5

Marginals = Float[np.ndarray, "length vocab"]
SHARES, _MEASURED = "share of the row", "as measured"


def known_truth(experiment: Experiment) -> tuple[Dependence | None, Marginals]:
    """Return true dependence, None without a law, and token distributions, or raise `Pending`."""
    process, length = experiment.generator, experiment.length
    marginals = figure(token_marginals, process, length)
    true = figure(dependence, process, length) if process.has_law else None
    if marginals is None or (true is None and process.has_law):
        raise Pending("Computing the true dependence …")
    return true, marginals


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
    process, days = experiment.generator, tuple(tokens.tolist())
    truth = kept_result(
        f"{key}_truth",
        None,
        (process, days),
        lambda: true_influence(process, tokens[None], marginals) if process.has_law else None,
    )
    return kept_result(
        key, model, days, lambda: compare(experiment, model, tokens[None], truth, marginals)
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

    @property
    def unit(self) -> str:
        """What a number is, for the title of a legend."""
        return SHARES if self.shares else _MEASURED

    def of(self, attention: tuple[AttentionMap, ...]) -> tuple[AttentionMap, np.ndarray]:
        """Return the chosen map and the pattern of its chosen head, `(query, key)`."""
        return self.choice.of(Trace(attention))

    def values(self, measured: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
        """Return measured values in the chosen unit."""
        return as_shares(measured) if self.shares else measured


def draw_view(model: AbstractModel, tokens: np.ndarray) -> View:
    """Draw the menus for unit, layer and head; return the view that they describe."""
    scale = st.segmented_control(
        "cell values",
        [SHARES, _MEASURED],
        default=SHARES,
        required=True,
        key="map_scale",
        help="Share of the row: each row is divided by its sum, so that maps can be compared. As "
        "measured: attention as a share, dependence as total variation from 0 to 1.",
    )
    return View(scale == SHARES, Choice(0, *draw_head_choice(trace_of(model, tokens), "map")))
