"""The loss of each day beside its floor."""

import dataclasses

import numpy as np
import pytest

from attnlab.charts import by_day_table
from attnlab.inspection import quality
from attnlab.optimum import optimum
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL

SIGMAS = 4.5


def test_the_table_has_the_losses_their_errors_and_the_floors():
    table = by_day_table(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    )
    assert table.to_dict("list") == {
        "day": [2, 3], "loss": [1.0, 0.5], "error": [0.1, 0.2], "low": [0.9, 0.3],
        "high": [1.1, 0.7], "floor": [0.9, 0.25],
    }  # fmt: skip


def test_only_days_that_were_trained_on_have_figures():
    setup = prepare(SMALL)
    first = next(quality(SMALL, setup.state.model, np.asarray(setup.test)))
    assert first.by_position is None


@pytest.mark.slow
def test_a_model_of_a_process_that_it_can_learn_comes_to_the_floor_of_every_day():
    training = Training(loss="next", steps=1_500, data="fresh", batch=100, test_size=20_000)
    experiment = dataclasses.replace(Experiment(length=4), training=training)
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    found = next(quality(experiment, last.state.model, np.asarray(setup.test))).by_position
    floors = np.array([best.nll for best in optimum(experiment.generator, 4).by_position])
    # Day 1 has nobody before it to predict it.
    assert found.positions.tolist() == [1, 2, 3, 4]
    above = found.nll - floors[1:]
    assert (above > -SIGMAS * found.nll_stderr).all()
    assert (above < 0.02 + SIGMAS * found.nll_stderr).all()
