"""Steering: replace the probed belief in an activation, and see what the model predicts then."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.inspection.probes import Probe, activations
from attnlab.models import AbstractModel, Edit, edited

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
