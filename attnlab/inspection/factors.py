"""Measures of the dimension of activations, and of the beliefs of both factors of a `product`."""

import functools
from typing import cast

import numpy as np
from jaxtyping import Float

from attnlab.generators import ProductChain
from attnlab.inspection.belief_probes import (
    BeliefData,
    belief_data,
    sequences_for,
)
from attnlab.inspection.probes import Rows, activations, probe
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, Setup, abstract_state
from attnlab.training.measure import NOT_NEGATIVE, SHARE, Measure

_SHARE, _FACTORS = 0.95, 2
_SEQUENCES = 500


def variances(model: AbstractModel, setup: Setup) -> Float[np.ndarray, " width"]:
    """Return the variances of the activations of the last site along their principal axes.

    They are over all positions of the test sequences, with the largest first.
    """
    site = model.sites[-1]
    found = activations(model, setup.test[:_SEQUENCES, :-1], [site])[site]
    flat = found.reshape(-1, found.shape[-1]).astype(np.float64)
    return np.maximum(np.linalg.eigvalsh(np.cov(flat.T))[::-1], 0)


def dimension(model: AbstractModel, setup: Setup) -> float:
    """Return the number of principal axes that have 95 % of the variance of the activations."""
    found = variances(model, setup)
    return float(np.searchsorted(found.cumsum(), _SHARE * found.sum()) + 1)


def participation_ratio(model: AbstractModel, setup: Setup) -> float:
    """Return (Σ v)² / Σ v² of the variances v along the principal axes of the activations."""
    found = variances(model, setup)
    return float(found.sum() ** 2 / (found**2).sum())


def has_dimension(experiment: Experiment) -> bool:
    """Return whether activations of the model can be read at every position."""
    return experiment.model.every_position and bool(abstract_state(experiment).model.sites)


def has_factors(experiment: Experiment) -> bool:
    """Return whether the beliefs of a `product` can be looked for in the activations."""
    is_product = isinstance(experiment.generator, ProductChain)
    return is_product and experiment.model.causal and has_dimension(experiment)


def lowest_factor_r2(model: AbstractModel, setup: Setup) -> float:
    """Return R² of a linear probe for the belief of the factor for which it is lower."""
    data, rows = _beliefs_of(setup.experiment), _rows_of(model, setup.experiment)
    half = len(rows) // 2
    return min(
        probe((rows[:half], each[:half]), (rows[half:], each[half:])).score.r2
        for each in factor_beliefs(cast(ProductChain, setup.experiment.generator), data)
    )


def factor_cosine(model: AbstractModel, setup: Setup) -> float:
    """Return the largest cosine between directions of one factor and of the other.

    The directions are the column spaces of B₁ and B₂ in the least-squares fit of the activations
    a = c + B₁ b₁ + B₂ b₂, where b₁ and b₂ are the exact beliefs of both factors.
    """
    data, rows = _beliefs_of(setup.experiment), _rows_of(model, setup.experiment)
    # The probabilities of the states sum to 1.
    beliefs = [
        each[..., :-1]
        for each in factor_beliefs(cast(ProductChain, setup.experiment.generator), data)
    ]
    known = np.concatenate([np.ones((*rows.shape[:2], 1)), *beliefs], axis=2)
    fit, *_ = np.linalg.lstsq(known.reshape(-1, known.shape[2]), rows.reshape(-1, rows.shape[2]))
    first = 1 + beliefs[0].shape[2]
    one, other = (np.linalg.qr(part.T)[0] for part in (fit[1:first], fit[first:]))
    return float(np.linalg.svd(one.T @ other, compute_uv=False)[0])


def factor_beliefs(process: ProductChain, data: BeliefData) -> list[Rows]:
    """Return the beliefs about the hidden state of each factor, after each token."""
    names = [tuple(state.split(" · ")) for state in process.hidden_states]
    found = []
    for place in range(_FACTORS):
        states = dict.fromkeys(name[place] for name in names)
        belongs = np.array([[name[place] == state for state in states] for name in names])
        found.append(data.beliefs @ belongs)
    return found


@functools.lru_cache(maxsize=1)
def _beliefs_of(experiment: Experiment) -> BeliefData:
    size = sequences_for(abstract_state(experiment).model, experiment.length)
    return belief_data(experiment.generator, experiment.length, seed=experiment.seed, size=size)


def _rows_of(model: AbstractModel, experiment: Experiment) -> Rows:
    site = model.sites[-1]
    return activations(model, _beliefs_of(experiment).sequences, [site])[site]


_SITES = {"needs": "a model whose activations can be read", "applies": has_dimension}
_PRODUCT = {
    "needs": "`product`, and a causal model whose activations can be read",
    "applies": has_factors,
}
FACTORS = (
    Measure(
        "dimension",
        dimension,
        label="dimension of the activations",
        summary="principal axes with 95 % of the variance of the last site's activations",
        bounds=NOT_NEGATIVE,
        **_SITES,
    ),
    Measure(
        "participation_ratio",
        participation_ratio,
        label="participation ratio of the activations",
        summary="the number of equally strong axes whose variances would be as spread",
        bounds=NOT_NEGATIVE,
        **_SITES,
    ),
    Measure(
        "lowest_factor_r2",
        lowest_factor_r2,
        label="R² of the belief of a factor, the lower one",
        summary="how well a linear probe reads off the belief of each factor",
        bounds=(-np.inf, 1.0),
        **_PRODUCT,
    ),
    Measure(
        "factor_cosine",
        factor_cosine,
        label="largest cosine between the factors",
        summary="0 if the activations have orthogonal subspaces for both factors",
        bounds=SHARE,
        lower_is_better=True,
        **_PRODUCT,
    ),
)
