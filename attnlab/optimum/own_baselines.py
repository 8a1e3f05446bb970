"""The reference predictors that a process names itself, at every position."""

import functools
from collections.abc import Mapping
from functools import partial

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Float

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.generators import AbstractGenerator, draw_many
from attnlab.optimum.best import Best, Optimum, mean_best
from attnlab.optimum.levels import TooManyBeliefsError, in_blocks, levels, references_of_block
from attnlab.optimum.sequences import mean_in_loss

# The standard error of a loss is then some thousandths of a nat.
_SAMPLES = 5_000
_BLOCK = 500
# The size of all predictions of a sample: some tens of megabytes for each predictor.
_MOST_NUMBERS = 8_000_000
# Keeps the sample apart from a run's own draws, as in `sequences`.
_REFERENCE = 2**31 + 2
RULE_KNOWN = "rule known"


# A pure function of a frozen value and a number, needed at every rerun of a page.
@functools.lru_cache(maxsize=64)
@fixed_numerics()
def own_baselines(
    generator: AbstractGenerator, length: int, most: int | None = None
) -> Mapping[str, Optimum]:
    """Return loss and accuracy of the `references` of a process, by position, as in `optimum`.

    `rule known` is the best prediction if the latent rule of the sequence is known as well. It is
    always sampled. The others are exact if the beliefs can be enumerated, up to `most` of them.
    A process without references has none.
    """
    generator = generator.at_length(length)
    names, has_rule = _names(generator, length)
    if not names and not has_rule:
        return {}
    found: dict[str, Optimum] = {}
    if names and not generator.has_loss_mask():
        try:
            found = _enumerated(generator, length, most)
        except TooManyBeliefsError:
            found = {}
    if has_rule or not found:
        found |= {
            name: each for name, each in _sampled(generator, length).items() if name not in found
        }
    return found


def _names(generator: AbstractGenerator, length: int) -> tuple[tuple[str, ...], bool]:
    """Return the names of the references, and whether there is a latent rule."""

    def described(key):
        drawn = generator.draw(generator.start(), key, length + 1)
        start = generator.start()
        return generator.references(start), generator.log_probs_of_rule(drawn.latent, start)

    references, of_rule = jax.eval_shape(described, key_of(0))
    return tuple(references), of_rule is not None


def _enumerated(generator: AbstractGenerator, length: int, most: int | None) -> dict[str, Optimum]:
    found: dict[str, list[Best]] = {}
    for level in levels(generator, length, most=most):
        rows = in_blocks(references_of_block, generator, level.beliefs)
        for name, log_probs in rows.items():
            best = mean_best(*_scores(level.next_probs, log_probs), level.probability)
            found.setdefault(name, []).append(best)
    return {name: Optimum(tuple(each)) for name, each in found.items()}


def _scores(
    true: Float[np.ndarray, "*many vocab"], log_probs: Float[np.ndarray, "*many vocab"]
) -> tuple[Float[np.ndarray, "*many"], Float[np.ndarray, "*many"]]:
    """Return the expected loss and accuracy of predictions."""
    log_probs = np.asarray(log_probs, np.float64)
    with np.errstate(invalid="ignore"):
        losses = -np.where(true > 0, true * log_probs, 0).sum(axis=-1)
    right = np.take_along_axis(true, log_probs.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return losses, right


def _sampled(generator: AbstractGenerator, length: int) -> dict[str, Optimum]:
    key = jr.fold_in(key_of(0), _REFERENCE)
    size = max(2, min(_SAMPLES, _MOST_NUMBERS // ((length + 1) * generator.vocabulary.size)))
    drawn = draw_many(generator, key=key, size=size, length=length + 1)
    exact, rows = reference_rows(generator, generator.start(), drawn)
    true, tokens = np.exp(np.asarray(exact, np.float64)), np.asarray(drawn.tokens)[:, :-1]
    found = {}
    for name, log_probs in jax.tree.map(np.asarray, rows).items():
        # With the rule known, the true law is that of the rule.
        known = np.exp(np.asarray(log_probs, np.float64)) if name == RULE_KNOWN else true
        losses, shares = _scores(known, log_probs)
        by_position = map(mean_best, losses.T, shares.T)
        in_loss = None
        if generator.has_loss_mask():
            in_loss = mean_best(*(mean_in_loss(generator, tokens, v) for v in (losses, shares)))
        found[name] = Optimum(tuple(by_position), in_loss)
    return found


@partial(jax.jit, static_argnames="generator")
def reference_rows(generator, start, drawn):
    """Return log p(next token) before every token of drawn sequences: exact, and of references.

    With a latent rule, the references include the prediction of `RULE_KNOWN`.
    """

    def of_sequence(one):
        tokens, latent = one

        def step(belief, token):
            rows = dict(generator.references(belief))
            if (of_rule := generator.log_probs_of_rule(latent, belief)) is not None:
                rows[RULE_KNOWN] = of_rule
            return generator.update(belief, token), (generator.log_probs(belief), rows)

        return jax.lax.scan(step, start, tokens)[1]

    return jax.lax.map(of_sequence, drawn, batch_size=_BLOCK)
