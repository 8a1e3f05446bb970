"""Inspect says when an earlier layer has moved what the prediction depends on."""

import numpy as np
import pytest

from attnlab.inspection import Comparison
from attnlab.models import AttentionMap
from attnlab.ui.inspect.prediction_panel import moved_before

LENGTH = 5


def layer(number, *rows):
    """A map of one head that attends to its own position, except in these rows: (query, key)."""
    pattern = np.eye(LENGTH)
    for query, key in rows:
        pattern[query] = np.eye(LENGTH)[key]
    return AttentionMap(pattern[None], np.tri(LENGTH, dtype=bool), number)


@pytest.mark.parametrize(
    ("rows", "moved"),
    [
        # Position 2 reads 0, and the last position reads 1 itself.
        ([(2, 0), (4, 1)], [0, 1]),
        ([(2, 0)], [0]),
        # What position 3 has read is read by no one.
        ([(3, 0)], []),
        ([], []),
    ],
)
def test_only_what_earlier_layers_bring_to_positions_that_are_read(rows, moved):
    depends = np.zeros((LENGTH, LENGTH))
    depends[-1] = [0.3, 0.2, 0.4, 0.0, 0.1]
    below, chosen = layer(0, *rows), layer(1, (4, 2))
    found = Comparison((below, chosen, layer(2, (4, 0))), depends, depends, depends)
    assert moved_before(found, chosen).tolist() == moved
    # In the first layer nothing was moved before.
    assert moved_before(found, below).tolist() == []
    depends[-1] = [0.0, 0.0, 0.5, 0.0, 0.0]
    assert moved_before(found, chosen).tolist() == []
