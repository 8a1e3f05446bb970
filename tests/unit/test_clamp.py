"""Training with heads held at patterns: what stays, what is held, and what is refused."""

import dataclasses

import jax
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Induction, Markov
from attnlab.models import Edit, TransformerOptions
from attnlab.models.inside import trace_of
from attnlab.training.clamp import CLAMPS, clamp, run_clamped
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import EvaluationEvent, run
from attnlab.training.optimisers import Sgd
from attnlab.training.steps import Training
from attnlab.ui.in_context.clamp_panel import Clamped, pairs_of

SMALL = Experiment(
    generator=Induction(letters=3, repeats="half"),
    length=5,
    model=TransformerOptions(layers=2, heads=2, d_attn=2, d_model=4, mlp_width=0),
    training=Training(loss="next", data="fresh", batch=10, steps=6, test_size=100),
)


def results(events):
    return [event for event in events if isinstance(event, EvaluationEvent)]


@pytest.mark.slow
def test_a_run_without_clamps_is_the_run():
    free, clamped = results(run(SMALL)), results(run_clamped(SMALL))
    assert [each.evaluation for each in clamped] == [each.evaluation for each in free]
    leaves = (jax.tree.leaves(each[-1].model) for each in (free, clamped))
    for one, other in zip(*leaves, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_held_head_keeps_its_pattern_and_its_weights():
    head = clamp(SMALL, layer=0, head=1, at="previous token")
    *_, last = results(run_clamped(SMALL, head))
    tokens = np.array([0, 1, 0, 0, 1])
    pattern = trace_of(last.model, tokens).attention[0].pattern[1]
    # The first query sees only itself.
    np.testing.assert_allclose(pattern, np.eye(5)[[0, 0, 1, 2, 3]], atol=1e-6)
    before, after = prepare(SMALL).state.model.layers[0], last.model.model.layers[0]
    np.testing.assert_array_equal(after.query.weight[:, 2:], before.query.weight[:, 2:])
    assert np.abs(after.query.weight[:, :2] - before.query.weight[:, :2]).max() > 0


def test_the_true_sources_are_those_of_each_sequence():
    at = clamp(SMALL, layer=1, head=0, at="true sources").on(
        jax.nn.one_hot(np.array([0, 1, 2, 0, 1]), 3)
    )
    # The second half repeats three letters: query 2 is followed by letter 0, query 3 by letter 1.
    np.testing.assert_allclose(np.asarray(at.pattern)[2:4], np.eye(5)[:2], atol=1e-6)


@pytest.mark.slow
def test_a_later_clamp_begins_with_the_steps_of_the_free_run():
    experiment = dataclasses.replace(
        SMALL, training=dataclasses.replace(SMALL.training, optimiser=Sgd(momentum=0.0))
    )
    off = clamp(experiment, layer=1, head=0, at="off")
    first, *_ = results(run_clamped(experiment, off, step=4))
    (same,) = [each for each in results(run(experiment)) if each.step == first.step - 1]
    assert first.step == 5
    assert np.abs(trace_of(first.model, np.zeros(5, int)).attention[1].pattern[0]).max() == 0
    free = same.model.layers[1].query.weight
    # Without a gradient, plain descent leaves the weights of the clamped head.
    np.testing.assert_array_equal(first.model.model.layers[1].query.weight[:, :2], free[:, :2])


@pytest.mark.slow
def test_what_cannot_be_clamped_is_refused():
    with pytest.raises(OptionError, match="Choose one of true sources"):
        clamp(SMALL, layer=0, head=0, at="nowhere")
    without = dataclasses.replace(SMALL, generator=Markov())
    with pytest.raises(OptionError, match="does not define them"):
        clamp(without, layer=0, head=0, at=CLAMPS[0])
    off = clamp(SMALL, layer=0, head=0, at="off")
    with pytest.raises(OptionError, match="from 0 to 5"):
        next(run_clamped(SMALL, off, step=6))
    with pytest.raises(OptionError, match="Give functions"):
        next(run_clamped(SMALL, Edit(0, 0, jax.numpy.zeros((5, 5)))))


@pytest.mark.slow
def test_each_seed_has_a_free_and_a_clamped_run():
    first, second = SMALL, dataclasses.replace(SMALL, seed=SMALL.seed + 1)
    head = clamp(SMALL, layer=0, head=1, at="previous token")

    def curve(events):
        return tuple((each.step, each.evaluation) for each in results(events))

    *_, found = pairs_of(Clamped(SMALL, 0, 1, "previous token", 0, seeds=2), curve(run(first)))
    assert found == tuple(
        (curve(run(each)), curve(run_clamped(each, head))) for each in (first, second)
    )
