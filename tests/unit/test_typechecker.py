"""The checks of types and shapes while tests run."""

import random
from collections.abc import Sequence

import beartype.roar
import numpy as np
import pytest

from attnlab.configuration.number_text import show_measured
from attnlab.models import Edit
from attnlab.models.inside import uniform
from tests import WrongTypeWarning, typechecker


@typechecker
def _total(numbers: Sequence[int]) -> int:
    return sum(numbers)


def test_a_wrong_item_is_found():
    with pytest.raises(beartype.roar.BeartypeCallHintViolation):
        _total(["one"])


def test_checks_leave_the_shared_generator_alone():
    state = random.getstate()
    assert _total([1, 2, 3]) == 6
    assert random.getstate() == state


def test_a_module_without_shapes_is_checked():
    with pytest.raises(WrongTypeWarning, match="show_measured"):
        show_measured("1.5", 0.1)


def test_a_module_with_shapes_is_checked_for_them():
    with pytest.raises(TypeError, match="uniform"):
        uniform(np.ones((2, 2, 2), dtype=bool))


def test_values_that_a_class_states_are_checked():
    with pytest.raises(TypeError, match="Edit"):
        Edit(0, 0, "uniform")
