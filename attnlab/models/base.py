"""What a model family is, what it builds, and what its models let the pages see."""

import abc
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.tree_util import GetAttrKey, KeyPath
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import Finding, Options, options_of
from attnlab.generators import AbstractGenerator
from attnlab.optimum import Best
from attnlab.optimum.best import best_when_told

# Names of values of a `Trace`.
WEIGHTS_BY_POSITION, HIDDEN_STATES = "weights by position", "hidden states"
TIME_SCALES, KERNELS = "time scales", "kernels"
_LOSSES, _READOUTS = ("last", "next", "published"), ("last", "first")


class AttentionMap(eqx.Module):
    """How the heads of one layer divide the attention of each query among the keys.

    Rows of `pattern` sum to 1; a query whose `mask` admits no key has zeros. Layers count from 0.
    `kind` is "self" where the keys are the sequence's own tokens, "cross" where they are those of
    its source, and "source" where those of the source ask each other.
    """

    pattern: Float[Array | np.ndarray, "heads query key"]
    mask: Bool[Array | np.ndarray, "query key"]
    layer: int = eqx.field(static=True)
    kind: str = eqx.field(static=True, default="self")


class Trace(eqx.Module):
    """The inside of a model on one sequence: what there is of it, and nothing else.

    `values` are other arrays by name: `WEIGHTS_BY_POSITION` (length × vocab × outcomes), where the
    model is a weight for each; `HIDDEN_STATES` (length × width), where it reads token after token;
    `TIME_SCALES` (width), in tokens, where each component of the state fades at a rate of its own;
    `KERNELS` (layers × query × key), where each layer weighs by distance: rows sum to 1.
    """

    attention: tuple[AttentionMap, ...] = ()
    values: Mapping[str, Array | np.ndarray] = field(default_factory=dict)


class CellArithmetic(NamedTuple):
    """How the share that a query gives to a key comes about.

    score = query · key, or another one of `SCORES` as `kind` says; scaled = scale · score + bias;
    the pattern is the softmax of the scaled scores of the query's whole row, over the unmasked
    keys. With `weights` v, of the score `additive`, the score is Σᵢ vᵢ tanh(qᵢ + kᵢ). `state` is
    that of a recurrent network that the query is made of, if there is one.
    """

    query: Float[np.ndarray, " d_attn"]
    key: Float[np.ndarray, " d_attn"]
    score: float
    scale: float
    bias: float
    scaled: Float[np.ndarray, " length"]
    unmasked: Bool[np.ndarray, " length"]
    pattern: Float[np.ndarray, " length"]
    kind: str = "dot"
    weights: Float[np.ndarray, " d_attn"] | None = None
    state: Float[np.ndarray, " size"] | None = None


class AbstractModel(eqx.Module):
    """A trainable map from the visible tokens to logits; all its arrays are parameters.

    A model that `has_heads` takes a tuple of `Edit`s to its `read`, by the name `edits`; those of
    the kinds `edited_kinds`, which are kinds of an `AttentionMap`.
    """

    vocab: eqx.AbstractVar[int]
    has_heads: ClassVar[bool] = False
    edited_kinds: ClassVar[tuple[str, ...]] = ("self",)

    def __call__(
        self,
        tokens: Int[Array, " length"],
        queries: Int[Array, " query"],
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        """Return the logits at the positions `queries`, and the trace. Nothing else is computed."""
        return self.read(jax.nn.one_hot(tokens, self.vocab), queries)

    @abc.abstractmethod
    def read(
        self,
        one_hot: Float[Array, "length vocab"],
        queries: Int[Array, " query"],
    ) -> tuple[Float[Array, "query vocab"], Trace]:
        """Like `__call__`, but take one-hot rows, so that gradients reach the input."""

    def cell(
        self,
        tokens: Int[Array, " length"],
        *,
        layer: int,
        head: int,
        query: int,
        key: int,
        kind: str = "self",
    ) -> CellArithmetic | None:
        """The arithmetic of one cell of a pattern, or None where there is none to show.

        Query and key are places in the map of that layer and kind in the trace.
        """
        return None

    def contributions(
        self, tokens: Int[Array, " length"], query: Int[Array, ""] | int
    ) -> Mapping[str, Float[Array, " vocab"]] | None:
        """What each part adds to the logits at `query` directly, by its name.

        They sum to the logits. None for a model that does not say that its `logits_are_a_sum`.
        """
        return None

    @property
    def logits_are_a_sum(self) -> bool:
        """Whether the logits are a sum of what the parts of the model add to them."""
        return False


class AbstractModelOptions(Options, abc.ABC):
    """The options of a model family: a frozen dataclass that builds models.

    What a family knows of itself stands here, and the pages say it; where it says None or
    nothing, they say nothing. `every_position`: its models have a prediction at each position,
    rather than one for the whole sequence. `usual_training`: options of a training that its models
    do well with, by name, in the place of the general defaults on the command line.
    `attains_reachable`: some of its models come as near as one likes to the loss of `reachable`,
    which elsewhere only bounds them from below. `reads_source`: its models read the leading tokens
    as a source; their `build` is told how many these are, by the name `source`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    every_position: ClassVar[bool] = True
    usual_training: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    attains_reachable: ClassVar[bool] = False
    reads_source: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def causal(self) -> bool:
        """Whether the prediction at a position depends on it and earlier ones only."""

    @property
    def losses(self) -> tuple[str, ...]:
        """The names of the losses that its models can be trained with."""
        return _LOSSES if self.every_position else ("last",)

    @property
    def readouts(self) -> tuple[str, ...]:
        """The names of the positions where its models can be read out."""
        return _READOUTS if self.every_position else ("last",)

    @abc.abstractmethod
    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> AbstractModel:
        """A model at its starting values for `length` visible positions over `vocab` tokens."""

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        """About how many multiplications its forward pass of a sequence takes, on the high side.

        Every token meets every parameter, unless a family has more to do.
        """
        return float(length * parameters)

    def parameter_formulas(self) -> Mapping[str, str]:
        """How many parameters the parts of its models have, in the names of its options.

        Beside these, formulas speak of `vocab` and `length`. Parts are called as the fields of the
        model, those of a stack of layers together: see `parameters_by_part`.
        """
        return {}

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        """The positions that the prediction at `position` may depend on."""
        return tuple(range(position + 1 if self.causal else length))

    def sees_order(self) -> bool:
        """Whether it can tell the order of the tokens that it sees, its own position aside."""
        return True

    def reachable(self, generator: AbstractGenerator, length: int, position: int) -> Best | None:
        """A predictor whose loss no model of it, read out at `position`, can undercut, if known.

        By default the best prediction from what the position is told, where that is less than all;
        no model of it is more accurate, either.
        """
        seen = self.sees(position, length)
        if len(seen) == length and self.sees_order():
            return None
        return best_when_told(generator, length, position, seen, ordered=self.sees_order())

    def findings(self, *, loss: str, length: int) -> Iterator[Finding]:
        """What stands in the way of a training with that loss, in plain words."""
        if loss == "next" and not self.causal:
            yield Finding(
                "mask" if "mask" in options_of(self) else "loss",
                "With the loss `next` a position of this model may look at the very token that it "
                "predicts. Choose the mask `causal`.",
            )
        all_seen = all(len(self.sees(position, length)) == length for position in range(length))
        if loss == "published" and not all_seen:
            yield Finding(
                "loss",
                "The loss `published` asks every position for the final token, also those that see "
                "only some of the tokens; all of them share the weights. Choose the loss `last`.",
            )


def parameter_count(model: AbstractModel) -> int:
    """How many numbers are trained, of a model or of its shapes alone."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, is_parameter)))


def is_parameter(leaf: Any) -> bool:
    """Whether a leaf of a model is an array, or the shape of one."""
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


READOUTS = MappingProxyType(
    {
        "last": "the last position predicts the final token",
        "first": "the first one does: with the published mask, the only one that sees every token",
    }
)


def readout_position(readout: str, length: int) -> int:
    """The position whose logits are the model's prediction, for a name of `READOUTS`."""
    return {"last": length - 1, "first": 0}[readout]


def final_logits(
    model: AbstractModel, visible: Int[Array, " length"], readout: str
) -> Float[Array, " vocab"]:
    """Logits of the token after the visible ones."""
    queries = np.array([readout_position(readout, visible.size)])
    return model(visible, jnp.asarray(queries))[0][0]


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
