"""What a source token moves: of the truth exactly where it should, of any model by enumeration."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import Cards, Reverse, Sort, log_predictives, sample
from attnlab.inspection import source_influence
from attnlab.models import RNNBottleneckOptions
from attnlab.models.base import AbstractModel, Trace
from tests.unit.task_oracles import CASES, sources_of, target_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")


class TrueModel(AbstractModel):
    """A model whose predictions are the true ones."""

    task: object = eqx.field(static=True)
    vocab: int = eqx.field(static=True)

    def read(self, one_hot, queries):
        tokens = jnp.append(jnp.argmax(one_hot, axis=1), 0)
        return log_predictives(self.task, tokens)[1:][queries], Trace()


def sequences_of(task, size):
    return np.asarray(sample(task, key=jr.key(2), size=size, length=2 * task.source_length))


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [Cards(hand=3, suits=2, ranks=4), Sort(source_length=4, letters=3, noise=0.3), Reverse(4, 3)],
    ids=lambda task: task.name,
)
def test_the_truth_depends_on_a_source_token_exactly_where_it_should(task):
    model = TrueModel(task, task.vocabulary.size)
    for sequence in sequences_of(task, 4):
        found = source_influence(task, model, sequence[None])
        np.testing.assert_array_equal(found.influence > 1e-6, found.dependence == 1)
        np.testing.assert_allclose(found.influence, found.truth, atol=1e-6)
        assert np.isnan(found.stderr).all()
        # Where nothing can be replaced, nothing is measured.
        assert (found.influence[found.measured == 0] == 0).all()


def oracle(case, probs_of, sequence):
    """Mean total variation by enumeration, None where there is nothing to replace."""
    count, vocab = case.task.source_length, case.task.vocabulary.size
    source, written = tuple(sequence[:count]), tuple(sequence[count:-1])
    true, before = target_of(case, source), probs_of(source + written)
    found = np.full((count, count), np.nan)
    possible = set(sources_of(case))
    for place in range(count):
        changed = [(*source[:place], token, *source[place + 1 :]) for token in range(vocab)]
        changed = [other for other in changed if other in possible and other != source]
        for row in range(count):
            alike = [o for o in changed if target_of(case, o)[:row] == true[:row]]
            moves = [np.abs(probs_of(o + written)[row] - before[row]).sum() / 2 for o in alike]
            if moves:
                found[row, place] = np.mean(moves)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cards by suit, noise", "sort"])
def test_the_influence_on_a_model_agrees_with_enumeration(name):
    case = CASES[name]
    task = case.task
    count = task.source_length
    model = RNNBottleneckOptions(hidden_size=4).build(
        vocab=task.vocabulary.size, length=2 * count - 1, key=jr.key(0), source=count
    )
    read = jax.jit(lambda tokens: model(tokens, jnp.arange(count - 1, 2 * count - 1))[0])

    def probs_of(tokens):
        logits = np.asarray(read(jnp.array(tokens)), dtype=np.float64)
        odds = np.exp(logits)
        return odds / odds.sum(axis=1, keepdims=True)

    sequences = sequences_of(task, 5)
    each = np.array([oracle(case, probs_of, tuple(row.tolist())) for row in sequences])
    found = source_influence(task, model, sequences)
    there = ~np.isnan(each)
    np.testing.assert_array_equal(found.measured, there.sum(axis=0))
    mean = np.where(there, each, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    np.testing.assert_allclose(found.influence, mean, atol=1e-5)
    for cell in np.argwhere(found.measured > 1):
        some = each[(slice(None), *cell)]
        some = some[~np.isnan(some)]
        expected = some.std(ddof=1) / np.sqrt(some.size)
        assert found.stderr[tuple(cell)] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_of_some_replacements_the_influence_is_near_that_of_all():
    task = Reverse(source_length=3, letters=8)
    model = RNNBottleneckOptions(hidden_size=8).build(vocab=8, length=5, key=jr.key(0), source=3)
    sequences = sequences_of(task, 64)
    whole, some = (source_influence(task, model, sequences, most=most) for most in (None, 4))
    np.testing.assert_array_equal(some.measured, whole.measured)
    apart = np.abs(some.influence - whole.influence)
    assert 0 < apart.max() < 4 * np.nanmax(whole.stderr)
    again = source_influence(task, model, sequences, most=4)
    np.testing.assert_array_equal(again.influence, some.influence)
