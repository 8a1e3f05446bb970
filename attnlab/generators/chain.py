"""Tables of probabilities, and the long-run behaviour of Markov chains that may mix slowly."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.configuration.options import OptionError, quoted

# Wide enough for rows typed with six decimals, far too narrow to hide a wrong row.
_SUM_TOLERANCE = 1e-6


def check_distribution(name: str, row: Any, size: int) -> None:
    """Raise `OptionError` unless a row is `size` probabilities that sum to 1."""
    remedy = f"Give {size} numbers from 0 to 1 that sum to 1"
    if not isinstance(row, tuple) or len(row) != size:
        raise OptionError(name, row, f"not {size} numbers", remedy)
    for probability in row:
        if isinstance(probability, bool) or not isinstance(probability, int | float):
            raise OptionError(name, row, f"{quoted(probability)} is not a number", remedy)
        # An integer may be too large for `math.isnan`, but is always a number.
        if isinstance(probability, float) and math.isnan(probability):
            raise OptionError(name, row, "a number is missing", remedy)
        if not 0 <= probability <= 1:
            raise OptionError(name, row, f"{quoted(probability)} is not from 0 to 1", remedy)
    total = math.fsum(row)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise OptionError(name, row, f"sums to {total:.6g}, not to 1", remedy)


def check_first_states(initial: Any, most: int) -> int:
    """Return the number of hidden states; raise `OptionError` if it, or a probability, is wrong."""
    states = len(initial) if isinstance(initial, tuple) else 0
    if not 1 <= states <= most:
        problem = f"not 1 to {most} hidden states"
        raise OptionError("initial", initial, problem, "Give one probability per state")
    check_distribution("initial", initial, states)
    return states


def numbered_states(count: int) -> tuple[str, ...]:
    """Return the names of hidden states that have no other."""
    return tuple(f"state {number}" for number in range(1, count + 1))


def check_table(name: str, table: Any, rows: int, columns: int) -> None:
    """Raise `OptionError` unless a table is `rows` distributions over `columns` outcomes."""
    if not isinstance(table, tuple) or len(table) != rows:
        raise OptionError(name, table, f"not {rows} rows", f"Give {rows} rows of {columns} numbers")
    for number, row in enumerate(table, start=1):
        check_distribution(f"{name} row {number}", row, columns)


def normalise(log_probs: Float[Array, " states"]) -> Float[Array, " states"]:
    """Return log-probabilities whose probabilities sum to 1; all stay -inf if none is finite."""
    total = jax.nn.logsumexp(log_probs)
    return log_probs - jnp.where(jnp.isfinite(total), total, 0.0)


# The precision to which users type rows of probabilities.
_TYPED = 1e-6


def long_run_distribution(
    transition: Float[np.ndarray, "states states"], start: Float[np.ndarray, " states"]
) -> Float[np.ndarray, " states"]:
    """Return lim (1/T) Σ start Pᵗ over t < T: the long-run distribution of a chain's states.

    Transient states get no mass; each closed class gets the mass that it absorbs, in the
    proportions of its stationary distribution. States are eliminated one by one, passing their mass
    and moves to the others, without any subtraction (Grassmann, Taksar and Heyman 1985) and in
    logarithms. So every probability keeps its relative precision, however small.
    """
    # Rows typed with few decimals sum only nearly to 1.
    transition = transition / transition.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        moves, mass = np.log(transition), np.log(start / start.sum())
    classes = closed_classes(transition)
    for state in np.setdiff1d(np.arange(len(start)), np.concatenate(classes)):
        moves[state, state] = -np.inf
        onward = moves[state] - np.logaddexp.reduce(moves[state])
        mass, moves = (
            np.logaddexp(mass, mass[state] + onward),
            np.logaddexp(moves, moves[:, [state]] + onward),
        )
        mass[state], moves[:, state] = -np.inf, -np.inf
    distribution = np.zeros(len(start))
    for members in classes:
        within = _log_stationary(moves[np.ix_(members, members)])
        distribution[members] = np.exp(np.logaddexp.reduce(mass[members]) + within)
    return distribution


def closed_classes(
    moves: Float[np.ndarray, "states states"],
) -> list[Int[np.ndarray, " members"]]:
    """Return the closed classes of a chain: sets of states that reach each other and no other."""
    reaches = (moves > 0) | np.eye(len(moves), dtype=bool)
    # Repeated squaring turns one step into any number of steps.
    for _ in range(len(moves).bit_length()):
        reaches = (reaches.astype(int) @ reaches.astype(int)) > 0
    lasting = (reaches <= reaches.T).all(axis=1)
    return [np.flatnonzero(row) for row in np.unique(reaches[lasting], axis=0)]


def is_stationary_chain(
    start: Float[np.ndarray, " states"], transitions: Float[np.ndarray, "vocab states states"]
) -> bool:
    """Return whether the outputs of a hidden Markov chain are stationary.

    They are if every output sequence is as likely from `start` as in the long run. The probability
    of a sequence is linear in the distribution of the first state, so it suffices to check a basis
    of the vectors p(sequence | first state). Differences below the precision of typed tables are
    ignored.

    Args:
        start: p(first state).
        transitions: T[x, i, j] = p(emit x, go to j | in i).
    """
    gap = start / start.sum() - long_run_distribution(transitions.sum(axis=0), start)
    basis: list[Float[np.ndarray, " states"]] = []
    waiting = [np.ones(len(start))]
    while waiting:
        vector = waiting.pop()
        rest = vector - sum(((known @ vector) * known for known in basis), np.zeros(len(start)))
        size = np.linalg.norm(rest)
        if size > _TYPED * np.linalg.norm(vector):
            basis.append(rest / size)
            waiting.extend(transitions @ basis[-1])
    return bool(np.abs(basis @ gap).max() <= _TYPED)


def _log_stationary(
    moves: Float[np.ndarray, "states states"],
) -> Float[np.ndarray, " states"]:
    """Return the log stationary distribution of an irreducible chain.

    `moves` are log transition probabilities, whose diagonal is ignored.
    """
    moves = moves.copy()
    for state in range(len(moves) - 1, 0, -1):
        into, out = moves[:state, state], moves[state, :state]
        into -= np.logaddexp.reduce(out)
        moves[:state, :state] = np.logaddexp(moves[:state, :state], into[:, None] + out)
    distribution = np.zeros(len(moves))
    for state in range(1, len(moves)):
        distribution[state] = np.logaddexp.reduce(distribution[:state] + moves[:state, state])
    return distribution - np.logaddexp.reduce(distribution)
