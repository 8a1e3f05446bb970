"""The example on the first page is what its settings give."""

import numpy as np

from attnlab.training.experiment import Experiment
from attnlab.ui.train.example import make_example, read_example, write_example

# Another processor rounds differently, and 500 steps carry that on.
_TOLERANCE = 0.01


def test_the_example_is_a_run_of_the_default_experiment():
    stored, made = read_example(), make_example(Experiment())
    assert stored.snapshot.experiment == Experiment()
    assert stored.snapshot.parameters == made.snapshot.parameters
    np.testing.assert_array_equal(stored.snapshot.probes, made.snapshot.probes)
    for (step, test), (same_step, same) in zip(
        stored.snapshot.history.tests, made.snapshot.history.tests, strict=True
    ):
        assert step == same_step
        np.testing.assert_allclose(test, same, atol=_TOLERANCE)
    (old,), (new,) = stored.trace.attention, made.trace.attention
    np.testing.assert_allclose(old.pattern, new.pattern, atol=10 * _TOLERANCE)
    np.testing.assert_array_equal(old.mask, new.mask)


def test_an_example_can_be_written_and_read(tmp_path):
    example = read_example()
    write_example(example, tmp_path / "again.npz")
    again = read_example(tmp_path / "again.npz")
    assert again.snapshot.history.tests == example.snapshot.history.tests
    (old,), (new,) = example.trace.attention, again.trace.attention
    np.testing.assert_array_equal(new.pattern, old.pattern)
