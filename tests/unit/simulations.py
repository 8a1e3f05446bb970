"""Streams of the processes at full size, drawn with NumPy. Shares no code with attnlab."""

import numpy as np

from tests.unit.optimum_oracles import BETA, NEXT, START


def _draw(rows, random):
    """A token from each row of probabilities."""
    return (random.random((len(rows), 1)) > np.cumsum(rows, axis=1)[:, :-1]).sum(axis=1)


def markov_days(size, days, random):
    drawn = [_draw(np.tile(START, (size, 1)), random)]
    for _ in range(days - 1):
        drawn.append(_draw(np.array(NEXT)[drawn[-1]], random))
    return np.stack(drawn, axis=1)


def recall_days(size, recalled, table, days, random):
    """The recalled days, counted from 1, are independent; `table` has an axis each."""
    drawn = []
    for day in range(1, days):
        chained = day not in recalled and day > 1
        rows = np.array(NEXT)[drawn[-1]] if chained else np.tile(START, (size, 1))
        drawn.append(_draw(rows, random))
    drawn.append(_draw(table[tuple(drawn[day - 1] for day in recalled)], random))
    return np.stack(drawn, axis=1)


def ndays_days(size, n, days, random, burn_in=300):
    def rows(window):
        counts = (window[:, :, None] == np.arange(3)).sum(axis=1)
        return (n - counts) / (2 * n)

    return _stream(size, n, days, random, burn_in, rows)


def dotmod_days(size, n, noise, days, random, burn_in=3_000):
    """As described: only clouds count."""
    weights = np.resize(BETA, n)

    def rows(window):
        meant = (window == 1) @ weights % 3
        return np.where(np.arange(3) == meant[:, None], 1 - noise, noise / 2)

    return _stream(size, n, days, random, burn_in, rows)


def _stream(size, n, days, random, burn_in, rows):
    window = random.integers(3, size=(size, n))
    kept = []
    for day in range(burn_in + days):
        token = _draw(rows(window), random)
        window = np.hstack([window[:, 1:], token[:, None]])
        if day >= burn_in:
            kept.append(token)
    return np.stack(kept, axis=1)
