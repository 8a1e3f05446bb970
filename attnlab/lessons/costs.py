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
from attnlab.models import Transformer, TransformerOptions
from attnlab.models.generation import Cache, empty_cache, next_logits

PLAIN, CHUNKED = "plain", "chunked"
RECOMPUTED, CACHED = "recomputed", "with a KV cache"
FORWARD, GRADIENT = "forward", "forward and gradient"
PASSES = (FORWARD, GRADIENT)
NEW_TOKENS = 16
# A round is at least so long, so that the clock's own step and the call itself are small in it.
_ROUND_SECONDS = 0.02
_ROUNDS = 5
# As many scores as take about as long as a program is compiled.
_COMPILING = 2_000**2


class Measured(NamedTuple):
    """One way of doing it at one length.

    `seconds` are those of one call, or of one token, one a round; `scratch` are the bytes that the
    compiled program takes beside its arguments and results, as the compiler says.
    """

    length: int
    way: str
    seconds: Float[np.ndarray, " rounds"]
    scratch: int


class CostProgress(NamedTuple):
    """The share of all work that is done, about; what is at hand; what was measured so far.

    `difference` is the largest between any number that one way gave and the other's.
    """

    share: float
    doing: str
    measured: tuple[Measured, ...]
    difference: float


def lengths_to(longest: int) -> tuple[int, ...]:
    """Powers of two from 64 on."""
    return tuple(64 * 2**doubling for doubling in range((longest // 64).bit_length()))


def measure_attention(
    lengths: Sequence[int], *, d_attn: int, passes: str = FORWARD
) -> Iterator[CostProgress]:
    """One head with a causal mask, in one piece and in chunks, at each of `lengths`, in turns.

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
    """The last tokens of sequences of each of `lengths`, recomputed and with a cache, in turns.

    Of untrained models; each new token is the most probable one. Recomputing reads all positions
    anew for every token, those behind it masked. Refused, with an `OptionError`: options that are
    not causal.
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
    """The logits of the new tokens at the end of `tokens`, which are not read."""

    def step(tokens, position):
        logits, _ = model(tokens, position[None])
        return tokens.at[position + 1].set(jnp.argmax(logits[0])), logits[0]

    last = len(tokens) - 1
    return jax.lax.scan(step, tokens, jnp.arange(last - NEW_TOKENS, last))[1]


def _by_cache(model: Transformer, token: Int[Array, ""], cache: Cache) -> Float[Array, "new vocab"]:
    """The same after `token`, where the cache holds what came before it."""

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
    """A compiled function with its arguments, which makes so many `items` a call."""

    def __init__(self, function: Callable, arguments: tuple, *, items: int = 1):
        self._compiled = jax.jit(function).lower(*arguments).compile()
        self._arguments, self._items = arguments, items
        self.scratch = int(self._compiled.memory_analysis().temp_size_in_bytes)

    def __call__(self) -> Any:
        return jax.block_until_ready(self._compiled(*self._arguments))

    def seconds(self) -> float:
        """Those of one item, over calls that take long enough together."""
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
            Measured(length, way, np.array(seconds[way]), program.scratch)
            for way, program in ways.items()
        )
    yield CostProgress(1.0, "", measured, difference)


def over_rounds(values: Float[np.ndarray, " rounds"]) -> tuple[float, float, float]:
    """Median, least and most."""
    return float(np.median(values)), float(values.min()), float(values.max())
