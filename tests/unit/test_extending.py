"""The classes that the guide to extending defines work once they are registered."""

import dataclasses

import jax
import numpy as np
import pytest

import attnlab
from attnlab.generators import Recall
from attnlab.models import AttentionOptions
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, from_json, prepare, to_json
from attnlab.training.limits import feasibility
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.documents import guide_classes

pytestmark = pytest.mark.slow

SHORT = Training(steps=5, test_size=100, train_size=100)


@pytest.fixture(scope="module")
def guide():
    """The classes that the guide defines, by name."""
    return guide_classes()


@pytest.fixture
def register():
    """Registers a class for one test."""
    added = []

    def add(kind):
        added.append(attnlab.register(kind))
        return kind

    yield add
    for kind in added:
        attnlab.unregister(kind)


def trained(experiment):
    """Test figures after a few steps, of an experiment that survives its JSON."""
    assert from_json(to_json(experiment)) == experiment
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    return evaluate(last.state.model, setup.test, readout="last")


def test_the_generator(register, guide):
    turns = register(guide["Turns"])(noise=0.2)
    experiment = Experiment(generator=turns, length=4, training=SHORT)
    assert feasibility(experiment).best.accuracy == pytest.approx(0.8)
    assert np.isfinite(trained(experiment).nll)


def test_the_positional_encoding(register, guide):
    root = register(guide["SquareRoot"])()
    rows = root.table(length=4, width=8, key=jax.random.key(0))
    np.testing.assert_allclose(rows[:, 0], [1, 2**0.5, 3**0.5, 2], atol=1e-6)
    options = AttentionOptions(position=root)
    assert np.isfinite(trained(Experiment(length=4, model=options, training=SHORT)).nll)


def test_the_optimiser(register, guide):
    rmsprop = register(guide["RmsProp"])(decay=0.8)
    training = dataclasses.replace(SHORT, optimiser=rmsprop)
    assert np.isfinite(trained(Experiment(length=4, training=training)).nll)


def test_the_model(register, guide):
    bag = register(guide["BagOptions"])()
    experiment = Experiment(generator=Recall(days=(1, 2)), length=4, model=bag, training=SHORT)
    assert np.isfinite(trained(experiment).nll)
    verdict = feasibility(experiment)
    assert verdict.reachable.nll > verdict.best.nll + 1e-3
