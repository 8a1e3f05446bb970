"""What the panels of the Inspect page compare, each worked out once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float, Int

from attnlab.inspection import Comparison, compare
from attnlab.models import AbstractModel, Trace
from attnlab.models.inside import mean_trace
from attnlab.optimum import Dependence, dependence, token_marginals, true_influence
from attnlab.training.experiment import Experiment
from attnlab.ui.core.process_figures import answer_or_none, is_answered

_KNOWN = (dependence, token_marginals)
# Of what depends on nothing, rounding leaves less than this.
_NOTHING = 1e-5

Marginals = Float[np.ndarray, "length vocab"]


def known_truth(experiment: Experiment) -> tuple[Dependence, Marginals] | None:
    """What predictions truly depend on, and how each day is distributed; None until known."""
    true, marginals = (answer_or_none(f, experiment.generator, experiment.length) for f in _KNOWN)
    return None if true is None or marginals is None else (true, marginals)


def is_truth_known(experiment: Experiment) -> bool:
    """Whether `known_truth` is there; asked for in any case."""
    return all(is_answered(f, experiment.generator, experiment.length) for f in _KNOWN)


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
    kept = st.session_state.get(key)
    if kept is None or kept[0] is not model or kept[1] != rest:
        st.session_state[key] = kept = (model, rest, make())
    return kept[2]


def _kept(key: str, question: Any, make: Callable[[], Any]) -> Any:
    kept = st.session_state.get(key)
    if kept is None or kept[0] != question:
        st.session_state[key] = kept = (question, make())
    return kept[1]


def as_shares(values: Float[np.ndarray, "row day"]) -> Float[np.ndarray, "row day"]:
    """Every row over its sum; rows of nothing but rounding are 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > _NOTHING, values / np.where(total > _NOTHING, total, 1), 0.0)
