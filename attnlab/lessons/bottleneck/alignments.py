"""What a small model attends to while it writes, beside what the task says."""

from collections.abc import Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.generators.tasks import AbstractTask, true_dependence
from attnlab.lessons.bottleneck.small_models import SmallModel, small_model
from attnlab.models.parts.with_source import AbstractSourceModel
from attnlab.training.experiment import Experiment

# They run once for each source that somebody types, and are over in microseconds.
_QUICKLY = MappingProxyType({"xla_backend_optimization_level": 0})


class Truth(NamedTuple):
    """What a task makes of a source: the target, where it is taken from, what it depends on."""

    target: Int[np.ndarray, " target"]
    alignment: Bool[np.ndarray, "target source"]
    dependence: Bool[np.ndarray, "target source"]


class Map(NamedTuple):
    """The attention of one layer, the mean over its heads; `mask` says what may be seen."""

    pattern: Float[np.ndarray, "query key"]
    mask: Bool[np.ndarray, "query key"]


class Writing(NamedTuple):
    """The likeliest token at each place of a target, given the true ones before it, and the maps.

    `maps` are those of the last layer by kind: `cross` is target × source; if the model has them,
    `source` is source × source and `self` target × target, its first column the token that begins.
    """

    tokens: Int[np.ndarray, " target"]
    maps: Mapping[str, Map]


class Looked(NamedTuple):
    """A source, a small model, what its task makes of the source, and what the model writes."""

    source: tuple[int, ...]
    small: SmallModel
    truth: Truth
    written: Writing


def look(experiment: Experiment, source: tuple[int, ...]) -> Looked:
    """What the small model of an experiment does with a source. The first time it takes a second.

    Refused: what `small_model` refuses.
    """
    small = small_model(experiment)
    truth = truth_of(experiment.generator, source)
    return Looked(source, small, truth, write_known(small.model, source, truth.target))


def truth_of(task: AbstractTask, source: tuple[int, ...]) -> Truth:
    """The target of a source, its true alignment and true dependence."""
    return Truth(*jax.device_get(_truth_program(task)(np.asarray(source, np.int32))))


def write_known(
    model: AbstractSourceModel, source: tuple[int, ...], target: Int[np.ndarray, " target"]
) -> Writing:
    """What the model does with a source, and with the true target so far at each place."""
    tokens = np.concatenate([np.asarray(source, np.int32), target[:-1].astype(np.int32)])
    written, maps = jax.device_get(_write_program(model, tokens))
    return Writing(written, {kind: Map(*each) for kind, each in maps.items()})


def share_aligned(
    pattern: Float[np.ndarray, "target source"], alignment: Bool[np.ndarray, "target source"]
) -> float:
    """The share of the attention that lies on the true alignment, the mean over the targets."""
    return float((pattern * alignment).sum(axis=-1).mean())


@lru_cache(maxsize=32)
def _truth_program(task: AbstractTask):
    def found(source):
        return task.target_of(source), task.true_alignment(source), true_dependence(task, source)

    return jax.jit(found, compiler_options=dict(_QUICKLY))


@partial(eqx.filter_jit, compiler_options=dict(_QUICKLY))
def _write_program(model, tokens):
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    logits, trace = model.write(one_hot[: model.source_length], one_hot[model.source_length :])
    maps = {each.kind: (each.pattern.mean(axis=0), each.mask) for each in trace.attention}
    return jnp.argmax(logits, axis=-1), maps
