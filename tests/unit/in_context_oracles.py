"""Joint laws of processes whose rule is drawn for each sequence: in float64, rule by rule."""

import itertools
from math import factorial, lgamma, perm

import numpy as np


def polya(counts, alpha):
    """p(tokens) of a row of Dirichlet(alpha), given how often each token was drawn from it."""
    counts = np.asarray(counts)
    total = lgamma(alpha * counts.size) - lgamma(alpha * counts.size + counts.sum())
    return np.exp(total + sum(lgamma(alpha + n) - lgamma(alpha) for n in counts.ravel()))


def laws(vocab, length, probability):
    found = np.zeros((vocab,) * length)
    for tokens in np.ndindex(found.shape):
        found[tokens] = probability(tokens)
    return found


def chain_with_prior(k, alpha, prior, length):
    """Each row, or what rows share, is integrated out in closed form."""

    def probability(tokens):
        counts = np.zeros((k, k))
        for last, token in itertools.pairwise(tokens):
            column = {"dirichlet": token, "rows-equal": token}.get(prior, (token - last) % k)
            counts[last if prior == "dirichlet" else 0, column] += 1
        return np.prod([polya(row, alpha) for row in counts]) / k

    return laws(k, length, probability)


def tables_of_two(prior, alpha, size=400):
    """A fine grid of 2 × 2 tables, evenly spaced in log odds, with the weight of each."""
    p = 1 / (1 + np.exp(-np.linspace(-35, 35, size)))
    weight = (p * (1 - p)) ** alpha
    second = {"rows-equal": p, "doubly-stochastic": 1 - p}.get(prior)
    if second is None:
        p, second = np.repeat(p, size), np.tile(p, size)
        weight = np.outer(weight, weight).ravel()
    # p(1 | 0) and p(1 | 1).
    tables = np.stack([1 - p, p, 1 - second, second], axis=1).reshape(-1, 2, 2)
    return tables, weight / weight.sum()


def chain_probability(tokens, tables, weights, first_token):
    """p(tokens) if each table has this weight, summed over the tables."""
    k = tables.shape[1]
    first = np.full((len(tables), k), 1 / k)
    if first_token == "stationary":
        equations = tables.swapaxes(1, 2) - np.eye(k)
        equations[:, -1] = 1
        first = np.linalg.solve(equations, np.eye(k)[:, -1:])[..., 0]
    p = weights * first[:, tokens[0]] if tokens else weights
    for last, token in itertools.pairwise(tokens):
        p = p * tables[:, last, token]
    return p.sum()


def chain_of_tables(tables, first_token, length):
    weights = np.full(len(tables), 1 / len(tables))
    return laws(
        tables.shape[1],
        length,
        lambda tokens: chain_probability(tokens, tables, weights, first_token),
    )


def repeating(letters, periods, length):
    def probability(tokens):
        each = [
            letters ** -min(float(period), length)
            * all(tokens[t] == tokens[t - period] for t in range(period, length))
            for period in periods
        ]
        return np.mean(each)

    return laws(letters, length, probability)


def followed_again(letters, again, length):
    def probability(tokens):
        followers, p = {}, 1 / letters
        for last, token in itertools.pairwise(tokens):
            p *= (
                again * (followers[last] == token) + (1 - again) / letters
                if last in followers
                else 1 / letters
            )
            followers[last] = token
        return p

    return laws(letters, length, probability)


def recalled(pairs, keys, values, length):
    """Every draw of keys, values, places and order, as a dictionary of tokens."""
    places, gap, found = length // 2 - pairs, keys + values, {}
    for chosen in itertools.permutations(range(keys), pairs):
        for drawn in itertools.product(range(keys, keys + values), repeat=pairs):
            both = list(zip(chosen, drawn, strict=True))
            for at in itertools.permutations(range(places), pairs):
                rest = [(gap, gap)] * places
                for place, pair in zip(at, both, strict=True):
                    rest[place] = pair
                tokens = (*itertools.chain(*both, *rest), *[gap] * (length % 2))
                p = 1 / (perm(keys, pairs) * values**pairs * perm(places, pairs))
                found[tokens] = found.get(tokens, 0) + p
    return found


def recalled_law(pairs, keys, values, length):
    found = recalled(pairs, keys, values, length)
    return laws(keys + values + 1, length, lambda tokens: found.get(tokens, 0.0))


def paired(size, length):
    """Two rounds of inputs, more than any length here has."""
    found = np.zeros((2 * size,) * length)
    orders = list(itertools.permutations(range(size)))
    for rule, *rounds in itertools.product(orders, repeat=3):
        tokens = [token for x in itertools.chain(*rounds) for token in (x, size + rule[x])]
        found[tuple(tokens[:length])] += 1 / factorial(size) ** 3
    return found


def tree(k, alpha, parents, length):
    def probability(tokens):
        counts, p = np.zeros((k, k)), 1.0
        for token, parent in zip(tokens, parents, strict=False):
            if parent < 0:
                p /= k
            else:
                counts[tokens[parent], token] += 1
        return p * np.prod([polya(row, alpha) for row in counts])

    return laws(k, length, probability)


def counted_after_equal(tokens, vocab, alpha):
    """What followed the last token before, in counts that start at alpha."""
    after = [token for last, token in itertools.pairwise(tokens) if last == tokens[-1]]
    counts = alpha + np.array([after.count(token) for token in range(vocab)])
    return counts / counts.sum()
