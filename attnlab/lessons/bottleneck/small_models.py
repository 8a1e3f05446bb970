"""Small trained models that come with the lesson, made by `python -m tools.bottleneck`."""

import functools
import importlib.resources
import json
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from attnlab.generators.tasks import TASKS, Reverse
from attnlab.models import ALL_MODELS
from attnlab.models.parts.with_source import AbstractSourceModel
from attnlab.training.experiment import Experiment, from_json, starting_form, to_json
from attnlab.training.steps import Training

FILE = "models.json"
ALIGNED_TASKS = ("copy", "reverse", "sort")
ALIGNED_FAMILIES = ("encoder-decoder", "rnn-attention")
# So that what a page shows is all there is.
DIGITS = 3
_SIZES = MappingProxyType(
    {
        "encoder-decoder": {"d_model": 16, "d_attn": 16, "heads": 1, "mlp_width": 32},
        "rnn-attention": {"hidden_size": 16, "d_attn": 16},
    }
)


class SmallModel(NamedTuple):
    """A trained model, its weights rounded, and what it does with them on test sources.

    `exact_match` is the share of targets that are right from end to end; `aligned` the share of
    its cross-attention that lies on the true alignment, the mean over targets, of the last layer.
    """

    experiment: Experiment
    model: AbstractSourceModel
    exact_match: float
    exact_match_stderr: float
    aligned: float


def aligning(task: str, family: str) -> Experiment:
    """A model of a page's size that writes six of eight letters."""
    generator = TASKS[task](source_length=6, letters=8)
    return Experiment(
        generator=generator, model=ALL_MODELS[family](**_SIZES[family]), training=_training(0.005)
    )


def stepping() -> Experiment:
    """A recurrent network with attention, so small that its steps can be followed by hand."""
    return Experiment(
        generator=Reverse(source_length=5, letters=6),
        model=ALL_MODELS["rnn-attention"](hidden_size=8, d_attn=4, score="dot"),
        training=_training(0.01),
        seed=1,
    )


def all_small() -> tuple[Experiment, ...]:
    """All of them."""
    pairs = ((task, family) for family in ALIGNED_FAMILIES for task in ALIGNED_TASKS)
    return (stepping(), *(aligning(*pair) for pair in pairs))


def rounded(model: AbstractSourceModel) -> AbstractSourceModel:
    """The model with weights of so many decimals as its file has."""
    return jax.tree.map(
        lambda leaf: (
            np.round(np.asarray(leaf, np.float64), DIGITS).astype(np.float32)
            if eqx.is_array(leaf)
            else leaf
        ),
        model,
    )


@functools.cache
def small_model(experiment: Experiment) -> SmallModel:
    """The one that comes with the program. Refused: an experiment that is none of `all_small`."""
    return read_model(_records()[to_json(experiment)])


def read_model(record: dict[str, Any]) -> SmallModel:
    """A model of its record, as `record_of` made it."""
    experiment = from_json(json.dumps(record["experiment"]))
    form = starting_form(experiment).model
    blank, tree = jax.tree.flatten(form, is_leaf=_is_shape)
    weights = iter(record["weights"])
    leaves = [
        np.asarray(next(weights), leaf.dtype).reshape(leaf.shape) if _is_shape(leaf) else leaf
        for leaf in blank
    ]
    figures = {name: record[name] for name in SmallModel._fields[2:]}
    return SmallModel(experiment, jax.tree.unflatten(tree, leaves), **figures)


def record_of(small: SmallModel) -> dict[str, Any]:
    """As JSON has it: the weights as lists, in the order of the model's arrays."""
    arrays = jax.tree.leaves(eqx.filter(small.model, eqx.is_array))
    return {
        "experiment": json.loads(to_json(small.experiment)),
        **{name: round(float(getattr(small, name)), 6) for name in SmallModel._fields[2:]},
        "weights": [[round(float(each), DIGITS) for each in array.ravel()] for array in arrays],
    }


def to_text(models: Iterable[SmallModel]) -> str:
    """As the text of a file, a line for every model."""
    lines = (json.dumps(record_of(each), ensure_ascii=False) for each in models)
    return "[\n" + ",\n".join(lines) + "\n]\n"


@functools.cache
def _records() -> dict[str, dict[str, Any]]:
    text = importlib.resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return {to_json(from_json(json.dumps(each["experiment"]))): each for each in json.loads(text)}


def _training(learning_rate: float) -> Training:
    return Training(
        loss="next", steps=2_000, data="fresh", batch=64, schedule="warm-up-cosine", test_size=500,
        learning_rate=learning_rate,
    )  # fmt: skip


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
