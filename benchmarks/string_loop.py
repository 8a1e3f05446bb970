"""The four processes in plain Python, a day at a time, on strings: the usual first way.

All make `size` texts of `days` weathers; `draw(row)` draws a letter by a row of probabilities.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

Draw = Callable[[Sequence[float]], str]

RAIN, CLOUD, SUN = WEATHERS = ("🌧️", "☁️", "☀️")
_INITIAL = (0.3, 0.4, 0.3)
_TRANSITION = {RAIN: (0.6, 0.3, 0.1), CLOUD: (0.3, 0.4, 0.3), SUN: (0.2, 0.3, 0.5)}
_RECALLED = (1, 4, 8)
_MEMORY = 10
_WEIGHTS = (0, 1, 2, 3, 2, 1)
_VALUES = {RAIN: 0, CLOUD: 1, SUN: 2}
_NOISE = 0.04


def draw_by_random() -> Draw:
    """With the standard library, the fastest way for one draw."""
    return lambda row: random.choices(WEATHERS, row)[0]


def draw_by_numpy() -> Draw:
    """With NumPy, the way most often seen."""
    generator = np.random.default_rng(0)
    return lambda row: generator.choice(WEATHERS, p=row)


def markov(draw: Draw, size: int, days: int) -> list[str]:
    """Each day from the one before."""
    sequences = []
    for _ in range(size):
        today = draw(_INITIAL)
        text = today
        for _ in range(days - 1):
            today = draw(_TRANSITION[today])
            text += today
        sequences.append(text)
    return sequences


def recall(draw: Draw, size: int, days: int) -> list[str]:
    """The same, but days 1, 4 and 8 are independent and decide the last one."""
    triples = [(i / 10, j / 10, 1 - (i + j) / 10) for i in range(1, 9) for j in range(1, 10 - i)]
    table = {
        first + second + third: random.choice(triples)
        for first in WEATHERS
        for second in WEATHERS
        for third in WEATHERS
    }
    sequences = []
    for _ in range(size):
        sequence = []
        for day in range(1, days):
            row = _INITIAL if day in _RECALLED else _TRANSITION[sequence[-1]]
            sequence.append(draw(row))
        recalled = "".join(sequence[day - 1] for day in _RECALLED)
        sequence.append(draw(table[recalled]))
        sequences.append("".join(sequence))
    return sequences


def _windows_of_stream(draw: Draw, row_after: Callable, size: int, days: int) -> list[str]:
    stream = [draw(_INITIAL) for _ in range(_MEMORY)]
    for _ in range(size * days):
        stream.append(draw(row_after(stream[-_MEMORY:])))
    stream = stream[_MEMORY:]
    return ["".join(stream[i : i + days]) for i in range(0, size * days, days)]


def ndays(draw: Draw, size: int, days: int) -> list[str]:
    """Windows of a stream in which frequent weathers become rarer."""

    def row_after(past):
        return [(_MEMORY - past.count(weather)) / (2 * _MEMORY) for weather in WEATHERS]

    return _windows_of_stream(draw, row_after, size, days)


def dotmod(draw: Draw, size: int, days: int) -> list[str]:
    """Windows of a stream in which a weighted sum, modulo 3, decides the next day."""

    def row_after(past):
        total = 0
        for i, weather in enumerate(past):
            value = _VALUES[weather]
            total += _WEIGHTS[i % len(_WEIGHTS)] * value * (2 - value)
        return [1 - _NOISE if i == total % 3 else _NOISE / 2 for i in range(3)]

    return _windows_of_stream(draw, row_after, size, days)


STRING_LOOPS: Mapping[str, Callable[[Draw, int, int], list[str]]] = MappingProxyType(
    {"markov": markov, "recall": recall, "ndays": ndays, "dotmod": dotmod}
)
