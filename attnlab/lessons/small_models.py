"""Small trained models that come with the program: their attention, and their steps by hand.

`python -m tools.small_models` makes them.
"""

import functools
import importlib.resources
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.generators import TASKS, Reverse, as_task
from attnlab.generators.tasks import AbstractTask, true_dependence
from attnlab.models import ALL_MODELS
from attnlab.models.recurrent import TanhCell
from attnlab.models.recurrent_seq2seq import EncodedRNN
from attnlab.models.seq2seq import AbstractSourceModel
from attnlab.training.experiment import Experiment, abstract_state, from_json_record
from attnlab.training.steps import Training

FILE = "small_models.json"
ALIGNED_TASKS = ("copy", "reverse", "sort")
ALIGNED_FAMILIES = ("encoder-decoder", "rnn-attention")
# Weights are rounded to this many decimals, so a page can show them in full.
DIGITS = 3
_SIZES = MappingProxyType(
    {
        "encoder-decoder": {"d_model": 16, "d_attn": 16, "heads": 1, "mlp_width": 32},
        "rnn-attention": {"hidden_size": 16, "d_attn": 16},
    }
)


class SmallModel(NamedTuple):
    """A trained model with rounded weights, and its results on test sources.

    `exact_match` is the share of entirely correct targets. `aligned` is the share of the last
    layer's cross-attention on the true alignment, the mean over targets.
    """

    experiment: Experiment
    model: AbstractSourceModel
    exact_match: float
    exact_match_stderr: float
    aligned: float


def aligning(task: str, family: str) -> Experiment:
    """Return the experiment of a small model whose source is six of eight letters."""
    generator = TASKS[task](source_length=6, letters=8)
    return Experiment(
        generator=generator, model=ALL_MODELS[family](**_SIZES[family]), training=_training(0.005)
    )


def stepping() -> Experiment:
    """Return the experiment of a recurrent network with attention, to be followed by hand."""
    return Experiment(
        generator=Reverse(source_length=5, letters=6),
        model=ALL_MODELS["rnn-attention"](hidden_size=8, d_attn=4, score="dot"),
        training=_training(0.01),
        seed=1,
    )


def all_small() -> tuple[Experiment, ...]:
    """Return the experiments of all small models."""
    pairs = ((task, family) for family in ALIGNED_FAMILIES for task in ALIGNED_TASKS)
    return (stepping(), *(aligning(*pair) for pair in pairs))


@functools.cache
def small_model(experiment: Experiment) -> SmallModel:
    """Return the shipped model of an experiment.

    Raises:
        KeyError: If the experiment is not one of `all_small`.

    """
    return read_model(_records()[experiment])


def read_model(record: dict[str, Any]) -> SmallModel:
    """Read a model from a record, which has its arrays in order, each as a list of numbers."""
    experiment = from_json_record(record["experiment"])
    form = abstract_state(experiment).model
    blank, tree = jax.tree.flatten(form, is_leaf=_is_shape)
    weights = iter(record["weights"])
    leaves = [
        np.asarray(next(weights), leaf.dtype).reshape(leaf.shape) if _is_shape(leaf) else leaf
        for leaf in blank
    ]
    figures = {name: record[name] for name in SmallModel._fields[2:]}
    return SmallModel(experiment, jax.tree.unflatten(tree, leaves), **figures)


@functools.cache
def _records() -> dict[Experiment, dict[str, Any]]:
    text = importlib.resources.files("attnlab.lessons").joinpath(FILE).read_text(encoding="utf-8")
    return {from_json_record(each["experiment"]): each for each in json.loads(text)}


def _training(learning_rate: float) -> Training:
    return Training(
        loss="next", steps=2_000, data="fresh", batch=64, schedule="warm-up-cosine", test_size=500,
        learning_rate=learning_rate,
    )  # fmt: skip


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


# These programs run once for every source that is typed, so compiling takes longer than running.
_QUICKLY = MappingProxyType({"xla_backend_optimization_level": 0})


class Map(NamedTuple):
    """The attention of one layer, averaged over its heads; `mask` shows visible keys."""

    pattern: Float[np.ndarray, "query key"]
    mask: Bool[np.ndarray, "query key"]


class WrittenTarget(NamedTuple):
    """What a small model writes for a source, beside the truth.

    Attributes:
        source: The source.
        target: The true target.
        alignment: Which source tokens each target token comes from.
        dependence: Which source tokens each target token depends on.
        tokens: The most probable token at each position, given the true tokens before it.
        maps: The attention of the last layer by kind: `cross` is target × source. If the model has
            them, `source` is source × source and `self` target × target, whose first column is the
            begin token.
    """

    source: tuple[int, ...]
    target: Int[np.ndarray, " target"]
    alignment: Bool[np.ndarray, "target source"]
    dependence: Bool[np.ndarray, "target source"]
    tokens: Int[np.ndarray, " target"]
    maps: Mapping[str, Map]


@functools.lru_cache(64)
def write_target(experiment: Experiment, source: tuple[int, ...]) -> WrittenTarget:
    """Run the small model of an experiment on a source.

    The first call compiles for about a second.
    """
    given = np.asarray(source, np.int32)
    truth = _truth_program(as_task(experiment.generator))(given)
    target, alignment, dependence = jax.device_get(truth)
    read = np.concatenate([given, target[:-1].astype(np.int32)])
    tokens, maps = jax.device_get(_write_program(small_model(experiment).model, read))
    maps = {kind: Map(*each) for kind, each in maps.items()}
    return WrittenTarget(source, target, alignment, dependence, tokens, maps)


def share_aligned(
    pattern: Float[np.ndarray, "target source"], alignment: Bool[np.ndarray, "target source"]
) -> float:
    """Return the share of the attention on the true alignment, the mean over target positions."""
    return float((pattern * alignment).sum(axis=-1).mean())


@functools.lru_cache(maxsize=32)
def _truth_program(task: AbstractTask):
    def found(source):
        return task.target_of(source), task.true_alignment(source), true_dependence(task, source)

    return jax.jit(found, compiler_options=dict(_QUICKLY))


def _written(model, tokens):
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    logits, trace = model.write(one_hot[: model.source_length], one_hot[model.source_length :])
    maps = {each.kind: (each.pattern.mean(axis=0), each.mask) for each in trace.attention}
    return jnp.argmax(logits, axis=-1), maps


# The overloads leave out the options of `jax.jit`.
_write_program: Any = eqx.filter_jit(_written, compiler_options=dict(_QUICKLY))  # pyright: ignore[reportCallIssue]


class DecoderStep(NamedTuple):
    """What a decoder computes between its states h and h′, in order.

    query = h W_q + b_q; keys = s W_k + b_k for all states s of the encoder; scores = keys · query;
    pattern = softmax(scores); context = Σᵢ patternᵢ sᵢ; `before` is the last token written as a
    one-hot vector, or zeros; sums = before W_x + context W_a + b + h W_h; next_state = tanh(sums);
    logits = next_state U + b; probabilities = softmax(logits).
    """

    encoded: Float[np.ndarray, "source size"]
    state: Float[np.ndarray, " size"]
    query: Float[np.ndarray, " d_attn"]
    keys: Float[np.ndarray, "source d_attn"]
    scores: Float[np.ndarray, " source"]
    pattern: Float[np.ndarray, " source"]
    context: Float[np.ndarray, " size"]
    before: Float[np.ndarray, " vocab"]
    sums: Float[np.ndarray, " size"]
    next_state: Float[np.ndarray, " size"]
    logits: Float[np.ndarray, " vocab"]
    probabilities: Float[np.ndarray, " vocab"]


def decoder_steps(model: EncodedRNN, source: tuple[int, ...]) -> tuple[DecoderStep, ...]:
    """Return the steps of greedy decoding, in float64.

    Raises:
        ValueError: If the model has no attention, its cells are not tanh, or its score is not dot.

    """
    if model.heads is None or model.encoder.kind != "tanh" or model.heads.score != "dot":
        raise ValueError("`model` is not of the kind 'rnn-attention' with tanh cells and score dot")
    one_hot, heads = np.eye(model.vocab), model.heads
    state, encoded = np.zeros(model.options.hidden_size), []
    for token in source:
        state = np.tanh(_sums(model.encoder.gates, one_hot[token], state))
        encoded.append(state)
    encoded = np.array(encoded)
    keys = _projected(heads.key, encoded)
    steps, before = [], np.zeros(model.vocab)
    for _ in source:
        query = _projected(heads.query, state)
        scores = keys @ query
        pattern = _softmax(scores)
        context = pattern @ encoded
        sums = _sums(model.decoder.gates, np.concatenate([before, context]), state)
        following = np.tanh(sums)
        logits = _projected(model.unembedding, following)
        steps.append(
            DecoderStep(
                encoded, state, query, keys, scores, pattern, context, before, sums, following,
                logits, _softmax(logits),
            )
        )  # fmt: skip
        state, before = following, one_hot[int(logits.argmax())]
    return tuple(steps)


def sums_apart(model: EncodedRNN, step: DecoderStep) -> tuple[Float[np.ndarray, " size"], ...]:
    """Return the four terms of the sums of a step: last token, context, h, and bias."""
    gates, letters = cast(TanhCell, model.decoder.gates), step.before.size
    weight, bias = (np.asarray(part, np.float64) for part in gates.inputs)
    return (
        step.before @ weight[:letters],
        step.context @ weight[letters:],
        step.state @ np.asarray(gates.carried, np.float64),
        bias,
    )


def written_by(steps: tuple[DecoderStep, ...]) -> Int[np.ndarray, " target"]:
    """Return the tokens that the steps write."""
    return np.array([step.logits.argmax() for step in steps])


def _sums(cell, inputs: np.ndarray, state: np.ndarray) -> np.ndarray:
    return _projected(cell.inputs, inputs) + state @ np.asarray(cell.carried, np.float64)


def _projected(projection, rows: np.ndarray) -> np.ndarray:
    weight, bias = (np.asarray(part, np.float64) for part in projection)
    return rows @ weight + bias


def _softmax(numbers: np.ndarray) -> np.ndarray:
    shares = np.exp(numbers - numbers.max())
    return shares / shares.sum()
