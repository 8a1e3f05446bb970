"""Attention by distance: planted patterns have known deviations from theory."""

import dataclasses

import numpy as np
import pytest

from attnlab.generators import Even, Mess3
from attnlab.inspection import attention_by_distance, belief_data, predicted_decay
from attnlab.models import AttentionOptions, Edit, TransformerOptions, edited
from attnlab.training.experiment import Experiment, build_model

pytestmark = pytest.mark.usefixtures("quickly_compiled")

LENGTH = 6
ONE_LAYER = TransformerOptions(layers=1, heads=1, mlp_width=0, d_attn=2, d_model=4)
EXPERIMENT = Experiment(generator=Mess3(x=0.05), length=LENGTH, model=ONE_LAYER)


def with_shares(shares):
    """A model whose last position gives its own token 0.4, and earlier ones these shares."""
    pattern = np.eye(LENGTH)
    pattern[-1] = [*(0.6 * np.asarray(shares)[::-1] / np.sum(shares)), 0.4]
    return edited(build_model(EXPERIMENT), Edit(layer=0, head=0, pattern=pattern))


def measured(model):
    sequences = belief_data(EXPERIMENT.generator, LENGTH, size=50).sequences
    return attention_by_distance(model, sequences, predicted_decay(EXPERIMENT))


@pytest.mark.slow
def test_planted_attention_has_its_deviation():
    theory = 0.85 ** np.arange(1, 6)
    found = measured(with_shares(theory))
    np.testing.assert_allclose(found.shares, theory / theory.sum(), atol=1e-6)
    assert found.deviation == pytest.approx(0, abs=1e-6)
    equal = measured(with_shares(np.ones(5)))
    assert equal.deviation == pytest.approx(equal.uniform, abs=1e-6)
    # All on the nearest token: what theory gives the others is missing.
    nearest = measured(with_shares([1, 0, 0, 0, 0]))
    assert nearest.deviation == pytest.approx(1 - theory[0] / theory.sum(), abs=1e-6)
    assert nearest.deviation_stderr == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_error_is_that_of_the_deviation_over_sequences():
    model = build_model(EXPERIMENT)
    found = measured(model)
    each = [measured_on(model, seed).deviation for seed in range(40)]
    assert found.deviation_stderr == pytest.approx(np.std(each), rel=0.5)


def measured_on(model, seed):
    sequences = belief_data(EXPERIMENT.generator, LENGTH, seed=seed, size=50).sequences
    return attention_by_distance(model, sequences, predicted_decay(EXPERIMENT))


def test_theory_is_about_one_head_on_mess3():
    assert predicted_decay(EXPERIMENT) == pytest.approx(0.85)
    for other in (
        {"generator": Even()},
        # Its tokens are independent of earlier ones.
        {"generator": Mess3(x=1 / 3)},
        {"model": dataclasses.replace(ONE_LAYER, heads=2)},
        {"model": dataclasses.replace(ONE_LAYER, layers=2)},
        {"model": dataclasses.replace(ONE_LAYER, mlp_width=4)},
        {"model": dataclasses.replace(ONE_LAYER, mask="none")},
        # It has no residual stream.
        {"model": AttentionOptions()},
        {"length": 2},
    ):
        assert predicted_decay(dataclasses.replace(EXPERIMENT, **other)) is None
