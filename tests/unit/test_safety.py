"""The softmax where a plain one breaks: every answer worked out by hand."""

import numpy as np
import pytest

from attnlab.lessons.saturation import CASES, answer

E = float(np.exp(-1.0))
NAN = float("nan")
# exp(0) and exp(-1) over their sum; nothing else in these cases weighs anything.
HIGH, LOW = 1 / (1 + E), E / (1 + E)
EXPECTED = {
    "large scores": ([NAN, NAN, 0], [HIGH, LOW, 0], [HIGH * LOW, -HIGH * LOW, 0]),
    "very negative scores": ([NAN, NAN, NAN], [HIGH, LOW, 0], [HIGH * LOW, -HIGH * LOW, 0]),
    "one score of -inf": ([0, LOW, HIGH], [0, LOW, HIGH], [0, 0, 0]),
    "a row of -inf": ([NAN, NAN, NAN], [0, 0, 0], [0, 0, 0]),
    "every key masked": ([NAN, NAN, NAN], [0, 0, 0], [0, 0, 0]),
    "not a number behind the mask": (
        [HIGH, 0, LOW], [HIGH, 0, LOW], [HIGH * LOW, 0, -HIGH * LOW],
    ),
    # inf - inf is no number, and nor is a share of a sum that is none.
    "a score of +inf": ([NAN, 0, 0], [NAN, NAN, NAN], [NAN, NAN, NAN]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_answers(case):
    found, expected = answer(case), EXPECTED[case.name]
    for values, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, right, atol=2e-7)


def test_every_case_is_expected():
    assert {case.name for case in CASES} == set(EXPECTED)
