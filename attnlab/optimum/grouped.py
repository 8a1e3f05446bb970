"""The best prediction by somebody who is told only part of a sequence."""

import numpy as np
from jaxtyping import Float, Int

from attnlab.optimum.best import Best
from attnlab.optimum.sampled import mean_and_error


def best_from_groups(
    group: Int[np.ndarray, " sequences"],
    final: Float[np.ndarray, "sequences vocab"],
    weight: Float[np.ndarray, " sequences"],
    *,
    exact: bool,
) -> Best:
    """Loss and accuracy of p(final day | group), where a sequence tells its group and no more.

    `final` is the true law of each sequence's final day, and `weight` what it counts. Where the
    sequences are a sample, with the standard errors of their mean.
    """
    joint = weight[:, None] * final
    groups = np.stack([np.bincount(group, column) for column in joint.T], axis=1)
    total = groups.sum(axis=1, keepdims=True)
    told = (groups / np.where(total > 0, total, 1))[group]
    loss = -(final * np.log(np.where(final > 0, told, 1))).sum(axis=1)
    right = np.take_along_axis(final, told.argmax(axis=1)[:, None], axis=1)[:, 0]
    if exact:
        return Best(float(weight @ loss), float(weight @ right))
    nll, nll_stderr = mean_and_error(loss)
    accuracy, accuracy_stderr = mean_and_error(right)
    return Best(nll, accuracy, nll_stderr, accuracy_stderr)
