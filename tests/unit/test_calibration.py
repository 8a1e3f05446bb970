"""Predicted probabilities against observed frequencies, and the errors of both over many tests."""

import numpy as np
import pytest

from attnlab.inspection import calibration

SIZE, TESTS = 500, 200


def drawn(rng, probs):
    """A final day of every row."""
    return (rng.random((len(probs), 1)) > probs[:, :-1].cumsum(axis=1)).sum(axis=1)


def calibrations(probs, predicted):
    """Calibration of what is predicted where the final days come from `probs`."""
    rng = np.random.default_rng(1)
    return [calibration(predicted, drawn(rng, probs), 10) for _ in range(TESTS)]


@pytest.fixture(scope="module")
def probs():
    """Many sequences with two or three of their tokens in one bin."""
    return np.random.default_rng(0).dirichlet(np.full(3, 30.0), size=SIZE)


@pytest.fixture(scope="module")
def perfect(probs):
    return calibrations(probs, probs)


def test_eight_sequences_counted_by_hand():
    final = np.array([1, 1, 1, 1, 1, 1, 0, 0])
    found = calibration(np.tile([0.25, 0.75], (8, 1)), final, 10)
    assert found.count.tolist() == [8, 8]
    np.testing.assert_allclose([found.predicted, found.observed], [[0.25, 0.75]] * 2)
    np.testing.assert_allclose(found.observed_stderr, np.sqrt(0.25 * 0.75 / 8))
    # Half an event away from none of eight, and from all.
    certain = calibration(np.tile([0.0, 1.0], (8, 1)), np.ones(8, dtype=int), 10)
    np.testing.assert_allclose(certain.observed_stderr, np.sqrt(1 / 16 * 15 / 16 / 8))
    assert certain.error.value == certain.perfect_error == certain.perfect_error_std == 0


def test_a_bin_that_holds_all_tokens_of_every_sequence_has_no_error():
    found = calibration(np.tile([0.33, 0.34, 0.33], (9, 1)), np.arange(9) % 3, 10)
    np.testing.assert_allclose(found.observed, 1 / 3)
    np.testing.assert_allclose(found.observed_stderr, 0, atol=1e-12)
    assert found.error.value == found.perfect_error == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_bars_are_one_standard_error_over_sequences(perfect):
    full = perfect[0].count > 60
    assert full.sum() > 2
    z = np.array([(t.observed - t.predicted) / t.observed_stderr for t in perfect])[:, full]
    # Over 200 tests a standard deviation is known to 0.05.
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.2)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.3)


@pytest.mark.slow
def test_what_perfect_calibration_would_show_is_what_it_shows(perfect):
    errors = np.array([found.error.value for found in perfect])
    close = 4.5 * errors.std() / np.sqrt(TESTS)
    # Each is itself a mean over 200 draws.
    assert perfect[0].perfect_error == pytest.approx(errors.mean(), abs=close * np.sqrt(2))
    assert perfect[0].perfect_error_std == pytest.approx(errors.std(), rel=0.3)
    assert perfect[0].perfect_error > 0.002


@pytest.mark.slow
def test_the_error_of_a_model_too_sure_of_itself_varies_by_its_standard_error(probs):
    sharper = probs**4 / (probs**4).sum(axis=1, keepdims=True)
    found = calibrations(probs, sharper)
    errors = np.array([each.error.value for each in found])
    assert found[0].error.value > found[0].perfect_error + 5 * found[0].perfect_error_std
    assert np.mean([each.error.stderr for each in found]) == pytest.approx(errors.std(), rel=0.25)
