"""The processes once more, in float64 loops over all sequences. Shares no code with attnlab."""

import functools
import itertools

import numpy as np

WEATHERS = 3
START = (0.3, 0.4, 0.3)
NEXT = ((0.6, 0.3, 0.1), (0.3, 0.4, 0.3), (0.2, 0.3, 0.5))
CYCLE = (0, 1, 2, 3, 2, 1)


def all_sequences(length):
    """Every sequence of `length` days, the last day changing fastest."""
    return np.array(list(itertools.product(range(WEATHERS), repeat=length)))


def markov_joint(start, following, length):
    """p(sequence) for every sequence, indexed by its days."""
    joint = np.zeros((WEATHERS,) * length)
    for days in itertools.product(range(WEATHERS), repeat=length):
        probability = start[days[0]]
        for before, after in itertools.pairwise(days):
            probability *= following[before][after]
        joint[days] = probability
    return joint


def recall_joint(recalled, independent, table_row, decided, length):
    """As `markov_joint`; days count from 1, and `table_row` maps recalled weathers to p."""
    joint = np.zeros((WEATHERS,) * length)
    for days in itertools.product(range(WEATHERS), repeat=length):
        probability = 1.0
        for number in range(1, length + 1):
            weather = days[number - 1]
            if number == decided:
                row = table_row(tuple(days[day - 1] for day in recalled))
            elif number in independent:
                row = START
            else:
                row = NEXT[days[number - 2]]
            probability *= row[weather]
        joint[days] = probability
    return joint


def hidden_markov_joint(start, moving, showing, length):
    """As `markov_joint`, summed over every path of hidden states."""
    joint = np.zeros((WEATHERS,) * length)
    for path in itertools.product(range(len(start)), repeat=length):
        weight = start[path[0]]
        for before, after in itertools.pairwise(path):
            weight *= moving[before][after]
        for days in itertools.product(range(WEATHERS), repeat=length):
            shown = [showing[state][day] for state, day in zip(path, days, strict=True)]
            joint[days] += weight * np.prod(shown)
    return joint


def table_rule(table):
    """Window of one or two days → their row of the table, the last day changing fastest."""

    def rule(window):
        return table[window[0]] if len(window) == 1 else table[WEATHERS * window[0] + window[1]]

    return rule


def ndays_rule(n):
    """Window of n days → probabilities of the next: (n - count) / 2n."""

    def rule(window):
        return [(n - list(window).count(weather)) / (2 * n) for weather in range(WEATHERS)]

    return rule


def dotmod_rule(n, noise, values):
    """Window of n days, the oldest first → probabilities of the next."""

    def rule(window):
        total = 0
        for i, weather in enumerate(window):
            y = values[weather]
            total += CYCLE[i % len(CYCLE)] * y * (2 - y)
        row = [noise / 2] * WEATHERS
        row[total % 3] = 1 - noise
        return row

    return rule


@functools.cache
def stationary_windows(n, rule):
    """The windows and their stationary law: a dense linear system, solved."""
    windows = list(itertools.product(range(WEATHERS), repeat=n))
    number = {window: i for i, window in enumerate(windows)}
    matrix = np.zeros((len(windows), len(windows)))
    for window in windows:
        for weather, probability in enumerate(rule(window)):
            matrix[number[window], number[(*window[1:], weather)]] += probability
    # π P = π has one solution that sums to 1; that sum takes the place of a redundant row.
    system = matrix.T - np.eye(len(windows))
    system[-1] = 1.0
    target = np.zeros(len(windows))
    target[-1] = 1.0
    return windows, np.linalg.solve(system, target)


def stream_joint(n, rule, length):
    """As `markov_joint`: the n days before the sequence are hidden, and summed over."""
    joint = np.zeros((WEATHERS,) * length)
    windows, law = stationary_windows(n, rule)
    for window, weight in zip(windows, law, strict=True):
        for days in itertools.product(range(WEATHERS), repeat=length):
            past, probability = window, weight
            for weather in days:
                probability *= rule(past)[weather]
                past = (*past[1:], weather)
            joint[days] += probability
    return joint


def predictives(joint):
    """p(next day | days before) of a joint: entry [t][days before][next day]; NaN if impossible."""
    rows = []
    for t in range(joint.ndim):
        with_next = joint.sum(axis=tuple(range(t + 1, joint.ndim)))
        before = with_next.sum(axis=-1, keepdims=True)
        rows.append(np.divide(with_next, before, out=np.full_like(with_next, np.nan),
                              where=before > 1e-15))  # fmt: skip
    return rows
