"""The checks of types and shapes while tests run."""

import numpy as np
import pytest

from attnlab.configuration.number_text import show_measured
from attnlab.models import Edit
from attnlab.models.inside import uniform
from tests import WrongTypeWarning


def test_types_and_shapes_of_calls_and_fields_are_checked():
    with pytest.raises(WrongTypeWarning, match="show_measured"):
        show_measured("1.5", 0.1)
    with pytest.raises(TypeError, match="uniform"):
        uniform(np.ones((2, 2, 2), dtype=bool))
    with pytest.raises(TypeError, match="Edit"):
        Edit(0, 0, "uniform")
