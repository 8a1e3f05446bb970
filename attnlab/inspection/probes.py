"""Linear probes: affine maps of activations that give a known quantity, and steering by them."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.number_text import show_measured
from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import quoted
from attnlab.models import AbstractModel, Edit, edited
from attnlab.training.evaluation import evaluation_block

_FOLDS = 5
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
    return jax.tree.map(np.asarray, _activations(model, jnp.asarray(sequences), chosen))


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

    r2: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def stderr(self) -> float:
        """The standard error of R² over sequences."""
        return (self.r2 - self.low) / _WIDE


def show_score(score: Score) -> str:
    """Return R² ± one standard error."""
    if np.isnan(score.r2):
        return "not defined"
    return show_measured(score.r2, score.stderr)


def score(predicted: Targets, targets: Targets) -> Score:
    """Return R² over all positions and outputs, with an interval over independent sequences.

    The error is that of a ratio of two means, linearised (the delta method).
    """
    mean = targets.mean(axis=(0, 1))
    missed = ((targets - predicted) ** 2).sum(axis=(1, 2))
    varies = ((targets - mean) ** 2).sum(axis=(1, 2))
    if not varies.sum() > 0:
        return Score()
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
    spread, *_ = _centre(whole, width)
    # Shares of the mean variance of an activation.
    ridges = _RIDGES * max(np.trace(spread) / width, np.finfo(float).tiny)
    errors = np.sum([_held_out_errors(whole - fold, fold, width, ridges) for fold in folds], axis=0)
    best = float(ridges[int(np.argmin(errors))])
    weight, bias = _fit(whole, width, np.array([best]))[0]
    return Probe(weight, bias, best, spread / whole[0, 0])


def _moments(rows: Rows, targets: Targets) -> Float[np.ndarray, "all all"]:
    """Return Σ z zᵀ for z = (1, activation, target), over all positions of all sequences."""
    stacked = np.concatenate([np.ones((*rows.shape[:2], 1)), rows, targets], axis=2)
    stacked = stacked.reshape(-1, stacked.shape[2])
    return stacked.T @ stacked


def _centre(moments: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the centred second moments of x with x and with y, and the means of (x, y)."""
    count, means = moments[0, 0], moments[0, 1:] / moments[0, 0]
    centred = moments[1:, 1:] - count * np.outer(means, means)
    return centred[:width, :width], centred[:width, width:], means


def _fit(
    moments: np.ndarray, width: int, ridges: Float[np.ndarray, " ridges"]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weight and bias for each ridge."""
    xx, xy, means = _centre(moments, width)
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
    """Fit a probe to activations and targets of some sequences, and score it on those of others."""
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
    one_hot, length = np.eye(vocab)[sequences], sequences.shape[1]
    lags = (np.pad(one_hot, ((0, 0), (lag, 0), (0, 0)))[:, :length] for lag in range(count))
    return np.concatenate([*lags], axis=2)


# Directions of the activations that the probe hardly reads are left alone.
_SMALLEST = 1e-6


class Steered(NamedTuple):
    """Next-token distributions of a model whose activation was moved to other beliefs.

    Attributes:
        plain: The prediction without a move.
        probs: The prediction after each move.
        control: The same after moves of the same length in random directions.
        moves: The change of the activation for each belief.

    """

    plain: Float[np.ndarray, " vocab"]
    probs: Float[np.ndarray, "beliefs vocab"]
    control: Float[np.ndarray, "beliefs vocab"]
    moves: Float[np.ndarray, "beliefs width"]


@fixed_numerics()
def steer(
    model: AbstractModel,
    fitted: Probe,
    site: str,
    tokens: Int[np.ndarray, " length"],
    beliefs: Float[np.ndarray, "beliefs states"],
    *,
    position: int = -1,
    seed: int = 0,
) -> Steered:
    """Return what a model predicts at a position once its activation there has another belief.

    The activation a becomes a + C Wᵀ (W C Wᵀ)⁺ (b - (W a + c)), where C is the covariance of the
    activations: of all moves after which the probe W a + c gives the belief b, the most probable
    one under a normal distribution. The smallest move could lie in directions that the activations
    of the model never take. A belief equal to the probed one changes nothing.

    Args:
        model: The model.
        fitted: A probe of the belief at that site.
        site: The site, one of the model's `sites`.
        tokens: The visible tokens.
        beliefs: The beliefs to inject.
        position: The position, whose next token is predicted.
        seed: Seed of the random directions.

    """
    rows = activations(model, tokens[None], [site])[site][0]
    position %= len(rows)
    change = beliefs - fitted(rows[position])
    spread = fitted.covariance @ fitted.weight.T
    moves = change @ (spread @ np.linalg.pinv(fitted.weight @ spread, rcond=_SMALLEST)).T
    sizes = np.linalg.norm(moves, axis=1)
    random = np.random.default_rng(seed).normal(size=moves.shape)
    random *= (sizes / np.linalg.norm(random, axis=1))[:, None]
    where = np.arange(len(rows)) == position
    # In one program, so that equal activations give the same bits.
    all_moves = np.concatenate([np.zeros_like(moves[:1]), moves, random])
    found = _predict(model, jnp.asarray(tokens), site, rows, where, jnp.asarray(all_moves))
    (plain,), probs, control = np.split(np.asarray(found, np.float64), [1, 1 + len(moves)])
    return Steered(plain, probs, control, moves)


@eqx.filter_jit
def _predict(
    model: AbstractModel,
    tokens: Int[Array, " length"],
    site: str,
    rows: Float[Array, "length width"],
    where: Array,
    moves: Float[Array, "moves width"],
) -> Float[Array, "moves vocab"]:
    def one(move: Float[Array, " width"]) -> Float[Array, " vocab"]:
        changed = edited(model, Edit(site=site, value=rows + move[None], where=where))
        logits, _ = changed(tokens, jnp.argmax(where)[None])
        return jax.nn.softmax(logits[0])

    return jax.vmap(one)(moves)
