"""The processes once more, and what can be known of them, from the joint law of all sequences.

A joint is an array with an axis a day: p(sequence) indexed by its days, the last of them the day
to predict. In float64, and without code of attnlab.
"""

import functools
import itertools

import numpy as np
import scipy.optimize
import scipy.special

START = (0.3, 0.4, 0.3)
NEXT = ((0.6, 0.3, 0.1), (0.3, 0.4, 0.3), (0.2, 0.3, 0.5))
BETA = (0, 1, 2, 3, 2, 1)


def markov_joint(initial, transition, days):
    joint = np.array(initial, dtype=float)
    for _ in range(days - 1):
        joint = joint[..., None] * np.array(transition)
    return joint


def recall_joint(recalled, independent, table_row, decided, days):
    """Days count from 1, and `table_row` maps recalled weathers to p of the decided day."""
    joint = np.zeros((3,) * days)
    for weathers in np.ndindex(joint.shape):
        probability = 1.0
        for day, weather in enumerate(weathers, start=1):
            if day == decided:
                row = table_row(tuple(weathers[other - 1] for other in recalled))
            else:
                row = START if day in independent else NEXT[weathers[day - 2]]
            probability *= row[weather]
        joint[weathers] = probability
    return joint


def hidden_joint(initial, moving, showing, days):
    """The sum over every path of hidden states."""
    total = 0.0
    for path in itertools.product(range(len(initial)), repeat=days):
        weight = initial[path[0]]
        for before, after in itertools.pairwise(path):
            weight *= moving[before][after]
        total = total + weight * functools.reduce(
            np.multiply.outer, [np.array(showing[state]) for state in path]
        )
    return total


def chain_joint(edges, start, days):
    """A chain given by its edges: {(state, token, next state): probability}, states from 0.

    Without a start, it is the stationary distribution, as the limit of Abel's mean.
    """
    states, vocab = len({edge[0] for edge in edges}), 1 + max(edge[1] for edge in edges)
    if start is None:
        rest, matrix = 1e-9, np.zeros((states, states))
        for (state, _, following), probability in edges.items():
            matrix[state, following] += probability
        left = np.eye(states) - (1 - rest) * matrix.T
        start = np.linalg.solve(left, np.full(states, rest / states))
    ways = [np.array(probability) for probability in start]
    for day in range(days):
        after = [np.zeros((vocab,) * (day + 1)) for _ in range(states)]
        for (state, token, following), probability in edges.items():
            after[following][..., token] += ways[state] * probability
        ways = after
    return sum(ways)


def ndays_rule(n):
    """p(next | window), with an axis a day of the window, the oldest first, and one for next."""
    rule = np.zeros((3,) * (n + 1))
    for window in itertools.product(range(3), repeat=n):
        rule[window] = [(n - window.count(weather)) / (2 * n) for weather in range(3)]
    return rule


def dotmod_rule(n, noise, values):
    rule = np.full((3,) * (n + 1), noise / 2)
    for window in itertools.product(range(3), repeat=n):
        terms = [BETA[i % 6] * values[day] * (2 - values[day]) for i, day in enumerate(window)]
        rule[(*window, sum(terms) % 3)] = 1 - noise
    return rule


def stationary_distribution(rule):
    """p(window) after infinitely many days from equal windows, averaged over cycles.

    As the limit of Abel's mean (1 - a) Σ aᵗ u Pᵗ, u the equal windows: one dense linear system.
    """
    vocab, memory = rule.shape[-1], rule.ndim - 1
    windows = vocab**memory
    matrix = np.zeros((windows, windows))
    for i, row in enumerate(rule.reshape(windows, vocab)):
        for token, probability in enumerate(row):
            matrix[i, (i * vocab + token) % windows] += probability
    rest = 1e-9
    law = np.linalg.solve(np.eye(windows) - (1 - rest) * matrix.T, np.full(windows, rest / windows))
    # What is left behind for good keeps about `rest` only.
    law = np.where(law > 100 * rest, law, 0.0)
    return (law / law.sum()).reshape(rule.shape[:-1])


def equations_joint(p, length):
    """Equations a b = c one after another, with p as the sign."""
    joint, many = np.zeros((p + 1,) * length), -(-length // 4)
    for pairs in itertools.product(itertools.product(range(p), repeat=2), repeat=many):
        tokens = [token for a, b in pairs for token in (a, b, p, (a + b) % p)]
        joint[tuple(tokens[:length])] += p ** (-2.0 * many)
    return joint


def maximum_joint(values, labels, items, length):
    """All lists of items with one largest value, a question, and its label, then questions."""
    ask = values * labels
    lists, joint = (
        itertools.product(range(ask), repeat=items),
        np.zeros((ask + 1 + labels,) * length),
    )
    for drawn in lists:
        numbers = [token // labels for token in drawn]
        best = max(numbers)
        if best > 0 and numbers.count(best) == 1:
            tokens = [*drawn, ask, ask + 1 + drawn[numbers.index(best)] % labels]
            tokens += [ask] * (length - len(tokens))
            chance = 1 / ((values - 1) * items * float(best) ** (items - 1) * labels**items)
            joint[tuple(tokens[:length])] += chance
    return joint


def stream_joint(rule, days):
    """The window before day 1 is hidden, and summed over."""
    memory = rule.ndim - 1
    joint = stationary_distribution(rule)
    for _ in range(days):
        joint = joint[..., None] * rule.reshape((1,) * (joint.ndim - memory) + rule.shape)
    return joint.sum(axis=tuple(range(memory)))


def table_joint(table, order, days):
    """A stream whose rule is a table, a row for each window."""
    table = np.array(table, dtype=float)
    return stream_joint(table.reshape((table.shape[1],) * (order + 1)), days)


def predictives(joint):
    """p(next day | days before) of a joint: entry [t][days before][next day]; NaN if impossible."""
    rows = []
    for t in range(joint.ndim):
        with_next = joint.sum(axis=tuple(range(t + 1, joint.ndim)))
        before = with_next.sum(axis=-1, keepdims=True)
        rows.append(np.divide(with_next, before, out=np.full_like(with_next, np.nan),
                              where=before > 1e-15))  # fmt: skip
    return rows


def shannon(joint):
    """-Σ p log p over the whole array, in nats."""
    possible = joint[joint > 0]
    return -(possible * np.log(possible)).sum()


def last_days(joint, keep):
    """The joint law of the last `keep` days."""
    return joint.sum(axis=tuple(range(joint.ndim - keep)))


def first_days(joint, keep):
    """The joint law of the first `keep` days."""
    return joint.sum(axis=tuple(range(keep, joint.ndim)))


def floor(joint):
    """H(final | the days before), as H(all) - H(all but the final)."""
    return shannon(joint) - shannon(joint.sum(axis=-1))


def ceiling(joint):
    """The accuracy of always naming the likeliest final day."""
    return joint.max(axis=-1).sum()


def known_only(joint, known):
    """The joint law of `known(visible days)` and the final day: a row for each known value."""
    rows = {}
    for days in np.ndindex(joint.shape[:-1]):
        rows[known(days)] = rows.get(known(days), 0) + joint[days]
    return np.array(list(rows.values()))


def replacement(joint):
    """`Dependence.replacement`, from its definition: entry (t, i) over every past of t + 1 days."""
    length, vocab = joint.ndim - 1, joint.shape[-1]
    found = np.zeros((length, length))
    for query in range(length):
        with_next = first_days(joint, query + 2)
        past = with_next.sum(axis=-1)
        for day in range(query + 1):
            law = past.sum(axis=tuple(set(range(query + 1)) - {day}))
            for days in zip(*np.nonzero(past), strict=True):
                others = [(*days[:day], token, *days[day + 1 :]) for token in range(vocab)]
                drawn = np.array([law[o[day]] if past[o] > 0 else 0.0 for o in others])
                for other, chance in zip(others, drawn / drawn.sum(), strict=True):
                    if chance > 0:
                        gap = with_next[days] / past[days] - with_next[other] / past[other]
                        found[query, day] += past[days] * chance * np.abs(gap).sum() / 2
    return found


def information(joint):
    """`Dependence.information`: I(next; day | others) from four joint entropies."""
    length = joint.ndim - 1
    found = np.zeros((length, length))
    for query in range(length):
        everything = first_days(joint, query + 2)
        for day in range(query + 1):
            others = everything.sum(axis=day)
            found[query, day] = (
                shannon(others)
                + shannon(everything.sum(axis=-1))
                - shannon(others.sum(axis=-1))
                - shannon(everything)
            )
    return found


def least_linear_loss(joint):
    """The least expected loss of softmax(W x + b), x the one-hot visible days, by L-BFGS."""
    length, vocab = joint.ndim - 1, joint.shape[-1]
    days = np.array(list(itertools.product(range(vocab), repeat=length)))
    inputs = np.hstack([np.eye(vocab)[days].reshape(len(days), -1), np.ones((len(days), 1))])
    target = joint.reshape(-1, vocab)

    def loss_and_slope(flat):
        logits = inputs @ flat.reshape(-1, vocab)
        log_total = scipy.special.logsumexp(logits, axis=1, keepdims=True)
        loss = -(target * (logits - log_total)).sum()
        fitted = target.sum(axis=1, keepdims=True) * np.exp(logits - log_total)
        return loss, (inputs.T @ (fitted - target)).ravel()

    start = np.zeros(inputs.shape[1] * vocab)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    return scipy.optimize.minimize(
        loss_and_slope, start, jac=True, method="L-BFGS-B", options=options
    ).fun
