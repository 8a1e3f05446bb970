"""What attention costs on this machine: time and memory against the length of the sequence."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from attnlab.attention import MASKS, attend, chunked_attend
from attnlab.configuration.options import present
from attnlab.models import Transformer, TransformerOptions
from attnlab.models.generation import Cache, empty_cache, next_logits

PLAIN, CHUNKED = "plain", "chunked"
RECOMPUTED, CACHED = "recomputed", "with a KV cache"
FORWARD, GRADIENT = "forward", "forward and gradient"
PASSES = (FORWARD, GRADIENT)
NEW_TOKENS = 16
# Layers of the measured transformer at first. With one, only its last query is computed without a
# cache too, so that the cache saves little.
LAYERS = 4
# Minimum seconds of a round, so that the clock's resolution and the call overhead are negligible.
_ROUND_SECONDS = 0.02
_ROUNDS = 5
# This many scores take about as long as compiling the program.
_COMPILING = 2_000**2


class Cost(NamedTuple):
    """The time and memory of one way to compute a result, at one length.

    `seconds` has one number per round, for one call or one token. `scratch` is the number of bytes
    that the compiled program needs besides arguments and results, as the compiler reports.
    """

    length: int
    way: str
    seconds: Float[np.ndarray, " rounds"]
    scratch: int


class CostProgress(NamedTuple):
    """The approximate share of the work done, the current item, and the measurements so far.

    `difference` is the largest difference between results of the two ways.
    """

    share: float
    doing: str
    measured: tuple[Cost, ...]
    difference: float


def lengths_to(longest: int) -> tuple[int, ...]:
    """Return the powers of two from 64 to `longest`."""
    return tuple(64 * 2**doubling for doubling in range((longest // 64).bit_length()))


def measure_attention(
    lengths: Sequence[int], *, d_attn: int, passes: str = FORWARD
) -> Iterator[CostProgress]:
    """Measure one causal head, at once and in chunks, alternating, at each of `lengths`.

    Queries, keys and values are drawn from N(0, 1). `passes` is one of `PASSES`.
    """
    functions = {PLAIN: _plain, CHUNKED: _chunked}
    if passes == GRADIENT:
        functions = {way: _with_gradient(function) for way, function in functions.items()}

    def programs(length: int) -> dict[str, _Program]:
        parts = tuple(jr.normal(jr.key(number), (length, d_attn)) for number in range(3))
        return {way: _Program(function, parts) for way, function in functions.items()}

    return _measured(lengths, programs)


def _plain(query, key, value):
    positions = jnp.arange(query.shape[0])
    mask = MASKS["causal"](positions, positions)
    return attend(query, key, value, mask=mask, scale=query.shape[1] ** -0.5).output


def _chunked(query, key, value):
    scale = query.shape[1] ** -0.5
    return chunked_attend(query, key, value, mask=MASKS["causal"], scale=scale)


def _with_gradient(attention: Callable) -> Callable:
    return jax.grad(lambda *parts: attention(*parts).sum(), argnums=(0, 1, 2))


def measure_generation(
    options: TransformerOptions, lengths: Sequence[int], *, vocab: int
) -> Iterator[CostProgress]:
    """Measure generating the last tokens, recomputed and with a cache, at each of `lengths`.

    Models are untrained; each new token is the most probable one. Recomputing reads all positions
    for every token, with later ones masked. Raises `OptionError` if the options are not causal.
    """

    def programs(length: int) -> dict[str, _Program]:
        model = options.build(vocab=vocab, length=length, key=jr.key(0))
        arrays, rest = eqx.partition(model, eqx.is_array)
        start = jr.randint(jr.key(1), (length,), 0, vocab)

        def recomputed(arrays, tokens):
            return _by_recomputing(eqx.combine(arrays, rest), tokens)

        def cached(arrays, token, cache):
            return _by_cache(eqx.combine(arrays, rest), token, cache)

        given = length - NEW_TOKENS
        cache = _filled(model, start[: given - 1])
        return {
            RECOMPUTED: _Program(recomputed, (arrays, start), items=NEW_TOKENS),
            CACHED: _Program(cached, (arrays, start[given - 1], cache), items=NEW_TOKENS),
        }

    return _measured(lengths, programs)


def _by_recomputing(model: Transformer, tokens: Int[Array, " length"]) -> Float[Array, "new vocab"]:
    """Return the logits of the new tokens, which replace the last ones of `tokens`."""

    def step(tokens, position):
        logits, _ = model(tokens, position[None])
        return tokens.at[position + 1].set(jnp.argmax(logits[0])), logits[0]

    last = len(tokens) - 1
    return jax.lax.scan(step, tokens, jnp.arange(last - NEW_TOKENS, last))[1]


def _by_cache(model: Transformer, token: Int[Array, ""], cache: Cache) -> Float[Array, "new vocab"]:
    """Return the logits of the new tokens after `token`, from a cache of all tokens before it."""

    def step(carried, _):
        logits, cache = next_logits(model, *carried)
        return (jnp.argmax(logits), cache), logits

    return jax.lax.scan(step, (token, cache), length=NEW_TOKENS)[1]


@eqx.filter_jit
def _filled(model: Transformer, tokens: Int[Array, " some"]) -> Cache:
    def step(cache, token):
        return next_logits(model, token, cache)[1], None

    return jax.lax.scan(step, empty_cache(model), tokens)[0]


class _Program:
    """A compiled function with its arguments, which produces `items` per call."""

    def __init__(self, function: Callable, arguments: tuple, *, items: int = 1):
        self._compiled = jax.jit(function).lower(*arguments).compile()
        self._arguments, self._items = arguments, items
        self.scratch = int(present(self._compiled.memory_analysis()).temp_size_in_bytes)

    def __call__(self) -> Any:
        return jax.block_until_ready(self._compiled(*self._arguments))

    def seconds(self) -> float:
        """Return the seconds per item, over enough calls to measure."""
        calls, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < _ROUND_SECONDS:
            self()
            calls += 1
        return passed / calls / self._items


def _measured(
    lengths: Sequence[int], programs: Callable[[int], Mapping[str, _Program]]
) -> Iterator[CostProgress]:
    work = np.array([length**2 + _COMPILING for length in lengths], float)
    share = np.concatenate([[0.0], np.cumsum(work) / work.sum()])
    measured, difference = (), 0.0
    for number, length in enumerate(lengths):
        doing = f"length {length:,}"
        yield CostProgress(share[number], doing, measured, difference)
        ways = programs(length)
        results = [jax.tree.leaves(program()) for program in ways.values()]
        for one, other in zip(*results, strict=True):
            difference = max(difference, float(jnp.abs(one - other).max()))
        seconds = {way: [] for way in ways}
        for done in range(_ROUNDS):
            part = share[number] + done / _ROUNDS * (share[number + 1] - share[number])
            yield CostProgress(part, doing, measured, difference)
            for way, program in ways.items():
                seconds[way].append(program.seconds())
        measured += tuple(
            Cost(length, way, np.array(seconds[way]), program.scratch)
            for way, program in ways.items()
        )
    yield CostProgress(1.0, "", measured, difference)


def over_rounds(values: Float[np.ndarray, " rounds"]) -> tuple[float, float, float]:
    """Return median, minimum and maximum."""
    return float(np.median(values)), float(values.min()), float(values.max())
