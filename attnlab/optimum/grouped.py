"""The best prediction from only part of a sequence."""

import numpy as np
from jaxtyping import Float, Int

from attnlab.optimum.best import Best, entropy
from attnlab.optimum.sampled import mean_and_error

# Decides only where the other half of a sample has no sequence of a group.
_UNSEEN = 1e-9


def best_from_groups(
    group: Int[np.ndarray, " sequences"],
    final: Float[np.ndarray, "sequences vocab"],
    weight: Float[np.ndarray, " sequences"],
) -> Best:
    """Loss and accuracy of p(final token | group), where a sequence tells its group and no more.

    `final` is the true distribution of each sequence's final token, and `weight` its probability;
    the sequences are all that there are.
    """
    joint = weight[:, None] * final
    groups = _sums(group, joint, int(group.max()) + 1)
    total = groups.sum(axis=1, keepdims=True)
    told = groups / np.where(total > 0, total, 1)
    return Best(float(total[:, 0] @ entropy(told)), float(groups.max(axis=1).sum()))


def best_from_sampled_groups(
    group: Int[np.ndarray, " sequences"], final: Float[np.ndarray, "sequences vocab"]
) -> Best:
    """As `best_from_groups`, estimated from independent sequences, with standard errors.

    A prediction that is fitted to a sample does too well on it. The loss is therefore the
    jackknife estimate: the mean of what each sequence adds to Σ n_g H(p̂_g), over groups of n_g
    sequences whose mean distribution is p̂_g (Quenouille 1956, "Notes on bias in estimation"). The
    accuracy is midway between predicting each group's most probable token of the
    sample itself, which is right too often, and of the sample's other half, which is
    right too seldom; half of their distance is part of its error. Groups of a few sequences only
    leave both too optimistic.
    """
    size, groups = len(group), int(group.max()) + 1
    sums, counts = _sums(group, final, groups), np.bincount(group, minlength=groups)
    with_it = _total_entropy(sums, counts)[group]
    without_it = _total_entropy(sums[group] - final, counts[group] - 1)
    nll, nll_stderr = mean_and_error(with_it - without_it)
    second = np.arange(size) % 2 == 1
    rules = np.stack([_sums(group[part], final[part], groups) for part in (second, ~second)])
    rules = (rules + _UNSEEN * final.mean(axis=0)).argmax(axis=2)
    held_out = _of_tokens(final, rules[second.astype(int), group])
    fitted = _of_tokens(final, sums.argmax(axis=1)[group])
    accuracy, accuracy_stderr = mean_and_error((fitted + held_out) / 2)
    unsure = (fitted.mean() - held_out.mean()) / 2
    return Best(nll, accuracy, nll_stderr, float(np.hypot(accuracy_stderr, unsure)))


def _sums(
    group: Int[np.ndarray, " sequences"], values: Float[np.ndarray, "sequences vocab"], groups: int
) -> Float[np.ndarray, "groups vocab"]:
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)


def _total_entropy(
    sums: Float[np.ndarray, "groups vocab"], counts: Int[np.ndarray, " groups"]
) -> Float[np.ndarray, " groups"]:
    """n_g H(p̂_g) of each group."""
    # What is left when a group's last sequence is taken away is rounding.
    return counts * entropy(np.maximum(sums, 0) / np.maximum(counts, 1)[:, None])


def _of_tokens(
    final: Float[np.ndarray, "sequences vocab"], tokens: Int[np.ndarray, " sequences"]
) -> Float[np.ndarray, " sequences"]:
    """The probability of one token for each sequence."""
    return np.take_along_axis(final, tokens[:, None], axis=1)[:, 0]
