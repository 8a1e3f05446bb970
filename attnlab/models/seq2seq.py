"""The interface of families that read a source before they write a target."""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from attnlab.models.base import (
    AbstractModel,
    AbstractModelOptions,
    AttentionMap,
    CellArithmetic,
    Logits,
    OneHot,
    Queries,
    Trace,
)
from attnlab.models.sites import Edit, Edits


@dataclasses.dataclass(frozen=True)
class AbstractSourceOptions(AbstractModelOptions):
    """A family that reads the leading tokens as a source, and writes the following ones.

    Like every family, it takes one sequence: the source, then the target so far. So it shares its
    data, tests and pages with the other families.
    """

    causal: ClassVar[bool] = True
    reads_source: ClassVar[bool] = True
    usual_training: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"loss": "next", "steps": 2_000, "data": "fresh", "batch": 256}
    )

    @property
    def losses(self) -> tuple[str, ...]:
        return ("last", "next")

    @property
    def readouts(self) -> tuple[str, ...]:
        return ("last",)

    @abc.abstractmethod
    def build(
        self, *, vocab: int, length: int, key: Key[Array, ""], source: int = 1
    ) -> "AbstractSourceModel":
        """Build a model for `length` tokens over `vocab`; the first `source` are the source."""


class Memory(NamedTuple):
    """The decoder's memory: `read` from the source, and `carried` from token to token.

    `read` does not change while a target is written, and is the same for all targets of a source.
    """

    read: PyTree
    carried: PyTree


class AbstractSourceModel(AbstractModel):
    """A model whose first `source_length` visible tokens are its source.

    From the last source position on, each position predicts the next token from all tokens so far.
    Earlier positions have no prediction; their logits repeat those of the first target token.
    """

    vocab: eqx.AbstractVar[int]
    source_length: eqx.AbstractVar[int]

    @abc.abstractmethod
    def write(
        self,
        source: Float[Array, "source vocab"],
        written: Float[Array, "written vocab"],
        edits: Edits = (),
        capture: Sequence[str] = (),
    ) -> tuple[Float[Array, "target vocab"], Trace]:
        """Return the logits of each target token, given `source` and the `written` tokens before.

        Both are one-hot rows; there is one row of logits more than of `written`. In the trace,
        `cross` maps are target × source. Patterns of `edits` have the shapes of the maps that they
        replace. Encoder activations have a row for each source token, decoder activations one for
        each target token.
        """

    @abc.abstractmethod
    def begin(self, source: Float[Array, "source vocab"], count: int) -> Memory:
        """Return the memory before `count` target tokens are written one by one.

        Raises `OptionError` for a source or a count that is longer than the model supports.
        """

    @abc.abstractmethod
    def next(
        self, memory: Memory, token: Float[Array, " vocab"]
    ) -> tuple[Float[Array, " vocab"], Memory]:
        """Return the logits of the next target token, as in `write`, and the memory after it.

        `token` is the one-hot row of the token before it; zeros for the first.
        """

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        """Return the result of `write`, with each map padded to all visible tokens.

        The token that begins the target takes the position of the last source token.
        """
        count = self.source_length
        own = [_cut_out(edit, count, len(one_hot)) for edit in edits]
        logits, trace = self.write(one_hot[:count], one_hot[count:], own, capture)
        maps = tuple(_in_place(found, count, len(one_hot), queries) for found in trace.attention)
        logits = logits[jnp.maximum(queries - (count - 1), 0)]
        return logits, dataclasses.replace(trace, attention=maps)


def alignment_of(
    model: AbstractSourceModel, tokens: Int[Array, " length"]
) -> tuple[Float[Array, "heads target source"], ...]:
    """Return each layer's cross-attention on visible tokens; each target token's row sums to 1."""
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    _, trace = model.write(one_hot[: model.source_length], one_hot[model.source_length :])
    maps = (found.pattern for found in trace.attention if found.kind == "cross")
    return tuple(map(jnp.asarray, maps))


def place_of(kind: str, source: int) -> tuple[int, int]:
    """Return the row and the column among all visible tokens where a map of this kind begins."""
    return 0 if kind == "source" else source - 1, source - 1 if kind == "self" else 0


def among_visible(cell: CellArithmetic, column: int, length: int) -> CellArithmetic:
    """Pad a cell's arithmetic to all visible tokens; the keys of its map begin at `column`."""
    rest = length - column - cell.scaled.size
    parts = {
        name: np.pad(getattr(cell, name), (column, rest))
        for name in ("scaled", "unmasked", "pattern")
    }
    return cell._replace(**parts)


def _cut_out(edit: Edit, source: int, length: int) -> Edit:
    if edit.site is not None:
        return edit
    (row, column), target = place_of(edit.kind, source), length - source + 1
    rows = source if edit.kind == "source" else target
    columns = target if edit.kind == "self" else source
    pattern = jnp.asarray(edit.pattern)[row : row + rows, column : column + columns]
    return Edit(edit.layer, edit.head, pattern, edit.kind)


def _in_place(
    found: AttentionMap, source: int, length: int, queries: Int[Array, " query"]
) -> AttentionMap:
    row, column = place_of(found.kind, source)

    def placed(part):
        some, many = part.shape[-2:]
        whole = jnp.zeros((*part.shape[:-2], length, length), part.dtype)
        whole = whole.at[..., row : row + some, column : column + many].set(part)
        return whole[..., queries, :]

    return AttentionMap(placed(found.pattern), placed(found.mask), found.layer, found.kind)
