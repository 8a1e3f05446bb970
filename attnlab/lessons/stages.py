"""One attention head taken apart: every stage from the inputs to the output."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab.attention.head import attend
from attnlab.attention.scores import AbstractScore
from attnlab.models.initialisation import Projection, project


class Head(NamedTuple):
    """The weights of one head."""

    query: Projection
    key: Projection
    value: Projection


class Stages(NamedTuple):
    """What one head computes, in the order it does.

    queries, keys, values = x W + b; scores compare every query with every key; scaled = scale ·
    scores; masked has -inf where a query may not look; pattern = softmax of its rows; weighted =
    pattern · value of every pair; output = their sums over the keys.
    """

    queries: Float[Array, "query d_attn"]
    keys: Float[Array, "key d_attn"]
    values: Float[Array, "key d_value"]
    scores: Float[Array, "query key"]
    scaled: Float[Array, "query key"]
    masked: Float[Array, "query key"]
    pattern: Float[Array, "query key"]
    weighted: Float[Array, "query key d_value"]
    output: Float[Array, "query d_value"]


def stages(
    head: Head,
    asking: Float[Array, "query inputs"],
    asked: Float[Array, "key inputs"],
    *,
    mask: Bool[Array, "query key"],
    scale: float | Float[Array, ""],
    score: AbstractScore,
) -> Stages:
    """Every stage of `attend` for queries from `asking`, and keys and values from `asked`.

    In self-attention the two are the same sequence.
    """
    query = project(head.query, asking)
    key, value = project(head.key, asked), project(head.value, asked)
    output, pattern = attend(query, key, value, mask=mask, scale=scale, score=score)
    scores = score.scores(query, key)
    return Stages(
        queries=query,
        keys=key,
        values=value,
        scores=scores,
        scaled=scale * scores,
        masked=jnp.where(mask, scale * scores, -jnp.inf),
        pattern=pattern,
        weighted=pattern[:, :, None] * value[None, :, :],
        output=output,
    )


def compiled_stages(
    head: Head,
    asking: Float[np.ndarray, "query inputs"],
    asked: Float[np.ndarray, "key inputs"],
    *,
    mask: Bool[np.ndarray, "query key"],
    scale: float,
    score: AbstractScore,
) -> Stages:
    """`stages` as NumPy arrays, with one compiled program for tables of many sizes.

    Rows and input features are filled up with zeros to a multiple of eight and cut off again;
    a row that was filled up may be attended to by nobody.
    """
    queries, keys = mask.shape
    features = _filled(asking.shape[1])

    def full(projection: Projection) -> Projection:
        return Projection(_fill(projection.weight, (features, None)), np.asarray(projection.bias))

    found = _stages_program(
        Head(*map(full, head)),
        _fill(asking, (_filled(queries), features)),
        _fill(asked, (_filled(keys), features)),
        mask=_fill(mask, (_filled(queries), _filled(keys))),
        scale=np.float32(scale),
        score=score,
    )
    one_sided = {"queries": queries, "keys": keys, "values": keys, "output": queries}
    return Stages(
        **{
            name: part[: one_sided[name]] if name in one_sided else part[:queries, :keys]
            for name, part in jax.device_get(found)._asdict().items()
        }
    )


# So few numbers are sooner computed than a fast program for them is found.
_stages_program = jax.jit(stages, compiler_options={"xla_backend_optimization_level": 0})


def _filled(size: int) -> int:
    return -(-size // 8) * 8


def _fill(array: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    array = np.asarray(array)
    missing = [
        (0, 0 if full is None else full - size)
        for size, full in zip(array.shape, shape, strict=True)
    ]
    return np.pad(array, missing)
