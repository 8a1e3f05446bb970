"""Pasted points: what is taken, and what is refused with the line that is wrong."""

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.lessons.regression_data import MOST, read_points


@pytest.mark.parametrize(
    "text",
    ["0 1\n1 2.5\n2 -3", "0,1\n1,2.5\n2,-3", "0\t1\n\n 1 ; 2.5 \r\n2e0, -3.\n\n"],
)
def test_points_are_read(text):
    x, y = read_points("points", text)
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_array_equal(y, [1, 2.5, -3])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("points", "fewer than 3")),
        ("1 2\n3 4", ("fewer than 3",)),
        ("1 2\n3 4\nrain", ("line 3", "rain", "not two numbers")),
        ("1 2\n\n3 4 5\n6 7", ("line 3", "3 4 5")),
        ("1\n2 3\n4 5", ("line 1", "not two numbers")),
        ("1 2\n3 nan\n4 5", ("line 2", "nan")),
        ("1 2\n3 4\n-inf 5", ("line 3", "inf")),
        ("1 2\n3 4\n5 1e999", ("line 3", "inf")),
        ("1 2\n3 4\n1e7 1", ("line 3", "million")),
        ("1 2\n1 4\n1 5", ("x of every point",)),
        ("\n".join(f"{i} {i}" for i in range(MOST + 1)), (f"line {MOST + 1}", f"{MOST} points")),
        ("x, y\n1 2\n3 4\n5 6", ("line 1", "x, y")),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(OptionError) as refused:
        read_points("points", text)
    for word in words:
        assert word in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_most_points():
    x, _ = read_points("points", "\n".join(f"{i} {i}" for i in range(MOST)))
    assert len(x) == MOST
