"""What a model predicts, which tokens its predictions depend on, and what it attends to."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.base import final_logits
from attnlab.models.inside import mean_trace
from attnlab.optimum import influence, possible_pasts
from attnlab.training.evaluation import evaluation_block
from attnlab.training.experiment import Experiment


def check_predicts_all(experiment: Experiment) -> None:
    """Raise `OptionError` unless the model predicts every token from those before it."""
    model, training = experiment.model, experiment.training
    if not model.every_position:
        problem = "it predicts only the final token"
        raise OptionError("model", model.name, problem, "Choose another family")
    if not model.causal:
        problem = "its positions see later tokens"
        raise OptionError("model", model.name, problem, "Choose a causal family or mask")
    if training.loss != "next":
        problem = "only the final token is trained"
        raise OptionError("loss", training.loss, problem, "Choose the loss `next`")


@fixed_numerics()
def final_probs(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"], readout: str
) -> Float[np.ndarray, "sequences vocab"]:
    """Return the model's p(final token | visible tokens) for every sequence."""
    return np.asarray(_final_probs(model, jnp.asarray(sequences), readout), dtype=np.float64)


@eqx.filter_jit
def _final_probs(model, sequences, readout):
    def one(tokens):
        return jax.nn.softmax(final_logits(model, tokens, readout))

    return jax.lax.map(one, sequences, batch_size=evaluation_block(sequences.shape[1]))


@fixed_numerics()
def probs_by_query(
    model: AbstractModel, sequences: Int[Array | np.ndarray, "sequences length"]
) -> Float[np.ndarray, "sequences query vocab"]:
    """Return the softmax of the model's logits at every position of every sequence."""
    return np.asarray(_probs_by_query(model, jnp.asarray(sequences)), dtype=np.float64)


@eqx.filter_jit
def _probs_by_query(model, sequences):
    queries = jnp.arange(sequences.shape[1])

    def one(tokens):
        return jax.nn.softmax(model(tokens, queries)[0])

    return jax.lax.map(one, sequences, batch_size=evaluation_block(sequences.shape[1]))


def confusion(
    probs: Float[np.ndarray, "sequences vocab"], final: Int[np.ndarray, " sequences"]
) -> Int[np.ndarray, "observed predicted"]:
    """Count pairs of the observed token (rows) and the most probable token (columns)."""
    vocab = probs.shape[1]
    pairs = final * vocab + probs.argmax(axis=1)
    return np.bincount(pairs, minlength=vocab**2).reshape(vocab, vocab)


class Comparison(NamedTuple):
    """Mean maps of attention and dependence over the same sequences; rows are queries.

    `attention`: the patterns of every layer and head, if any. `depends`: how much the model's
    prediction at a query changes, in total variation, when a token is resampled. `truth`: the same
    for the true prediction, or None if it is not known. A model that reads the whole sequence at
    once, or that is not read out at the last position, has only the last row.
    """

    attention: tuple[AttentionMap, ...]
    depends: Float[np.ndarray, "query key"]
    depends_stderr: Float[np.ndarray, "query key"]
    truth: Float[np.ndarray, "query key"] | None

    @property
    def attends(self) -> Float[np.ndarray, "query key"] | None:
        """The mean over the heads of the last layer, or None for a model without attention."""
        return np.asarray(self.attention[-1].pattern).mean(axis=0) if self.attention else None


@fixed_numerics()
def compare(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    truth: Float[np.ndarray, "length length"] | None,
    marginals: Float[np.ndarray, "length vocab"],
) -> Comparison:
    """Return what the model attends to, what its predictions depend on, and the true dependence.

    Both dependences exclude the same tokens: replacements that the process cannot produce. `truth`
    is the map of the process, such as `Dependence.replacement`; `marginals` are the distributions
    of the tokens.
    """
    attention = mean_trace(model, sequences).attention
    depends, stderr = depends_on(experiment, model, sequences, marginals)
    if len(depends) < experiment.length:
        read = experiment.read_position
        attention = tuple(_row(found, read) for found in attention)
        truth = None if truth is None else truth[-1:]
    return Comparison(attention, depends, stderr, truth)


@fixed_numerics()
def depends_on(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    marginals: Float[np.ndarray, "length vocab"],
) -> tuple[Float[np.ndarray, "query key"], Float[np.ndarray, "query key"]]:
    """Return how much predictions depend on each token (`Comparison.depends`), and the error."""
    readout, possible = experiment.training.readout, possible_pasts(experiment.generator)

    def by_query(tokens):
        return probs_by_query(model, tokens)

    def of_last(tokens):
        return final_probs(model, tokens, readout)[:, None]

    predict = by_query if experiment.model.every_position and readout == "last" else of_last
    return influence(predict, sequences, marginals, possible)


def _row(found: AttentionMap, query: int) -> AttentionMap:
    row = slice(query, query + 1)
    return AttentionMap(found.pattern[:, row], found.mask[row], found.layer, found.kind)


# The rounding of float32 probabilities.
_ROUNDING = 1e-6


class Means(NamedTuple):
    """Means over the sequences that end in each token (rows), and their standard errors.

    A mean is NaN without such a sequence; an error is NaN with fewer than two.
    """

    mean: Float[np.ndarray, "before after"]
    stderr: Float[np.ndarray, "before after"]


class Transitions(NamedTuple):
    """p(next token | last visible token), averaged over the tokens before.

    `difference` is `model` minus `true`; its error is paired, since both use the same sequences.
    `count` is the number of sequences that end in each token.
    """

    count: Int[np.ndarray, " before"]
    true: Means
    model: Means
    difference: Means


def transitions(
    before: Int[np.ndarray, " sequences"],
    true: Float[np.ndarray, "sequences vocab"],
    model: Float[np.ndarray, "sequences vocab"],
) -> Transitions:
    """Return mean distributions over sequences, grouped by the last visible token `before`."""
    count = np.bincount(before, minlength=true.shape[1])
    means = (_means(before, probs, count) for probs in (true, model, model - true))
    return Transitions(count, *means)


def _means(
    before: Int[np.ndarray, " sequences"],
    values: Float[np.ndarray, "sequences vocab"],
    count: Int[np.ndarray, " before"],
) -> Means:
    def total(columns: Float[np.ndarray, "sequences vocab"]) -> Float[np.ndarray, "before after"]:
        return np.stack([np.bincount(before, each, len(count)) for each in columns.T], axis=1)

    size = count[:, None]
    mean = total(values) / np.where(size > 0, size, np.nan)
    squares = total((values - mean[before]) ** 2)
    error = np.sqrt(squares / np.where(size > 1, size * (size - 1.0), np.nan))
    return Means(mean, np.where(error < _ROUNDING, 0.0, error))
