"""Stationary streams with a finite memory: exact prediction from the days of a window.

A stream is given by p(next symbol | the last `memory` symbols). A sequence is a window cut from
it, so its first days have a past that nobody sees; that past is marginalised over the stationary
law, by a table with a row for every possible beginning of the window. Windows are coded as
numbers, the oldest symbol as the leading digit.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

# Largest relative change of any window between two rounds at which the law counts as found; the
# conditional probabilities are then exact to about the precision of the float32 they become.
_CONVERGED = 1e-9
_MOST_ROUNDS = 100_000


class StreamBelief(NamedTuple):
    """What is known of the last `memory` symbols: how many were seen, and their code.

    `table` holds log p(next symbol | the symbols seen): a row for the empty beginning, then for
    every beginning of one symbol, of two, up to whole windows.
    """

    table: Float[Array, "beginnings symbols"]
    seen: Int[Array, ""]
    code: Int[Array, ""]


def start_stream(table: Float[Array, "beginnings symbols"]) -> StreamBelief:
    """Belief before any symbol."""
    return StreamBelief(table=table, seen=jnp.int32(0), code=jnp.int32(0))


def stream_log_probs(belief: StreamBelief) -> Float[Array, " symbols"]:
    """log p(next symbol | belief), in nats."""
    symbols = belief.table.shape[1]
    shorter_beginnings = (symbols**belief.seen - 1) // (symbols - 1)
    return belief.table[shorter_beginnings + belief.code]


def update_stream(belief: StreamBelief, symbol: Int[Array, ""], memory: int) -> StreamBelief:
    """Belief after the next symbol; those older than `memory` are forgotten."""
    symbols = belief.table.shape[1]
    code = (belief.code * symbols + symbol) % symbols**memory
    return belief._replace(seen=jnp.minimum(belief.seen + 1, memory), code=code)


def stationary_law(
    rule: Float[np.ndarray, "windows symbols"],
) -> Float[np.ndarray, " windows"]:
    """p(window) in a stream that has run forever, by power iteration in float64.

    `rule` is p(next symbol | window). Refused: a rule under which the iteration does not settle,
    as for a periodic stream.
    """
    windows, symbols = rule.shape
    if windows == 1:
        return np.ones(1)
    by_oldest = np.ascontiguousarray(rule.T).reshape(symbols, symbols, -1)
    law = np.full(windows, 1 / windows)
    for _ in range(_MOST_ROUNDS):
        old = law.reshape(symbols, -1)
        moved = [np.einsum("ow,ow->w", old, probability) for probability in by_oldest]
        new = np.stack(moved, axis=1).reshape(-1)
        settled = np.all(np.abs(new - law) <= _CONVERGED * new)
        law = new / new.sum()
        if settled:
            return law
    raise ValueError(f"The stream does not settle within {_MOST_ROUNDS:,} days. Add `noise`.")


def beginning_table(
    rule: Float[np.ndarray, "windows symbols"],
) -> Float[Array, "beginnings symbols"]:
    """log p(next symbol | beginning) for every beginning of a window: see `StreamBelief`.

    By Bayes' rule p(next | beginning) = p(beginning, next) / p(beginning), where both follow from
    the stationary law by summing over the days not seen.
    """
    symbols = rule.shape[1]
    law, rows = stationary_law(rule), []
    beginnings = symbols
    while beginnings <= law.size:
        joint = law.reshape(beginnings, -1).sum(axis=1).reshape(-1, symbols)
        rows.append(joint / joint.sum(axis=1, keepdims=True))
        beginnings *= symbols
    with np.errstate(divide="ignore"):
        return jnp.asarray(np.log(np.concatenate([*rows, rule])), dtype=jnp.float32)
