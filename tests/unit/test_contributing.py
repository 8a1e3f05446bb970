"""What the guide for contributors shows works, once it is registered as the guide says."""

import dataclasses
import re
from pathlib import Path
from types import MappingProxyType

import jax
import numpy as np
import pytest

from attnlab.configuration.options import options_of
from attnlab.generators import Recall
from attnlab.models import AttentionOptions
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, from_json, prepare, to_json
from attnlab.training.feasibility import feasibility
from attnlab.training.loop import train
from attnlab.training.steps import Training

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SHORT = Training(steps=5, test_size=100, train_size=100)


def shown(name):
    """The class that a block of the guide defines."""
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        if f"class {name}(" in block:
            scope = {"__name__": "guide"}
            exec(compile(block, f"the guide's {name}", "exec"), scope)
            return scope[name]
    raise AssertionError(f"the guide has no {name}")


@pytest.fixture
def register(monkeypatch):
    """Adds a class to the registry of an option, which is frozen against accidents."""
    undo = []

    def add(owner, option_name, kind):
        option = options_of(owner)[option_name]
        undo.append((option, option.registry))
        longer = MappingProxyType({**option.registry, kind.name: kind})
        object.__setattr__(option, "registry", longer)
        return kind

    yield add
    for option, registry in undo:
        object.__setattr__(option, "registry", registry)


def trained(experiment):
    """Test figures after a few steps, of an experiment that survives its JSON."""
    assert from_json(to_json(experiment)) == experiment
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    return evaluate(last.state.model, setup.test, readout="last")


def test_the_generator(register):
    turns = register(Experiment, "generator", shown("Turns"))(noise=0.2)
    experiment = Experiment(generator=turns, length=4, training=SHORT)
    assert feasibility(experiment).best.accuracy == pytest.approx(0.8)
    assert np.isfinite(trained(experiment).nll)


def test_the_positional_encoding(register):
    root = register(AttentionOptions, "position", shown("SquareRoot"))()
    rows = root.table(length=4, width=8, key=jax.random.key(0))
    np.testing.assert_allclose(rows[:, 0], [1, 2**0.5, 3**0.5, 2], atol=1e-6)
    options = AttentionOptions(position=root)
    assert np.isfinite(trained(Experiment(length=4, model=options, training=SHORT)).nll)


def test_the_optimiser(register):
    rmsprop = register(Training, "optimiser", shown("RmsProp"))(decay=0.8)
    training = dataclasses.replace(SHORT, optimiser=rmsprop)
    assert np.isfinite(trained(Experiment(length=4, training=training)).nll)


def test_the_model(register):
    bag = register(Experiment, "model", shown("BagOptions"))()
    experiment = Experiment(generator=Recall(days=(1, 2)), length=4, model=bag, training=SHORT)
    assert np.isfinite(trained(experiment).nll)
    verdict = feasibility(experiment)
    assert verdict.reachable.nll > verdict.best.nll + 1e-3
