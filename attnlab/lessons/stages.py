"""Attention by hand: means of the past, one head stage by stage, and small examples."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from attnlab.attention import AbstractScore, attend, causal, masked_softmax
from attnlab.configuration.options import OptionError
from attnlab.models.parts import Projection, project


def average_by_loop(
    rows: Float[np.ndarray, "length channels"],
) -> Float[np.ndarray, "length channels"]:
    """Return the mean of the rows up to t in row t, by a loop over t."""
    means = np.zeros_like(rows)
    for t in range(len(rows)):
        means[t] = rows[: t + 1].mean(axis=0)
    return means


def average_by_matrix(rows: Float[Array, "length channels"]) -> Float[Array, "length channels"]:
    """Return the means by one product: a lower triangle of ones, each row divided by its sum."""
    length = rows.shape[0]
    triangle = jnp.tril(jnp.ones((length, length)))
    return (triangle / triangle.sum(axis=1, keepdims=True)) @ rows


def average_by_softmax(rows: Float[Array, "length channels"]) -> Float[Array, "length channels"]:
    """Return the means as attention does: by the masked softmax of scores that are all zero."""
    length = rows.shape[0]
    positions = jnp.arange(length)
    return masked_softmax(jnp.zeros((length, length)), causal(positions, positions)) @ rows


class Head(NamedTuple):
    """The weights of one head."""

    query: Projection
    key: Projection
    value: Projection


class Stages(NamedTuple):
    """What one head computes, in order.

    queries, keys, values = x W + b; scores compare every query with every key; scaled = scale ·
    scores; masked has -inf where the mask hides a key; pattern = softmax of its rows; weighted =
    pattern · value of every pair; output = their sums over the keys.
    """

    # JAX arrays inside a compiled program, NumPy arrays outside.
    queries: Float[Any, "query d_attn"]
    keys: Float[Any, "key d_attn"]
    values: Float[Any, "key d_value"]
    scores: Float[Any, "query key"]
    scaled: Float[Any, "query key"]
    masked: Float[Any, "query key"]
    pattern: Float[Any, "query key"]
    weighted: Float[Any, "query key d_value"]
    output: Float[Any, "query d_value"]


def stages(
    head: Head,
    asking: Float[Array, "query inputs"],
    asked: Float[Array, "key inputs"],
    *,
    mask: Bool[Array, "query key"],
    scale: float | Float[Array, ""],
    score: AbstractScore,
) -> Stages:
    """Return every stage of `attend`: queries are made from `asking`, keys and values from `asked`.

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


_stages = jax.jit(stages)


def compiled_stages(*inputs: Any, **settings: Any) -> Stages:
    """Return `stages` of the same arguments as NumPy arrays, by a compiled program."""
    return jax.device_get(_stages(*inputs, **settings))


Rows = tuple[tuple[float, ...], ...]


class WorkedExample(NamedTuple):
    """Inputs and weights of one head, rows as lists, and what to look for."""

    inputs: Rows
    w_query: Rows
    w_key: Rows
    w_value: Rows
    lesson: str


_CLASSIC = WorkedExample(
    inputs=((1, 0, 1, 0), (0, 2, 0, 2), (1, 1, 1, 1)),
    w_query=((1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 1, 1)),
    w_key=((0, 0, 1), (1, 1, 0), (0, 1, 0), (1, 1, 0)),
    w_value=((0, 2, 0), (0, 3, 0), (1, 0, 3), (1, 1, 0)),
    lesson="A common example: three inputs of width four, a head of width three. Inputs 2 and 3 "
    "have large keys, so every query gives them most weight.",
)
_FOUR = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
_ONES = ((1, 1, 1),) * 4


def _random_head() -> WorkedExample:
    rng = np.random.default_rng(0)

    def drawn(rows: int, columns: int, std: float) -> Rows:
        # Two decimals, so that the screen shows them exactly.
        numbers = np.round(rng.normal(scale=std, size=(rows, columns)), 2)
        return tuple(tuple(row) for row in numbers.tolist())

    return WorkedExample(
        drawn(5, 4, 1.0),
        # With inputs of width 4 and standard deviation 1, queries have standard deviation 1, too.
        *(drawn(4, 16, 0.5) for _ in ("query", "key", "value")),
        lesson="This head has random weights and width 16. Without scaling the scores have a "
        "standard deviation of about 2. Three of the five queries give more than 80 % of their "
        "attention to one key. Switch scaling on: no key gets more than 45 %.",
    )


WORKED_EXAMPLES = MappingProxyType(
    {
        "worked example": _CLASSIC,
        "one-hot keys": WorkedExample(
            inputs=_FOUR,
            w_query=((0, 6, 0, 0), (0, 0, 6, 0), (0, 0, 0, 6), (6, 0, 0, 0)),
            w_key=_FOUR,
            w_value=((1, 0), (0, 1), (-1, 0), (0, -1)),
            lesson="The head works like a dictionary: every key is one-hot, so each score is one "
            "component of the query. Each query asks for the next input and gets nearly "
            "its value.",
        ),
        "all-ones weights": _CLASSIC._replace(
            w_query=_ONES,
            w_key=_ONES,
            w_value=_ONES,
            lesson="Equal weights are a bad start: all components of a query, a key or a value are "
            "the same number, the sum of its input. A score is 3 times the product of two "
            "sums (the head has 3 components). So every query with a positive sum ranks the "
            "keys in the same order. Equal components of queries and keys get equal "
            "gradients, so training keeps them equal, unless rotary positions rotate them. The "
            "values can become different, since each one feeds another part of the output.",
        ),
        "identical inputs": _CLASSIC._replace(
            inputs=((1, 0, 1, 0),) * 3,
            lesson="Equal inputs have equal keys: all shares are equal, and the output is their "
            "common value. Attention cannot distinguish equal inputs; that takes positions.",
        ),
        "random head of width 16": _random_head(),
    }
)


def check_shapes(tables: Mapping[str, Rows]) -> None:
    """Raise `OptionError` for the first table that does not fit the others.

    `tables` are `inputs`, `w_query`, `w_key` and `w_value`. Optional tables are `asking`, separate
    inputs of the queries, and the biases `b_query`, `b_key` and `b_value`, one row each.
    """
    shapes = {name: (len(rows), len(rows[0])) for name, rows in tables.items()}
    features, d_attn = shapes["inputs"][1], shapes["w_query"][1]

    def refuse(name: str, problem: str, remedy: str) -> NoReturn:
        raise OptionError(name, "{} × {}".format(*shapes[name]), problem, f"Give it {remedy}")

    for name in ("w_query", "w_key", "w_value"):
        if (rows := shapes[name][0]) != features:
            problem = f"{rows} rows, but the inputs have {features} columns"
            refuse(name, problem, f"{features} rows")
    if (columns := shapes["w_key"][1]) != d_attn:
        refuse("w_key", f"{columns} columns, but `w_query` has {d_attn}", f"{d_attn} columns")
    if "asking" in shapes and (columns := shapes["asking"][1]) != features:
        problem = f"{columns} columns, but the inputs have {features}"
        refuse("asking", problem, f"{features} columns")
    for name in ("query", "key", "value"):
        bias, columns = f"b_{name}", shapes[f"w_{name}"][1]
        if bias in shapes and shapes[bias] != (1, columns):
            problem = f"not one row of {columns}, the columns of `w_{name}`"
            refuse(bias, problem, f"{columns} numbers")
