"""The mean of the past, three ways, against a mean of means that shares nothing with them."""

import jax
import numpy as np
import pytest

from attnlab.lessons.stages import average_by_loop, average_by_matrix, average_by_softmax

WAYS = (average_by_loop, jax.jit(average_by_matrix), jax.jit(average_by_softmax))


@pytest.mark.parametrize(("length", "channels"), [(1, 1), (8, 2), (30, 3)])
def test_three_ways_are_one(length, channels):
    rows = np.random.default_rng(length).normal(size=(length, channels)).astype(np.float32)
    expected = rows[:1].astype(float)
    for t in range(1, length):
        # The mean of t + 1 rows from the mean of t of them.
        expected = np.vstack([expected, expected[-1] + (rows[t] - expected[-1]) / (t + 1)])
    for way in WAYS:
        np.testing.assert_allclose(way(rows), expected, atol=1e-5)


@pytest.mark.parametrize("way", WAYS, ids=["loop", "matrix", "softmax"])
def test_later_rows_change_nothing_earlier(way):
    rows = np.random.default_rng(1).normal(size=(6, 2)).astype(np.float32)
    changed = rows.copy()
    changed[4:] = 100.0
    np.testing.assert_array_equal(np.asarray(way(rows))[:4], np.asarray(way(changed))[:4])
    assert np.all(np.asarray(way(rows))[4:] != np.asarray(way(changed))[4:])
