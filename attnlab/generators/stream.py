"""Stationary streams with a finite memory: exact prediction from a window of symbols.

A stream is given by p(next symbol | the last `memory` symbols). A sequence is a window cut from it,
so the past of its first symbols is unknown. That past is marginalised over the stationary
distribution, by a table with a row for every possible prefix of the window. Windows are coded as
numbers, the oldest symbol as the leading digit.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.options import Finding
from attnlab.generators.base import Shared

# The iteration stops when no window's probability changes by a larger share in a round; the
# conditional probabilities then have about the precision of float32.
_CONVERGED = 1e-9
_MOST_ROUNDS = 100_000
# Checking convergence costs as much as a round.
_ROUNDS_A_LOOK = 8
# Windows rarer than this are transient: a stream leaves them and never returns.
_NEVER = 1e-17


class StreamBelief(NamedTuple):
    """The last `memory` symbols: how many of them were `seen`, and their `code`.

    `table` contains log p(next symbol | symbols seen): a row for the empty prefix, then a row for
    each prefix of one symbol, of two symbols, and so on up to whole windows.
    """

    table: Shared
    seen: Int[Array, ""]
    code: Int[Array, ""]


def start_stream(table: Float[np.ndarray, "prefixes symbols"]) -> StreamBelief:
    """Return the belief before any symbol."""
    return StreamBelief(table=Shared(jnp.asarray(table)), seen=jnp.int32(0), code=jnp.int32(0))


def stream_log_probs(belief: StreamBelief) -> Float[Array, " symbols"]:
    """Return log p(next symbol | belief), in nats."""
    table = belief.table.value
    symbols = table.shape[1]
    shorter_prefixes = (symbols**belief.seen - 1) // (symbols - 1)
    return table[shorter_prefixes + belief.code]


def update_stream(belief: StreamBelief, symbol: Int[Array, ""], memory: int) -> StreamBelief:
    """Return the belief after the next symbol; symbols older than `memory` are forgotten."""
    symbols = belief.table.value.shape[1]
    code = (belief.code * symbols + symbol) % symbols**memory
    return belief._replace(seen=jnp.minimum(belief.seen + 1, memory), code=code)


def stationary_distribution(
    rule: Float[np.ndarray, "windows symbols"],
    *,
    first: Float[np.ndarray, " windows"] | None = None,
) -> Float[np.ndarray, " windows"]:
    """Return p(window) of a stream that has run forever, by power iteration in float64.

    `rule` is p(next symbol | window). The iteration starts from the distribution `first`, by
    default uniform. Raises an error if it does not converge.
    """
    windows, symbols = rule.shape
    if windows == 1:
        return np.ones(1)
    by_oldest = np.ascontiguousarray(rule.T).reshape(symbols, symbols, -1)
    distribution = np.full(windows, 1 / windows) if first is None else first
    for number in range(_MOST_ROUNDS):
        if number % _ROUNDS_A_LOOK == 0:
            check_in()
        old = distribution.reshape(symbols, -1)
        moved = [np.einsum("ow,ow->w", old, probability) for probability in by_oldest]
        new = np.stack(moved, axis=1).reshape(-1)
        settled = number % _ROUNDS_A_LOOK == 0 and np.all(
            np.abs(new - distribution) <= _CONVERGED * new + _NEVER
        )
        distribution = new
        if settled:
            return np.where(distribution > _NEVER, distribution, 0.0) / distribution.sum()
    raise ValueError(f"The stream does not settle within {_MOST_ROUNDS:,} days. Add noise to it.")


def prefix_table(
    rule: Float[np.ndarray, "windows symbols"], distribution: Float[np.ndarray, " windows"]
) -> Float[np.ndarray, "prefixes symbols"]:
    """Return log p(next symbol | prefix) for every prefix of a window: see `StreamBelief`.

    By Bayes' rule p(next | prefix) = p(prefix, next) / p(prefix), where both are sums of p(window)
    over the symbols not seen. Rows of impossible prefixes are -inf.
    """
    symbols = rule.shape[1]
    rows = []
    prefixes = symbols
    while prefixes <= distribution.size:
        joint = distribution.reshape(prefixes, -1).sum(axis=1).reshape(-1, symbols)
        likely = joint.sum(axis=1, keepdims=True)
        rows.append(joint / np.where(likely > 0, likely, 1))
        prefixes *= symbols
    with np.errstate(divide="ignore"):
        return np.log(np.concatenate([*rows, np.where(distribution[:, None] > 0, rule, 0)])).astype(
            np.float32
        )


def hidden_past(deciding: Collection[int], length: int) -> Iterator[Finding]:
    """Yield a finding if tokens that the next one depends on are not visible.

    `deciding` are those tokens, counted backwards: 1 is the one before the next.
    """
    hidden = sum(back > length for back in deciding)
    if hidden:
        yield Finding(
            "length",
            f"{hidden} of the {len(deciding)} days that decide the odds of the next one "
            f"{'lie' if hidden > 1 else 'lies'} outside the {length} visible days. The "
            "Bayes loss and accuracy take that into account.",
        )
