"""The checks of types while tests run."""

import random
from collections.abc import Sequence

import beartype.roar
import pytest

from tests import typechecker


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
