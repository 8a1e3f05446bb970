"""A trained model, where attention and dependence come apart."""

import numpy as np
import pytest

from attnlab import Experiment, Training, prepare, train
from attnlab.generators import Markov
from attnlab.inspection import compare
from attnlab.models import AttentionOptions
from attnlab.optimum import dependence, token_marginals

LENGTH = 6


@pytest.fixture(scope="module")
def found():
    """The comparison for a model that has learned markov: only the last day counts."""
    training = Training(steps=400, data="fresh", batch=100)
    experiment = Experiment(
        generator=Markov(), length=LENGTH, model=AttentionOptions(), training=training
    )
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    sequences = np.asarray(setup.test[:256, :-1])
    true, laws = dependence(Markov(), LENGTH), token_marginals(Markov(), LENGTH)
    return compare(experiment, last.state.model, sequences, true.replacement, laws)


@pytest.mark.slow
def test_the_model_attends_to_days_that_its_prediction_hardly_depends_on(found):
    attended, used = found.attends[-1, :-1], found.depends[-1, :-1]
    assert attended.sum() > 0.5
    assert (attended > 3 * used).any()
    # What is attended to most of the early days moves the prediction by little.
    assert used[attended.argmax()] < 0.05


@pytest.mark.slow
def test_the_prediction_depends_on_the_day_that_the_truth_depends_on(found):
    assert found.depends[-1].argmax() == found.truth[-1].argmax() == LENGTH - 1
    assert found.depends[-1, -1] > 5 * found.depends[-1, :-1].max()
    np.testing.assert_allclose(found.truth[-1, :-1], 0, atol=1e-6)
