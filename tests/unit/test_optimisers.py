"""Optimisers, schedules and clipping against float64 NumPy, and wherever an option can be given."""

import jax
import numpy as np
import pytest

from attnlab.runs.history import empty_history
from attnlab.runs.run import Run
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.changes import Change
from attnlab.training.experiment import prepare
from attnlab.training.loop import NO_TESTS, run, train
from attnlab.training.optimisers import (
    OPTIMISERS,
    Adam,
    AdamW,
    InverseSquareRoot,
    Sgd,
    WarmUpCosine,
)
from tests.unit.model_oracles import as_float64, log_softmax
from tests.unit.small_experiments import SMALL_LINEAR, small

RATE, STEPS = 0.2, 12


def full_batch(**training):
    return small(
        SMALL_LINEAR, batch_mode="full", train_size=50, steps=STEPS, learning_rate=RATE, **training
    )


class Momentum:
    """Polyak's heavy ball (1964), or plain descent."""

    def __init__(self, keep):
        self.keep, self.velocity = keep, 0.0

    def __call__(self, gradient, weight):
        self.velocity = self.keep * self.velocity + gradient
        return self.velocity


class DecayedAdam:
    """Loshchilov and Hutter (2019), algorithm 2, line 12; without decay Kingma and Ba's."""

    def __init__(self, decay=0.0):
        self.decay, self.t, self.first, self.second = decay, 0, 0.0, 0.0

    def __call__(self, gradient, weight):
        self.t += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.999 * self.second + 0.001 * gradient**2
        spread = np.sqrt(self.second / (1 - 0.999**self.t)) + 1e-8
        return self.first / (1 - 0.9**self.t) / spread + self.decay * weight


def warm_up_then_cosine(warm_up):
    """Shares of the rate at each step, by the moments of a run of N steps: (s + 1) / (N + 1)."""
    done = np.arange(1, STEPS + 1) / (STEPS + 1)
    down = (1 + np.cos(np.pi * (done - warm_up) / (1 - warm_up))) / 2
    return np.where(done < warm_up, done / warm_up, down)


def warm_up_then_root(warm_up):
    """As Vaswani et al. (2017) have it in steps, over its value where the warm-up ends."""
    step, end = np.arange(1, STEPS + 1), warm_up * (STEPS + 1)
    return np.minimum(step**-0.5, step * end**-1.5) / end**-0.5


def numpy_weights(experiment, make, shares, longest=np.inf):
    """Softmax regression trained in float64 from the experiment's own start, on all its set."""
    setup = prepare(experiment)
    sequences = np.asarray(setup.source.sequences)
    inputs = np.array([np.eye(3)[days[:-1]].ravel() for days in sequences])
    target = np.eye(3)[sequences[:, -1]]
    weights = [as_float64(part) for part in setup.state.model.projection]
    rules = [make() for _ in weights]
    for share in shares:
        error = (np.exp(log_softmax(inputs @ weights[0] + weights[1])) - target) / len(target)
        gradients = [inputs.T @ error, error.sum(axis=0)]
        length = np.sqrt(sum((part**2).sum() for part in gradients))
        gradients = [part * min(1, longest / length) for part in gradients]
        for weight, rule, gradient in zip(weights, rules, gradients, strict=True):
            weight -= RATE * share * rule(gradient, weight)
    return weights


CASES = {
    "adam": ({}, DecayedAdam, 1.0, np.inf),
    "adamw": (
        {"optimiser": AdamW(weight_decay=0.5)},
        lambda: DecayedAdam(0.5),
        np.ones(STEPS),
        np.inf,
    ),
    "sgd": ({"optimiser": Sgd(momentum=0.7)}, lambda: Momentum(0.7), np.ones(STEPS), np.inf),
    "sgd without momentum": (
        {"optimiser": Sgd(momentum=0.0)},
        lambda: Momentum(0.0),
        np.ones(STEPS),
        np.inf,
    ),
    "schedule": (
        {"schedule": WarmUpCosine(warm_up=0.3), "optimiser": Sgd()},
        lambda: Momentum(0.9),
        warm_up_then_cosine(0.3),
        np.inf,
    ),
    "inverse square root": (
        {"schedule": InverseSquareRoot(warm_up=0.4), "optimiser": Sgd()},
        lambda: Momentum(0.9),
        warm_up_then_root(0.4),
        np.inf,
    ),
    "clipped": (
        {"clip": 0.05, "optimiser": Sgd()},
        lambda: Momentum(0.9),
        np.ones(STEPS),
        0.05,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_updates_agree_with_numpy(case):
    options, make, shares, longest = CASES[case]
    experiment = full_batch(**options)
    *_, last = train(experiment, prepare(experiment), chunk=5)
    expected = numpy_weights(experiment, make, np.broadcast_to(shares, STEPS), longest)
    for found, wanted in zip(last.state.model.projection, expected, strict=True):
        # Where a gradient is small, its float32 rounding moves a step of Adam by up to 1e-5.
        np.testing.assert_allclose(found, wanted, atol=1e-4)


CHANGED = {
    "adam": Adam(),
    "adamw": AdamW(weight_decay=0.25),
    "sgd": Sgd(momentum=0.5),
}


def with_optimiser(name, **training):
    changed = {"optimiser": CHANGED[name], "schedule": "warm-up-cosine", "clip": 2.5}
    return small(SMALL_LINEAR, **changed, **training)


def test_every_optimiser_has_a_case():
    assert CHANGED.keys() == OPTIMISERS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_run_of_every_optimiser_goes_on_from_its_file(name):
    experiment = with_optimiser(name, steps=20)
    states = [event.state for event in run(experiment, chunk=10, plan=NO_TESTS)]
    history = empty_history().with_losses(np.ones(10, np.float32))
    stored = from_bytes(to_bytes(Run(experiment, states[0], history)))
    *_, last = run(stored.experiment, stored.state, plan=NO_TESTS)
    pairs = zip(jax.tree.leaves(last.state), jax.tree.leaves(states[-1]), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_a_rate_that_changes_on_the_way_is_that_of_the_rest():
    experiment = full_batch(optimiser=Sgd(momentum=0.0))
    change = Change(5, (("learning_rate", RATE, 0.05),))
    *_, last = run(experiment, changes=[change], plan=NO_TESTS)
    shares = np.where(np.arange(STEPS) < 5, 1.0, 0.25)
    expected = numpy_weights(experiment, lambda: Momentum(0.0), shares)
    for found, wanted in zip(last.state.model.projection, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
