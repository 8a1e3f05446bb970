"""Memory and time of attention against its length: in one piece and in chunks."""

import statistics
from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr

from attnlab.attention.chunked import chunked_attend
from attnlab.attention.head import MASKS, attend
from benchmarks.timing import Figure, in_turns, seconds_of

_LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
_WIDTH = 32
_ROUNDS = 3


def _plain(query, key, value):
    days = jnp.arange(query.shape[0])
    mask = MASKS["causal"](days, days)
    return attend(query, key, value, mask=mask, scale=_WIDTH**-0.5).output


def _chunked(query, key, value):
    return chunked_attend(query, key, value, mask=MASKS["causal"], scale=_WIDTH**-0.5)


def _with_gradient(attention: Callable) -> Callable:
    return jax.grad(lambda *parts: attention(*parts).sum(), argnums=(0, 1, 2))


def _seconds(run: Callable, parts: list[jax.Array]) -> float:
    return seconds_of(lambda: jax.block_until_ready(run(*parts)))


def _rows() -> Iterator[str]:
    yield "memory: scratch of the compiled program, beside arguments and results; time: median"
    yield f"{'':>6}  {'forward':^42}  {'forward and gradient':^42}"
    heading = f"{'plain':^20}  {'chunked':^20}"
    yield f"{'length':>6}  {heading}  {heading}"
    for length in _LENGTHS:
        parts = [jr.normal(jr.key(i), (length, _WIDTH)) for i in range(3)]
        compiled = {
            (kind, name): jax.jit(change(function)).lower(*parts).compile()
            for kind, change in (("forward", lambda f: f), ("gradient", _with_gradient))
            for name, function in (("plain", _plain), ("chunked", _chunked))
        }
        seconds = in_turns(
            {which: partial(_seconds, run, parts) for which, run in compiled.items()},
            rounds=_ROUNDS,
        )
        cells = []
        for which, run in compiled.items():
            megabytes = run.memory_analysis().temp_size_in_bytes / 1e6
            milliseconds = 1_000 * statistics.median(seconds[which])
            cells.append(f"{megabytes:8,.2f} MB {milliseconds:6,.0f} ms")
        yield f"{length:>6}  " + "  ".join(cells)


FIGURE = Figure(
    f"attention of one head of width {_WIDTH}, causal mask, in one piece (L × L scores at a time) "
    "and in chunks (√L × √L)",
    _rows,
)
