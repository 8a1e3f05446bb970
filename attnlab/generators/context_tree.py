"""Predictors fitted to sequences: contexts in a tree, weighted, backed off, or matched.

A context is the last tokens before a token, the most recent first; a node is a context that occurs
in the training sequences. All predictors are tables with a row for every node.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.cancellation import check_in

# The size of a table of all nodes and tokens. A level with more is left out.
_MOST_NUMBERS, _MOST_NODES = 2_000_000, 100_000
_DEEPEST, _LONGEST_MATCH, _HIGHEST_ORDER = 16, 32, 5
CTW, MATCH = "context tree weighting", "longest match"


class Tree(NamedTuple):
    """The contexts of training tokens, level by level; node 0 is the empty context.

    `counts[node]` are the tokens that followed the context, `cut[node]` those at the beginning of a
    sequence. `down[node, token]` is the context that is longer by an older token, or -1.
    """

    counts: Float[np.ndarray, "nodes vocab"]
    cut: Float[np.ndarray, "nodes vocab"]
    down: Int[np.ndarray, "nodes vocab"]
    parent: Int[np.ndarray, " nodes"]
    oldest: Int[np.ndarray, " nodes"]
    depth: Int[np.ndarray, " nodes"]

    @property
    def levels(self) -> list[slice]:
        """The nodes of each length of contexts."""
        ends = np.cumsum(np.bincount(self.depth)).tolist()
        return [slice(*each) for each in itertools.pairwise([0, *ends])]


# The loss of each window in nats, and 1 if the prediction was right, else 0.
Result = tuple[Float[np.ndarray, " windows"], Float[np.ndarray, " windows"]]


class Predictor(NamedTuple):
    """A finite-state predictor: it starts in state 0.

    `log_probs[state]` is log p(next token), and `after[state, token]` the state after a token.
    """

    log_probs: Float[np.ndarray, "states vocab"]
    after: Int[np.ndarray, "states vocab"]

    def results(self, windows: Int[np.ndarray, "windows tokens"]) -> Iterator[Result]:
        """Yield the results of each token of the windows in turn."""
        state, likeliest = np.zeros(len(windows), np.int64), self.log_probs.argmax(axis=1)
        for token in windows.T:
            yield -self.log_probs[state, token], (likeliest[state] == token).astype(float)
            state = self.after[state, token]


def grow(
    tokens: Int[np.ndarray, " tokens"],
    since: Int[np.ndarray, " tokens"],
    vocab: int,
    depth: int,
    *,
    only_repeated: bool = False,
) -> Tree:
    """Return the tree of the contexts of up to `depth` tokens.

    Args:
        tokens: All training sequences, one after the other.
        since: The number of tokens before each one in its sequence.
        vocab: The number of symbols.
        depth: The most tokens of a context.
        only_repeated: Whether to leave out longer contexts of one that occurred once.
    """
    place, node = np.arange(tokens.size), np.zeros(tokens.size, np.int64)
    counts = [np.bincount(tokens, minlength=vocab)[None].astype(float)]
    cuts, downs = [], []
    parents, oldest, size = [np.array([-1])], [np.array([-1])], 1
    for level in range(depth):
        check_in()
        ends = since[place] == level
        base = size - len(counts[-1])
        cut = _tally(node[ends] - base, tokens[place[ends]], len(counts[-1]), vocab)
        longer = ~ends
        if only_repeated:
            longer &= counts[-1].sum(axis=1)[node - base] > 1
        place, node = place[longer], node[longer]
        key = node * vocab + tokens[place - level - 1]
        found, which = np.unique(key, return_inverse=True)
        size_then = size + found.size
        if not found.size or size_then > min(_MOST_NODES, _MOST_NUMBERS // vocab):
            break
        down = np.full(counts[-1].size, -1)
        down[found - base * vocab] = size + np.arange(found.size)
        cuts.append(cut)
        downs.append(down.reshape(-1, vocab))
        parents.append(found // vocab)
        oldest.append(found % vocab)
        node, size = size + which, size_then
        counts.append(_tally(which, tokens[place], found.size, vocab))
    cuts.append(np.zeros_like(counts[-1]))
    downs.append(np.full_like(counts[-1], -1, int))
    depths = np.repeat(np.arange(len(counts)), [*map(len, counts)])
    parts = (np.concatenate(each) for each in (counts, cuts, downs, parents, oldest))
    return Tree(*parts, depth=depths)


def _tally(
    row: Int[np.ndarray, " some"], token: Int[np.ndarray, " some"], rows: int, vocab: int
) -> Float[np.ndarray, "rows vocab"]:
    found = np.bincount(row * vocab + token, minlength=rows * vocab)
    return found.reshape(rows, vocab).astype(float)


def automaton(tree: Tree) -> Int[np.ndarray, "nodes vocab"]:
    """Return the longest context of the tree after each context and each next token."""
    after = np.where(tree.down[:1] >= 0, tree.down[:1], 0)
    for level, at in enumerate(tree.levels[1:], 1):
        # Without its oldest token the context is its parent, whose next contexts are known.
        shorter = after[tree.parent[at]]
        longer = tree.down[shorter, tree.oldest[at][:, None]]
        is_whole = (tree.depth[shorter] == level) & (longer >= 0)
        after = np.concatenate([after, np.where(is_whole, longer, shorter)])
    return after


def weighted(tree: Tree) -> Predictor:
    """Return the predictor of context-tree weighting, frozen after the training.

    It is the mixture of all trees up to this depth, with a probability of ½ for each split, where a
    context has a Dirichlet prior with 1 / vocab for each token (for two tokens, Krichevsky and
    Trofimov's estimator). While fewer tokens are visible than a context has, the tree is cut there.

    References:
        Willems, Shtarkov and Tjalkens 1995, "The context-tree weighting method: basic properties",
        equations 8 and 11.
    """
    vocab, levels = tree.counts.shape[1], tree.levels
    alone = _log_evidence(tree.counts)
    below = np.where(tree.cut.any(axis=1), _log_evidence(tree.cut), 0.0)
    mixed = alone.copy()
    for up, at in reversed([*itertools.pairwise(levels)]):
        np.add.at(below, tree.parent[at], mixed[at])
        mixed[up] = np.logaddexp(alone[up], below[up]) + np.log(0.5)
    # The probability that a context is not split, given the training sequences.
    whole = np.exp(np.log(0.5) + alone - mixed)
    whole[levels[-1]] = 1
    own = (tree.counts + 1 / vocab) / (tree.counts.sum(axis=1, keepdims=True) + 1)
    # `rest` is the weight of trees that split all shorter contexts, `shorter` the part of others.
    rest, shorter = np.ones(len(own)), np.zeros_like(own)
    for at in levels[1:]:
        up = tree.parent[at]
        rest[at] = rest[up] * (1 - whole[up])
        shorter[at] = shorter[up] + (rest[up] * whole[up])[:, None] * own[up]
    unseen = whole[:, None] * own + (1 - whole[:, None]) / vocab
    log_probs = (np.log(shorter + rest[:, None] * each) for each in (own, unseen))
    # Two states for each node: all visible tokens are its context, or there were older ones.
    after, size = automaton(tree), len(own)
    is_all = tree.depth[after] == tree.depth[:, None] + 1
    states = np.concatenate([np.where(is_all, after, after + size), after + size])
    return Predictor(np.concatenate([*log_probs]), states)


def _log_evidence(counts: Float[np.ndarray, "nodes vocab"]) -> Float[np.ndarray, " nodes"]:
    """Return the log-probability of tokens with these counts under the Dirichlet prior."""
    from scipy.special import gammaln

    prior = 1 / counts.shape[1]
    of_tokens = np.where(counts > 0, gammaln(counts + prior) - gammaln(prior), 0).sum(axis=1)
    return of_tokens - gammaln(counts.sum(axis=1) + 1)


def backed_off(tree: Tree) -> Float[np.ndarray, "nodes vocab"]:
    """Return log p(next token | context), where longer contexts back off to shorter ones.

    p(a | s) = (n(s, a) + d(s) p(a | s')) / (n(s) + d(s)), where n are counts, d(s) is the number of
    different tokens after s, and s' is s without its oldest token.

    References:
        Witten and Bell 1991, "The zero-frequency problem", method C, interpolated.
    """
    total, kinds = tree.counts.sum(axis=1), (tree.counts > 0).sum(axis=1)
    vocab = tree.counts.shape[1]
    probs = np.empty_like(tree.counts)
    probs[0] = (tree.counts[0] + kinds[0] / vocab) / (total[0] + kinds[0])
    for at in tree.levels[1:]:
        spread = kinds[at, None] * probs[tree.parent[at]]
        probs[at] = (tree.counts[at] + spread) / (total[at] + kinds[at])[:, None]
    return np.log(probs)


def predictors(
    tokens: Int[np.ndarray, " tokens"], since: Int[np.ndarray, " tokens"], vocab: int, length: int
) -> Iterator[tuple[str, Predictor]]:
    """Yield the reference predictors with their names, fitted to training sequences: see `grow`."""
    tree = grow(tokens, since, vocab, min(length, _DEEPEST))
    orders = backed_off(tree)
    yield "unigram", Predictor(orders[:1], np.zeros((1, vocab), np.int64))
    after = automaton(tree)
    for order in range(1, 1 + min(_HIGHEST_ORDER, tree.depth[-1])):
        at_order = np.arange(len(orders))
        while (deeper := tree.depth[at_order] > order).any():
            at_order = np.where(deeper, tree.parent[at_order], at_order)
        yield f"order-{order}", Predictor(orders[at_order], after)
    yield CTW, weighted(tree)
    check_in()
    tree = grow(tokens, since, vocab, min(length, _LONGEST_MATCH), only_repeated=True)
    yield MATCH, Predictor(backed_off(tree), automaton(tree))
