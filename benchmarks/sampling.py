"""Sampling sequences against a Python loop over strings."""

from collections.abc import Iterator

import jax.random as jr

from attnlab import GENERATORS, sample
from benchmarks.string_loop import STRING_LOOPS, draw_by_numpy, draw_by_random
from benchmarks.timing import Figure, in_turns, ratio, seconds_of, spread

_ROUNDS = 5
_SIZE = 6_000
_DAYS = 11
# One call is so short that the scheduler would show.
_REPEATS = 20
_WAYS = {"random.choices": draw_by_random, "NumPy's choice": draw_by_numpy}


def _rows() -> Iterator[str]:
    for name, kind in GENERATORS.items():
        if name not in STRING_LOOPS:
            yield f"{name:<7} skipped: it has no loop to compare with"
            continue
        generator = kind().at_length(_DAYS - 1)

        def ours(generator=generator):
            for _ in range(_REPEATS):
                sample(generator, key=jr.key(0), size=_SIZE, length=_DAYS).block_until_ready()

        def contender(draw, loop=STRING_LOOPS[name]):
            return lambda: seconds_of(lambda: loop(draw, _SIZE, _DAYS))

        ours()
        seconds = in_turns(
            {"attnlab": lambda ours=ours: seconds_of(ours) / _REPEATS}
            | {way: contender(draw()) for way, draw in _WAYS.items()},
            rounds=_ROUNDS,
        )
        own = seconds.pop("attnlab")
        yield f"{name:<7} attnlab {spread([1_000 * value for value in own], '.2f')} ms"
        for way, values in seconds.items():
            times = spread([1_000 * value for value in values])
            yield f"{'':<7} loop with {way:<14} {times} ms   {ratio(values, own)}   target ≥ 500 ×"


FIGURE = Figure(
    f"{_SIZE:,} sequences of {_DAYS} days, compilation not counted, against a Python loop over "
    "strings",
    _rows,
)
