"""Linear probes: how well an affine map of a model's activations gives a known quantity."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.models import AbstractModel
from attnlab.training.evaluation import evaluation_block

_FOLDS = 5
# Ridges as shares of the mean variance of an activation.
_RIDGES = 10.0 ** np.arange(-9, 2)
# Quantile of the normal distribution for an interval of 95 %.
_WIDE = 1.96

Rows = Float[np.ndarray, "sequences positions width"]
Targets = Float[np.ndarray, "sequences positions outputs"]


@fixed_numerics()
def activations(
    model: AbstractModel,
    sequences: Int[Array | np.ndarray, "sequences length"],
    sites: Sequence[str] | None = None,
) -> dict[str, Rows]:
    """Return the activations at every position of every sequence, by site.

    Args:
        model: A model with sites.
        sequences: Visible tokens.
        sites: Names from `model.sites`; by default all.

    Raises:
        OptionError: If the model has no such site.

    """
    chosen = model.sites if sites is None else tuple(sites)
    return {
        site: np.asarray(rows)
        for site, rows in _activations(model, jnp.asarray(sequences), chosen).items()
    }


@eqx.filter_jit
def _activations(model, sequences, sites):
    queries = jnp.arange(sequences.shape[1])

    def one(tokens):
        return dict(model(tokens, queries, capture=sites)[1].residual)

    return jax.lax.map(one, sequences, batch_size=evaluation_block(sequences.shape[1]))


class Score(NamedTuple):
    """The share of variance that a prediction explains, R² = 1 - Σ (y - ŷ)² / Σ (y - mean)².

    `low` and `high` bound it with 95 % confidence, over sequences. All are NaN for a constant y.
    """

    r2: float
    low: float
    high: float


def score(predicted: Targets, targets: Targets) -> Score:
    """Return R² over all positions and outputs, with an interval over independent sequences.

    The error is that of a ratio of two means, linearised (the delta method).
    """
    mean = targets.mean(axis=(0, 1))
    missed = ((targets - predicted) ** 2).sum(axis=(1, 2))
    varies = ((targets - mean) ** 2).sum(axis=(1, 2))
    if not varies.sum() > 0:
        return Score(np.nan, np.nan, np.nan)
    share = missed.sum() / varies.sum()
    count = len(targets)
    error = np.std(missed - share * varies, ddof=1) * np.sqrt(count) / varies.sum()
    return Score(1 - share, 1 - share - _WIDE * error, min(1.0, 1 - share + _WIDE * error))


@dataclasses.dataclass(frozen=True)
class Probe:
    """An affine map y = weight · activation + bias, fitted by least squares with a ridge.

    `ridge` is the penalty of the squared weights, chosen by cross-validation over sequences.
    `covariance` is the covariance matrix of the activations.
    """

    weight: Float[np.ndarray, "outputs width"]
    bias: Float[np.ndarray, " outputs"]
    ridge: float
    covariance: Float[np.ndarray, "width width"]

    def __call__(
        self, rows: Float[np.ndarray, "*many width"]
    ) -> Float[np.ndarray, "*many outputs"]:
        """Return the prediction from activations."""
        return rows @ self.weight.T + self.bias


def fit_probe(rows: Rows, targets: Targets) -> Probe:
    """Fit a probe to the activations of some sequences.

    Minimises Σ |y - Wx - b|² + ridge |W|² over all positions. The ridge is the one with the least
    squared error over five folds of sequences; the fit then uses all of them.

    Args:
        rows: Activations.
        targets: The values to predict from them.

    Raises:
        ValueError: If there are fewer sequences than folds.

    """
    if len(rows) < _FOLDS:
        raise ValueError(
            f"`rows` has {quoted(len(rows))} sequences: a probe needs at least {_FOLDS}."
        )
    folds = [_moments(rows[fold::_FOLDS], targets[fold::_FOLDS]) for fold in range(_FOLDS)]
    whole = np.sum(folds, axis=0)
    width = rows.shape[2]
    # The mean variance of an activation.
    scale = np.trace(_solve_parts(whole, width)[0]) / width
    ridges = _RIDGES * max(scale, np.finfo(float).tiny)
    errors = np.sum([_held_out_errors(whole - fold, fold, width, ridges) for fold in folds], axis=0)
    best = float(ridges[int(np.argmin(errors))])
    weight, bias = _fit(whole, width, np.array([best]))[0]
    return Probe(weight, bias, best, _solve_parts(whole, width)[0] / whole[0, 0])


def _moments(rows: Rows, targets: Targets) -> Float[np.ndarray, "all all"]:
    """Return Σ z zᵀ for z = (1, activation, target), over all positions of all sequences."""
    one = np.ones((*rows.shape[:2], 1))
    stacked = np.concatenate([one, rows, targets], axis=2).reshape(
        -1, 1 + rows.shape[2] + targets.shape[2]
    )
    return stacked.T @ stacked


def _solve_parts(moments: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the centred second moments of x with x and with y, and the means of (x, y)."""
    count, means = moments[0, 0], moments[0, 1:] / moments[0, 0]
    centred = moments[1:, 1:] - count * np.outer(means, means)
    return centred[:width, :width], centred[:width, width:], means


def _fit(
    moments: np.ndarray, width: int, ridges: Float[np.ndarray, " ridges"]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weight and bias for each ridge."""
    xx, xy, means = _solve_parts(moments, width)
    variances, axes = np.linalg.eigh(xx)
    turned = axes.T @ xy
    found = []
    for ridge in ridges:
        weight = (axes @ (turned / (np.maximum(variances, 0) + ridge)[:, None])).T
        found.append((weight, means[width:] - weight @ means[:width]))
    return found


def _held_out_errors(
    train: np.ndarray, test: np.ndarray, width: int, ridges: Float[np.ndarray, " ridges"]
) -> Float[np.ndarray, " ridges"]:
    """Return Σ |y - Wx - b|² over the test moments, for each ridge."""
    errors = []
    for weight, bias in _fit(train, width, ridges):
        # The residual y - Wx - b is a linear map of z.
        residual = np.hstack([-bias[:, None], -weight, np.eye(len(bias))])
        errors.append(np.einsum("oz,zw,ow->", residual, test, residual))
    return np.array(errors)


class ProbeResult(NamedTuple):
    """A fitted probe, and its predictions and score on other sequences.

    `by_position` are the scores at each position alone.
    """

    probe: Probe
    predicted: Targets
    score: Score
    by_position: tuple[Score, ...]


def probe(
    train: tuple[Rows, Targets],
    test: tuple[
        Float[np.ndarray, "test positions width"], Float[np.ndarray, "test positions outputs"]
    ],
) -> ProbeResult:
    """Fit a probe on some sequences, and score it on others.

    Args:
        train: Activations and targets to fit.
        test: Activations and targets of other sequences.

    """
    fitted = fit_probe(*train)
    rows, targets = test
    predicted = fitted(rows)
    by_position = tuple(
        score(predicted[:, [at]], targets[:, [at]]) for at in range(targets.shape[1])
    )
    return ProbeResult(fitted, predicted, score(predicted, targets), by_position)


def last_tokens(
    sequences: Int[np.ndarray, "sequences length"], count: int, vocab: int
) -> Float[np.ndarray, "sequences length features"]:
    """Return the last `count` tokens at every position, one-hot; zeros before the first token."""
    one_hot = np.eye(vocab)[sequences]
    lags = [np.pad(one_hot, ((0, 0), (lag, 0), (0, 0)))[:, : one_hot.shape[1]]
            for lag in range(count)]  # fmt: skip
    return np.concatenate(lags, axis=2)


def joined(
    rows: Mapping[str, Float[np.ndarray, "sequences positions _"]],
) -> Float[np.ndarray, "sequences positions _"]:
    """Return the activations of all sites side by side."""
    return np.concatenate([*rows.values()], axis=2)
