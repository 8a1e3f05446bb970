"""What a model is, and what it lets the pages see."""

import abc
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key

from attnlab.configuration.options import Options


class Trace(NamedTuple):
    """The inside of a model on one sequence.

    `patterns`: what each query attends to, rows that sum to 1; models without attention have no
    layers in it. `weights`: for a model that is a weight for every day, weather and outcome,
    those weights; other models have no outcomes in it.
    """

    patterns: Float[Array, "layers heads query key"]
    weights: Float[Array, "length vocab outcomes"]


class AbstractModel(eqx.Module):
    """A trainable map from the visible days to logits; all its arrays are parameters."""

    @abc.abstractmethod
    def __call__(
        self, tokens: Int[Array, " length"], queries: Int[Array, " query"]
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        """Logits at the positions `queries`, and the inside. Nothing else is computed."""


class AbstractModelOptions(Options, abc.ABC):
    """The options of a model family: a frozen dataclass that builds models.

    `losses` and `readouts` are the names of those the family can be trained and read with;
    `attends` says whether its models have attention patterns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    losses: ClassVar[tuple[str, ...]]
    readouts: ClassVar[tuple[str, ...]]
    attends: ClassVar[bool]

    @abc.abstractmethod
    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> AbstractModel:
        """A model at its starting values for `length` visible days over `vocab` tokens."""


def parameter_count(model: AbstractModel) -> int:
    """How many numbers are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
