"""The interface of model families and models, and what models expose to the pages."""

import abc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.tree_util import GetAttrKey
from jaxtyping import Array, Bool, Float, Int, Key

from attnlab.configuration.options import Finding, OptionError, Options, options_of, quoted
from attnlab.generators import AbstractGenerator
from attnlab.optimum import Best
from attnlab.optimum.best import best_from_positions

# Keys of `Trace.values`.
WEIGHTS_BY_POSITION, HIDDEN_STATES = "weights by position", "hidden states"
TIME_SCALES, KERNELS = "time scales", "kernels"
OneHot = Float[Array, "length vocab"]
Queries = Int[Array, " query"]
Logits = Float[Array, "query vocab"]
_LOSSES, _READOUTS = ("last", "next", "published"), ("last", "first")


class AttentionMap(eqx.Module):
    """The attention patterns of one layer's heads: the weight of each key for each query.

    Rows of `pattern` sum to 1; a query whose `mask` allows no key has zeros. Layers count from 0.
    `kind` is "self" if the keys are the sequence's own tokens, "cross" if the keys are the tokens
    of the source, and "source" for self-attention within the source.
    """

    # JAX arrays inside a compiled program, NumPy arrays outside.
    pattern: Float[Any, "heads query key"]
    mask: Bool[Any, "query key"]
    layer: int = eqx.field(static=True)
    kind: str = eqx.field(static=True, default="self")


class Trace(eqx.Module):
    """Intermediate results of a model on one sequence; each family fills in what it has.

    Attributes:
        attention: A map for each layer and kind of heads.
        values: Other arrays by name: `WEIGHTS_BY_POSITION` (length × vocab × outcomes) of the
            linear model; `HIDDEN_STATES` (length × width) of a recurrent model; `TIME_SCALES`
            (width), the tokens in which each component of a state decays by the factor e;
            `KERNELS` (layers × query × key), the size of convolution weights; rows sum to 1.
        residual: Activations (length × width) of the sites named in `capture`, by site.

    """

    attention: tuple[AttentionMap, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    residual: Mapping[str, Any] = field(default_factory=dict)


class CellPlace(NamedTuple):
    """A cell of a pattern: query and key are indices in the trace's map of that layer and kind."""

    layer: int
    head: int
    query: int
    key: int
    kind: str = "self"


class CellArithmetic(NamedTuple):
    """The steps from one query and one key to their attention weight.

    score = query · key, or the score of `SCORES` named by `kind`; scaled = scale · score + bias;
    the pattern is the softmax of the scaled scores of the query's whole row, over the unmasked
    keys. The score `additive`, which has `weights` v, is Σᵢ vᵢ tanh(qᵢ + kᵢ).
    `state` is the recurrent state that the query is computed from, if there is one.
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

    If a model `has_heads`, its `read` also takes `edits`: `Edit`s of attention patterns whose kinds
    are among `edited_kinds`. If a model has `sites`, its `read` also takes `Edit`s of these sites,
    and `capture`, the names of sites whose activations are stored in the trace.
    """

    vocab: eqx.AbstractVar[int]
    has_heads: ClassVar[bool] = False
    edited_kinds: ClassVar[tuple[str, ...]] = ("self",)

    def __call__(
        self, tokens: Int[Array, " length"], queries: Queries, *, capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        """Return the logits at the positions `queries`, and the trace.

        Args:
            tokens: The visible tokens.
            queries: Positions whose next token is predicted.
            capture: Names from `sites`; the trace stores their activations at every position.

        Raises:
            OptionError: If the model has no such site.

        """
        for site in capture:
            self.check_site(site)
        more = {"capture": tuple(capture)} if capture else {}
        return self.read(jax.nn.one_hot(tokens, self.vocab), queries, **more)

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the activations that can be captured or edited, in the order of computation.

        The names are "embedding"; "attention.k", "cross.k", "mlp.k" or "conv.k" after that part of
        layer k, counted from 0; "final" before the unembedding; and "state" of a recurrent model.
        Sites of an encoder begin with "source." and have a row for each source token; sites of its
        decoder have a row for each target token. The logits depend on the last site alone.
        """
        return ()

    def check_site(self, site: str) -> None:
        """Raise `OptionError` if the model has no such site."""
        if site not in self.sites:
            known = ", ".join(quoted(name) for name in self.sites)
            remedy = f"Choose one of {known}" if known else "Choose another model"
            raise OptionError("site", site, "the model has no such site", remedy)

    @abc.abstractmethod
    def read(self, one_hot: OneHot, queries: Queries) -> tuple[Logits, Trace]:
        """Like `__call__`, but take one-hot rows, so that gradients reach the input."""

    def cell(self, tokens: Int[Array, " length"], place: CellPlace) -> CellArithmetic | None:
        """Return the arithmetic of one cell of a pattern, or None if there is no such cell."""
        return None

    def contributions(
        self, tokens: Int[Array, " length"], query: Int[Array, ""] | int
    ) -> Mapping[str, Float[Array, " vocab"]] | None:
        """Return the direct contribution of each named part to the logits at `query`.

        The contributions sum to the logits. None unless `logits_are_a_sum`.
        """
        return None

    @property
    def logits_are_a_sum(self) -> bool:
        """Return whether the logits are a sum of contributions of the model's parts."""
        return False

    def copying_circuits(self) -> Float[Array, "layers heads vocab vocab"] | None:
        """Return what each head adds to the logits if it attends to one token's embedding alone.

        Row x is for the token x. A matrix may have a positive factor, and a constant row added.
        None for other families, and for layers whose outputs are not added.
        """
        return None


class AbstractModelOptions(Options, abc.ABC):
    """The options of a model family: a frozen dataclass that builds models.

    The pages show what a family declares here, except values that are None or empty.
    `every_position`: models predict at each position, not once for the whole sequence.
    `usual_training`: training options by name that replace the general defaults on the command
    line. `attains_reachable`: some models of the family come arbitrarily close to the loss of
    `reachable`; for other families that loss is only a lower bound. `reads_source`: models read the
    leading tokens as a source, whose length is the argument `source` of `build`.
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
        """Return whether a prediction depends only on its own position and earlier ones."""

    @property
    def losses(self) -> tuple[str, ...]:
        """Return the names of the losses that models of the family can be trained with."""
        return _LOSSES if self.every_position else ("last",)

    @property
    def readouts(self) -> tuple[str, ...]:
        """Return the names in `READOUTS` that models of the family can use."""
        return _READOUTS if self.every_position else ("last",)

    @abc.abstractmethod
    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> AbstractModel:
        """Build an initialised model for `length` visible positions over `vocab` tokens."""

    def work(self, *, vocab: int, length: int, parameters: int) -> float:
        """Return an upper estimate of the multiplications in a forward pass.

        By default every token is multiplied by every parameter.
        """
        return float(length * parameters)

    def parameter_formulas(self) -> Mapping[str, str]:
        """Return the parameter count of each part of a model, as a formula in the options.

        Formulas may also use `vocab` and `length`. Parts are named like the fields of the model;
        all layers of a stack together are one part: see `parameters_by_part`.
        """
        return {}

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        """Return the positions that the prediction at `position` may depend on."""
        return tuple(range(position + 1 if self.causal else length))

    def sees_order(self) -> bool:
        """Return whether models can tell the order of the other tokens that a query sees."""
        return True

    def reachable(self, generator: AbstractGenerator, length: int, position: int) -> Best | None:
        """Return a predictor whose loss no model of the family can beat at `position`, if known.

        By default this is the best prediction from the tokens that the position sees, or from
        their counts if the model cannot tell their order. That bounds the accuracy, too. None if
        the position sees all tokens in order, since the family then has no such limit.
        """
        seen = self.sees(position, length)
        if len(seen) == length and self.sees_order():
            return None
        return best_from_positions(generator, length, position, seen, ordered=self.sees_order())

    def findings(self, *, loss: str, length: int) -> Iterator[Finding]:
        """Yield a finding for each setting that prevents learning with `loss`."""
        if loss == "next" and not self.causal:
            yield Finding(
                "mask" if "mask" in options_of(self) else "loss",
                "With the loss `next` a position of this model may see the very token that it "
                "predicts. Choose the mask `causal`.",
            )
        all_seen = all(len(self.sees(position, length)) == length for position in range(length))
        if loss == "published" and not all_seen:
            yield Finding(
                "loss",
                "With the loss `published` every position must predict the final token, even "
                "those that see only some of the tokens; all of them share the weights. Choose "
                "the loss `last`.",
            )


def parameter_count(model: AbstractModel) -> int:
    """Return the number of trained parameters of a model, or of a model of abstract shapes."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, is_parameter)))


def is_parameter(leaf: Any) -> bool:
    """Return whether a leaf of a model is an array or an abstract shape."""
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


READOUTS = MappingProxyType(
    {
        "last": "the last position makes the prediction",
        "first": "the first position does, since only it sees every token under the published mask",
    }
)


def readout_position(readout: str, length: int) -> int:
    """Return the position whose logits are the model's prediction, for a name of `READOUTS`."""
    return {"last": length - 1, "first": 0}[readout]


def final_logits(
    model: AbstractModel, visible: Int[Array, " length"], readout: str
) -> Float[Array, " vocab"]:
    """Return the logits of the token after the visible ones."""
    queries = np.array([readout_position(readout, visible.size)])
    return model(visible, jnp.asarray(queries))[0][0]


class ParameterCount(NamedTuple):
    """The number of parameters of one part of a model; `formula` is "" if unknown."""

    part: str
    count: int
    formula: str


def parameters_by_part(
    options: AbstractModelOptions, *, vocab: int, length: int
) -> tuple[ParameterCount, ...]:
    """Return the parameter count of each part of a model, without building the model.

    The counts sum to `parameter_count`. Parts are the fields of the model, or the nested fields
    that `parameter_formulas` names, such as "layers.query" for the queries of all layers.
    """
    formulas = options.parameter_formulas()
    shapes = eqx.filter_eval_shape(options.build, vocab=vocab, length=length, key=jr.key(0))
    counts: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(shapes, is_parameter)):
        fields = [key.name for key in path if isinstance(key, GetAttrKey)]
        part = within if (within := ".".join(fields[:2])) in formulas else fields[0]
        counts[part] = counts.get(part, 0) + leaf.size
    return tuple(
        ParameterCount(part, count, formulas.get(part, "")) for part, count in counts.items()
    )
