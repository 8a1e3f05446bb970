"""A head inside a wider one, so that heads of many widths and scales share one program."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.attention.head import scale_factor
from attnlab.models.attention import Attention, HeadParts
from attnlab.models.initialisation import Projection


class PaddedHead(Attention):
    """An `Attention` whose queries and keys were widened by components that are always 0.

    Where both a query's and a key's component are 0, so are the gradients of their weights: Adam
    leaves them at 0, and the head is and trains as the narrow one does. The factor on the scores
    is an array, and no gradient reaches it.
    """

    factor: Float[Array, ""]

    def parts(
        self, one_hot: Float[Array, "length vocab"], queries: Int[Array, " query"]
    ) -> HeadParts:
        return super().parts(one_hot, queries)._replace(scale=jax.lax.stop_gradient(self.factor))


def padded(model: Attention, width: int, *, scale: str, gain: float) -> PaddedHead:
    """`model` widened to `width`, its queries and keys `gain` times as large.

    `scale` is a name of `SCALES` and counts the components that `model` had.
    """
    options = model.options
    if not options.d_attn <= width:
        raise ValueError(f"`width` is {width}: the head has {options.d_attn} already.")

    def widened(projection: Projection) -> Projection:
        more = ((0, 0), (0, width - options.d_attn))
        # By NumPy, since JAX would compile a program for every width there is.
        weight, bias = (np.float32(gain) * np.asarray(part) for part in projection)
        return Projection(
            *(jnp.asarray(part) for part in (np.pad(weight, more), np.pad(bias, more[1:])))
        )

    # One name for all heads, since what is static takes part in what is compiled.
    wide = dataclasses.replace(options, d_attn=width, scale="none")
    factor = scale_factor(scale, d_attn=options.d_attn, temperature=options.temperature)
    return PaddedHead(
        options=wide,
        vocab=model.vocab,
        length=model.length,
        tokens=model.tokens,
        positions=model.positions,
        query=widened(model.query),
        key=widened(model.key),
        value=model.value,
        factor=jnp.asarray(np.float32(factor)),
    )
