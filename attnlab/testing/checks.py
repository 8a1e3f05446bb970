"""What a check requires, and how it says what is wrong."""

import json
from typing import Any

import numpy as np

from attnlab.configuration.records import from_record, to_record
from attnlab.generators import AbstractGenerator
from attnlab.models import AbstractModelOptions


def require(holds: bool | np.bool_, message: str) -> None:
    """Raise an `AssertionError` with this message unless the law holds."""
    if not holds:
        raise AssertionError(message)


def close(
    found: Any, expected: Any, message: str, *, atol: float = 1e-5, rtol: float = 1e-7
) -> None:
    """Require that arrays are equal up to rounding."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=message)


def equal(found: Any, expected: Any, message: str) -> None:
    """Require that arrays have the same bits."""
    np.testing.assert_array_equal(found, expected, err_msg=message)


def check_record(part: AbstractGenerator | AbstractModelOptions) -> None:
    """Require that the options of a process or model survive JSON."""
    text = json.dumps(record := to_record(part))
    again = from_record({part.name: type(part)}, json.loads(text), option_name=part.name)
    require(to_record(again) == record, "the options do not survive JSON")
