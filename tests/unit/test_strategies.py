"""Which reference a model is near: planted models and mixtures, and the laws of a divergence."""

import dataclasses
import itertools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import InContextMarkov, Markov, log_predictives
from attnlab.inspection import (
    changes_of_nearest,
    expected_loss,
    inference_kl,
    references_of,
    retrieval_kl,
    strategies,
)
from attnlab.inspection.strategies import Strategies
from attnlab.models.base import AbstractModel, Trace
from attnlab.optimum import optimum
from attnlab.training.experiment import prepare
from tests.unit.small_experiments import SMALL_TRANSFORMER, small

LENGTH = 8


@pytest.fixture(scope="module")
def references():
    return references_of(InContextMarkov(), LENGTH)


@pytest.mark.slow
def test_counts_by_hand(references):
    assert references.names == ("uniform", "in-context unigram", "optimal (bigram)")
    for query in (1, 5):
        seen = references.sequences[0, : query + 1].tolist()
        # The first token is not drawn from the table.
        unigram = (1 + seen[1:].count(1)) / (2 + len(seen) - 1)
        after = [token for last, token in itertools.pairwise(seen) if last == seen[-1]]
        bigram = (1 + after.count(1)) / (2 + len(after))
        assert references.probs[:, 0, query, 1] == pytest.approx([0.5, unigram, bigram], abs=1e-6)


@pytest.mark.parametrize("planted", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.3, 0.6, 0.1)])
def test_a_planted_mixture_is_recovered(references, planted):
    probs = np.tensordot(planted, references.probs, axes=1)
    found = strategies(references, probs)
    np.testing.assert_allclose(found.weights, planted, atol=0.02)
    assert found.left_over == pytest.approx(0, abs=2e-5)
    if max(planted) == 1:
        assert found.nearest == np.argmax(planted)
        assert found.divergence[found.nearest] == pytest.approx(0, abs=1e-9)


def test_a_mixture_is_at_least_as_near_as_each_reference(references):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet((2, 2), size=references.counted.shape)
    found = strategies(references, probs)
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)
    assert found.left_over <= found.divergence.min() + 1e-5
    by_hand = [
        sum(p * math.log(p / q) for p, q in zip(true, model, strict=True))
        for row, rows in zip(references.probs[1], probs, strict=True)
        for true, model in zip(row.tolist(), rows.tolist(), strict=True)
    ]
    assert found.divergence[1] == pytest.approx(np.mean(by_hand), rel=1e-9)


def test_expected_losses_are_those_of_enumeration(references):
    exact = optimum(InContextMarkov(), LENGTH).by_position
    found = expected_loss(references, references.probs[-1])
    for position, nll, error in zip(*found[:3], strict=True):
        assert nll == pytest.approx(exact[position].nll, abs=4.5 * error + 1e-6)
    uniform = expected_loss(references, references.probs[0])
    np.testing.assert_allclose(uniform.nll, math.log(2), rtol=1e-6)


def test_chance_does_not_change_the_nearest():
    rows = [(0.1, 0.5), (0.30, 0.29), (0.3, 0.1), (0.3, 0.1)]
    found = [Strategies(np.array(row), np.full(2, 0.02), np.ones(2) / 2, 0, 0) for row in rows]
    assert list(changes_of_nearest((0, 5, 9, 20), found)) == [(9, 1)]


@pytest.mark.slow
def test_a_process_without_references_is_refused():
    with pytest.raises(OptionError, match="`process` is 'markov': it names no reference"):
        references_of(Markov(), 4)


class Planted(AbstractModel):
    """A model with the exact predictions of a process."""

    process: InContextMarkov = eqx.field(static=True)
    vocab: int = 2

    def read(self, one_hot, queries):
        tokens = jnp.append(jnp.argmax(one_hot, axis=1), 0)
        return log_predictives(self.process, tokens)[1:][queries], Trace()


@pytest.mark.slow
def test_a_planted_model_retrieves_or_infers():
    known = InContextMarkov(prior="known-tables", table_count=2)
    setup = prepare(dataclasses.replace(small(SMALL_TRANSFORMER, loss="next"), generator=known))
    for process, found in ((known, retrieval_kl), (InContextMarkov(), inference_kl)):
        model = Planted(process)
        assert found(model, setup).value == pytest.approx(0, abs=1e-5)
        (other,) = {retrieval_kl, inference_kl} - {found}
        assert other(model, setup).value > 0.05
    assert retrieval_kl(model, prepare(SMALL_TRANSFORMER)) is None
