"""Training and testing on the law itself: on every possible sequence with its probability."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator, loss_mask_of
from attnlab.models import AbstractModel
from attnlab.optimum.best import entropy
from attnlab.optimum.law import law_of
from attnlab.training.evaluation import (
    Evaluation,
    LossByPosition,
    evaluation_block,
    losses_of_tokens,
    outcomes,
)
from attnlab.training.sources import Example, LawSource, as_examples


class Law(NamedTuple):
    """All possible pasts of an experiment as `examples`, with the law of the final token.

    `weight` are their probabilities in double precision. `loss_mask` is None if only the final
    token is tested. `floor` is the expected loss of the exact predictions, in nats.
    """

    examples: Example
    weight: Float[np.ndarray, " pasts"]
    loss_mask: Bool[Array, "pasts positions"] | None
    floor: float


@fixed_numerics()
def prepare_law(generator: AbstractGenerator, length: int) -> Law:
    """Return the law of a process at this length.

    Raises:
        OptionError: If the process has no law, or too many pasts: see `law_of`.
    """
    pasts = law_of(generator, length)
    # Any possible token can be the last one: the law replaces it.
    final = pasts.next_probs.argmax(axis=1)
    tokens = jnp.asarray(np.column_stack([pasts.tokens, final]), jnp.int32)
    loss_mask = loss_mask_of(generator, tokens)
    losses = np.column_stack([-np.log(pasts.token_probs), entropy(pasts.next_probs)])
    of_each = losses[:, -1]
    if loss_mask is not None:
        of_each = losses[np.asarray(loss_mask)].reshape(len(losses), -1).mean(axis=1)
    examples = as_examples(tokens, loss_mask)._replace(
        final_law=jnp.asarray(pasts.next_probs, jnp.float32)
    )
    # Rounded products sum to 1 within 1e-6.
    weight = pasts.probability / pasts.probability.sum()
    return Law(examples, weight, loss_mask, float(weight @ of_each))


@fixed_numerics()
def source_of_law(law: Law) -> LawSource:
    """Return the source that trains on the law, in equal blocks; added rows have no weight."""
    size, positions = law.examples.tokens.shape
    count = -(-size // evaluation_block(positions))
    block = -(-size // count)
    rows = np.arange(count * block) % size
    weight = np.where(np.arange(count * block) < size, law.weight[rows], 0.0)
    padded = jax.tree.map(lambda leaf: leaf[rows], law.examples)
    padded = padded._replace(weight=jnp.asarray(weight, jnp.float32))
    return LawSource(jax.tree.map(lambda leaf: leaf.reshape(count, block, *leaf.shape[1:]), padded))


def evaluate_law(
    model: AbstractModel, law: Law, *, readout: str, by_position: bool = False
) -> Evaluation:
    """Return the expected loss and accuracy of a model, and the loss above the floor.

    They are sums over all possible sequences, as `evaluate` estimates them, so all errors are 0.
    With a loss mask the result has the losses `by_position`.
    """
    tokens, final_law = law.examples.tokens, law.examples.final_law
    each = outcomes(model, tokens, readout=readout, loss_mask=law.loss_mask, final_law=final_law)
    nll, share = (float(law.weight @ values) for values in each)
    # A divergence is never negative; this is rounding.
    found = Evaluation(nll, 0.0, share, 0.0, max(0.0, nll - law.floor), 0.0)
    if not by_position and law.loss_mask is None:
        return found
    losses, _ = losses_of_tokens(model, law.examples)
    if not np.isfinite(losses).all():
        return found
    counted = np.asarray(law.examples.loss_mask)[:, 1:]
    shares = law.weight[:, None] * counted
    total = shares.sum(axis=0)
    positions = np.flatnonzero(total)
    at_each = (shares * losses).sum(axis=0)[positions] / total[positions]
    mean = float((shares * losses).sum() / total.sum())
    exactly = (0.0,) * len(positions)
    places, values = (positions + 1).tolist(), at_each.tolist()
    return found._replace(
        by_position=LossByPosition(tuple(places), tuple(values), exactly, mean, 0.0)
    )
