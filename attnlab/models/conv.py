"""`conv`: causal convolutions, which weigh tokens by their distance alone."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from attnlab.configuration.options import Finding, option, options_of, present
from attnlab.models.base import (
    KERNELS,
    AbstractModel,
    AbstractModelOptions,
    Logits,
    OneHot,
    Queries,
    Trace,
)
from attnlab.models.parts import (
    ACTIVATION_HELP,
    ACTIVATIONS,
    Projection,
    project,
    scaled_projection,
)
from attnlab.models.sites import Activations, Edits


@dataclasses.dataclass(frozen=True)
class ConvOptions(AbstractModelOptions):
    """xₜ ← xₜ + f(Σⱼ Wⱼ xₜ₋ⱼ·ₛ + b), layer after layer; logits of token t + 1 = xₜ U + b′.

    j counts the `kernel_size` taps of a layer from 0; s = `dilation` to the power of the number of
    layers below. x starts as the token's vector, and is 0 before the first token. van den Oord et
    al. (2016), "WaveNet", section 2.1; Bai et al. (2018), section 3.
    """

    name: ClassVar[str] = "conv"
    summary: ClassVar[str] = (
        "Causal convolutions: each position sees earlier ones at fixed distances."
    )
    causal: ClassVar[bool] = True

    layers: int = option(3, "Number of layers.", low=1, high=8)
    kernel_size: int = option(
        3, "Number of positions that an output of a layer sees, including its own.", low=1, high=16
    )
    dilation: int = option(
        2,
        "Distance between these positions; every layer multiplies it by this number.",
        low=1,
        high=4,
    )
    d_model: int = option(24, "Width of the vectors between layers.", low=2, high=128)
    activation: str = option("gelu", ACTIVATION_HELP, choices=tuple(ACTIVATIONS))

    def strides(self) -> tuple[int, ...]:
        """Return the distance between taps, by layer."""
        return tuple(self.dilation**layer for layer in range(self.layers))

    def distances(self, length: int) -> tuple[int, ...]:
        """Return the distances back to the tokens that a prediction sees, 0 included.

        They are the sums of one tap's distance from each layer.
        """
        reached = {0}
        for stride in self.strides():
            taps = range(0, min(self.kernel_size * stride, length), stride)
            reached = {old + new for old in reached for new in taps if old + new < length}
        return tuple(sorted(reached))

    def sees(self, position: int, length: int) -> tuple[int, ...]:
        return tuple(
            position - back for back in reversed(self.distances(length)) if back <= position
        )

    def _remedies(self, length: int) -> Iterator[str]:
        """Yield the changes of a single option that make every position visible."""
        for name, more in (("kernel_size", "a larger"), ("layers", "more")):
            values = range(getattr(self, name) + 1, int(present(options_of(self)[name].high)) + 1)
            changed = (dataclasses.replace(self, **{name: value}) for value in values)
            if any(len(each.distances(length)) == length for each in changed):
                yield f"{more} `{name}`"

    def findings(self, *, loss: str, length: int) -> Iterator[Finding]:
        seen = self.distances(length)
        if len(seen) < length:
            unseen = min(set(range(length)) - set(seen))
            one, both = (
                " or ".join(self._remedies(length)),
                "a larger `kernel_size` and more `layers`",
            )
            yield Finding(
                "kernel_size",
                f"A prediction sees {len(seen)} of {length} positions: it does not see the one "
                f"{unseen} before the last. Choose {one or both}.",
            )
        yield from super().findings(loss=loss, length=length)

    def parameter_formulas(self) -> Mapping[str, str]:
        return {
            "tokens": "vocab × d_model",
            "layers": "layers × (kernel_size × d_model + 1) × d_model",
            "unembedding": "(d_model + 1) × vocab",
        }

    def build(self, *, vocab: int, length: int, key: Key[Array, ""]) -> "Conv":
        token_key, unembedding_key, *layer_keys = jr.split(key, 2 + self.layers)

        read = self.kernel_size * self.d_model
        return Conv(
            options=self,
            vocab=vocab,
            tokens=jr.normal(token_key, (vocab, self.d_model)),
            layers=tuple(
                scaled_projection(layer_key, read, self.d_model) for layer_key in layer_keys
            ),
            unembedding=scaled_projection(unembedding_key, self.d_model, vocab),
        )


class Conv(AbstractModel):
    """The stack that `ConvOptions` describes, with its weights.

    Each layer projects its concatenated taps, the nearest first. On a CPU this is several times as
    fast as XLA's convolution.
    """

    options: ConvOptions = eqx.field(static=True)
    vocab: int = eqx.field(static=True)
    tokens: Float[Array, "vocab d_model"]
    layers: tuple[Projection, ...]
    unembedding: Projection

    def read(
        self, one_hot: OneHot, queries: Queries, *, edits: Edits = (), capture: Sequence[str] = ()
    ) -> tuple[Logits, Trace]:
        inner, activation = Activations(edits, capture), ACTIVATIONS[self.options.activation]
        rows = inner.at("embedding", one_hot @ self.tokens)
        strides = self.options.strides()
        for number, (layer, stride) in enumerate(zip(self.layers, strides, strict=True)):
            # Zeros are before the first token.
            shifts = range(0, self.options.kernel_size * stride, stride)
            taps = [jnp.pad(rows, ((by, 0), (0, 0)))[: len(rows)] for by in shifts]
            rows = rows + activation(project(layer, jnp.concatenate(taps, axis=1)))
            rows = inner.at(f"conv.{number}", rows)
        values = {KERNELS: self._shares(len(one_hot))}
        return project(self.unembedding, rows[queries]), Trace(values=values, residual=inner.kept)

    @property
    def sites(self) -> tuple[str, ...]:
        return "embedding", *(f"conv.{number}" for number in range(len(self.layers)))

    def _shares(self, length: int) -> Float[Array, "layers query key"]:
        """Return each key's share of a layer's weights (Frobenius norm of Wⱼ), by query."""
        kernels = [
            layer.weight.reshape(self.options.kernel_size, -1, layer.bias.size)
            for layer in self.layers
        ]
        return jnp.stack(
            [
                _by_distance(jnp.sqrt((kernel**2).sum(axis=(1, 2))), length, stride)
                for kernel, stride in zip(kernels, self.options.strides(), strict=True)
            ]
        )


def _by_distance(
    size: Float[Array, " taps"], length: int, stride: int
) -> Float[Array, "query key"]:
    distance = np.arange(length)[:, None] - np.arange(length)
    taps = distance // stride
    there = (distance >= 0) & (distance % stride == 0) & (taps < size.size)
    weighed = jnp.where(there, size[np.where(there, taps, 0)], 0)
    return weighed / weighed.sum(axis=1, keepdims=True)
