"""Methods that rank the visible positions of a sequence by how much they explain its prediction.

A method is one function and one line of `METHODS`. It takes an `Explained` and returns a score for
each sequence and position, whose size counts; several rankings, such as those of single heads, have
an axis between. It returns None for a family that it does not apply to.
"""

import dataclasses
import zlib
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.registry import Registry
from attnlab.inspection.predictions import final_probs
from attnlab.inspection.probes import activations, probe
from attnlab.models import AbstractModel
from attnlab.models.attention import Attention
from attnlab.models.transformer import Transformer
from attnlab.optimum.dependence import effects_of_replacing
from attnlab.training.experiment import Experiment

# Points of the path of integrated gradients.
_NODES = 32
Scores = Float[np.ndarray, "sequences *rankings length"]


class Explained(NamedTuple):
    """Predictions to explain: a model, the visible tokens, and the distributions of the tokens."""

    experiment: Experiment
    model: AbstractModel
    tokens: Int[np.ndarray, "sequences length"]
    marginals: Float[np.ndarray, "length vocab"]

    @property
    def rows(self) -> Float[np.ndarray, "sequences length vocab"]:
        """The tokens, one-hot."""
        return np.eye(self.marginals.shape[1], dtype=np.float32)[self.tokens]


def attention(explained: Explained) -> Scores | None:
    """Return the attention of the query that predicts, as the mean over the last layer's heads."""
    patterns = _patterns(explained)
    return None if patterns is None else patterns[-1].mean(axis=1)


def heads(explained: Explained) -> Scores | None:
    """Return the attention of the query that predicts, for each head of each layer."""
    patterns = _patterns(explained)
    return None if patterns is None else np.concatenate(patterns, axis=1)


def attention_times_values(explained: Explained) -> Scores | None:
    """Return α ‖v W_O‖, summed over the last layer's heads.

    References:
        Kobayashi et al. (2020), "Attention is not only a weight", equation 6.
    """
    patterns = _patterns(explained)
    if patterns is None or not isinstance(explained.model, Attention | Transformer):
        return None
    norms = np.asarray(_value_norms(explained.model, jnp.asarray(explained.tokens)))
    return (patterns[-1] * norms).sum(axis=1)


def rollout(explained: Explained) -> Scores | None:
    """Return attention rollout: the product over layers of ½ (A + 1), A the mean over heads.

    Layers without residual connections have A alone.

    References:
        Abnar and Zuidema (2020), "Quantifying attention flow in transformers", section 3.
    """
    layers = _all_patterns(explained)
    if layers is None:
        return None
    flow, options = np.eye(explained.tokens.shape[1]), explained.experiment.model
    for pattern in layers:
        mean = pattern.mean(axis=1)
        if getattr(options, "residual", "without") == "with":
            mean = (mean + np.eye(mean.shape[-1])) / 2
        flow = mean @ flow
    return flow[:, explained.experiment.read_position]


def gradient(explained: Explained) -> Scores:
    """Return gradient × token embedding, of the log-probability of the likeliest token."""
    rows = explained.rows
    return (_gradients(explained, rows) * rows).sum(axis=2)


def integrated_gradients(explained: Explained) -> Scores:
    """Return integrated gradients along the line from the mean embedding of all tokens.

    They sum to the difference of the log-probabilities at both ends.

    References:
        Sundararajan, Taly and Yan (2017), "Axiomatic attribution for deep networks", equation 1.
    """
    rows = explained.rows
    start = np.full_like(rows, 1 / rows.shape[2])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    total = sum(
        weight / 2 * _gradients(explained, start + (node + 1) / 2 * (rows - start))
        for node, weight in zip(nodes, weights, strict=True)
    )
    return (total * (rows - start)).sum(axis=2)


def leave_out(explained: Explained) -> Scores:
    """Return the change of the prediction if a token becomes the mean embedding of all tokens."""
    return _left_out(explained, np.full_like(explained.marginals, 1 / explained.marginals.shape[1]))


def leave_out_mean(explained: Explained) -> Scores:
    """Return the change if a token becomes the process's mean embedding at its position."""
    return _left_out(explained, explained.marginals)


def patch(explained: Explained) -> Scores:
    """Return the mean change if a token becomes that of another sequence at the same position."""
    count = len(explained.tokens)

    def weigh(key, changed):
        return np.repeat(explained.marginals[key], count)[:, None]

    vocab = explained.marginals.shape[1]
    return effects_of_replacing(predictor(explained), explained.tokens, vocab, weigh)[:, 0]


def linear_probe(explained: Explained) -> Scores | None:
    """Return how well the last activation of the query gives each token: R² of a linear probe.

    The ranking is the same for all sequences. Half of them fit the probe, the others score it.
    """
    model, query = explained.model, explained.experiment.read_position
    if not model.sites or model.sites[-1] == "embedding":
        return None
    rows = activations(model, explained.tokens, model.sites[-1:])[model.sites[-1]][:, [query]]
    each = []
    for place in range(explained.tokens.shape[1]):
        targets = explained.rows[:, [place]].astype(float)
        found = probe((rows[::2], targets[::2]), (rows[1::2], targets[1::2])).score.r2
        each.append(max(0.0, float(np.nan_to_num(found))))
    return np.tile(each, (len(explained.tokens), 1))


def random(explained: Explained) -> Scores:
    """Return random numbers, the control of all methods."""
    # Others for each run, and the same whenever that is measured.
    seed = explained.experiment.seed, zlib.crc32(explained.tokens.tobytes())
    return np.random.default_rng(seed).uniform(size=explained.tokens.shape)


@dataclasses.dataclass(frozen=True)
class Method:
    """A method by its name; `label` is its name on screen, and `needs` what a model must have."""

    name: str
    of: Callable[[Explained], Scores | None]
    label: str
    needs: str = ""


_ATTENTION, _SITES = "a causal model with self-attention", "a model with inner activations"
METHODS: Registry = Registry(
    (
        Method("attention", attention, "attention", _ATTENTION),
        Method("heads", heads, "attention of the best head", _ATTENTION),
        Method("values", attention_times_values, "attention × value norm", _ATTENTION),
        Method("rollout", rollout, "attention rollout", _ATTENTION),
        Method("gradient", gradient, "gradient × input"),
        Method("integrated_gradients", integrated_gradients, "integrated gradients"),
        Method("leave_out", leave_out, "leaving out (uniform)"),
        Method("leave_out_mean", leave_out_mean, "leaving out (mean)"),
        Method("patch", patch, "resampling patch"),
        Method("probe", linear_probe, "linear probe", _SITES),
        Method("random", random, "random ranking"),
    )
)


def predictor(explained: Explained) -> Callable:
    """Return the model's distribution of the final token as a function of visible tokens."""
    readout = explained.experiment.training.readout
    return lambda tokens: final_probs(explained.model, tokens, readout)[:, None]


def _all_patterns(
    explained: Explained,
) -> list[Float[np.ndarray, "sequences heads query key"]] | None:
    if not explained.model.has_heads:
        return None
    found = _traced(explained.model, jnp.asarray(explained.tokens))
    return [np.asarray(each, np.float64) for each in found] or None


def _patterns(explained: Explained) -> list[Float[np.ndarray, "sequences heads key"]] | None:
    layers, query = _all_patterns(explained), explained.experiment.read_position
    return None if layers is None else [pattern[:, :, query] for pattern in layers]


@eqx.filter_jit
def _traced(model, tokens):
    def one(each: Int[Array, " length"]):
        maps = model(each, jnp.arange(each.size))[1].attention
        return [found.pattern for found in maps if found.kind == "self"]

    return jax.vmap(one)(tokens)


@eqx.filter_jit
def _value_norms(model, tokens: Int[Array, "sequences length"]):
    def one(each: Int[Array, " length"]) -> Float[Array, "heads length"]:
        if isinstance(model, Attention):
            one_hot = jax.nn.one_hot(each, model.vocab)
            written = model.parts(one_hot, jnp.arange(each.size)).value[None]
        else:
            read = model.inputs_of_layers(each)[-1]
            written = model.layers[-1].project_vo(read, model.options)
        return jnp.linalg.norm(written, axis=-1)

    return jax.vmap(one)(tokens)


def _gradients(explained: Explained, rows: np.ndarray) -> np.ndarray:
    """Return the gradient by input rows of the log-probability of the likeliest token."""
    likeliest = predictor(explained)(explained.tokens)[:, 0].argmax(axis=1)
    query = explained.experiment.read_position
    found = _gradients_of(explained.model, *map(jnp.asarray, (rows, likeliest, [query])))
    return np.asarray(found, np.float64)


@eqx.filter_jit
def _gradients_of(model, rows, tokens, query):
    def log_prob(one_hot, token):
        return jax.nn.log_softmax(model.read(one_hot, query)[0][0])[token]

    return jax.vmap(jax.grad(log_prob))(rows, tokens)


def _left_out(explained: Explained, instead: Float[np.ndarray, "length vocab"]) -> Scores:
    query = jnp.asarray([explained.experiment.read_position])
    effects = []
    before = _probs_of_rows(explained.model, explained.rows, query)
    for place, row in enumerate(instead):
        changed = explained.rows
        changed[:, place] = row
        after = _probs_of_rows(explained.model, changed, query)
        effects.append(0.5 * np.abs(after - before).sum(axis=1))
    return np.stack(effects, axis=1)


def _probs_of_rows(model, rows, query):
    return np.asarray(_softmax_of_rows(model, jnp.asarray(rows), query), np.float64)


@eqx.filter_jit
def _softmax_of_rows(model, rows, query):
    def one(one_hot):
        return jax.nn.softmax(model.read(one_hot, query)[0][0])

    return jax.vmap(one)(rows)
