"""How many parameters the parts of a model have, counted and as a formula."""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.random as jr
from jax.tree_util import GetAttrKey, KeyPath

from attnlab.models.base import AbstractModelOptions, is_parameter


class ParameterCount(NamedTuple):
    """Of a part, called as its field of the model; `formula` is empty where none is known."""

    part: str
    count: int
    formula: str


def parameters_by_part(
    options: AbstractModelOptions, *, vocab: int, length: int
) -> tuple[ParameterCount, ...]:
    """The counts of a model's parts, which sum to `parameter_count`. No model is built.

    Parts are the fields of the model. Where its `parameter_formulas` name fields of fields, such
    as those of all layers together, parts are these.
    """
    formulas = options.parameter_formulas()
    shapes = eqx.filter_eval_shape(options.build, vocab=vocab, length=length, key=jr.key(0))
    counts: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(shapes, is_parameter)):
        part = _part(path, formulas)
        counts[part] = counts.get(part, 0) + leaf.size
    return tuple(
        ParameterCount(part, count, formulas.get(part, "")) for part, count in counts.items()
    )


def _part(path: KeyPath, formulas: Mapping[str, str]) -> str:
    fields = [key.name for key in path if isinstance(key, GetAttrKey)]
    within = ".".join(fields[:2])
    return within if within in formulas else fields[0]
