"""Every generator knows its own probabilities, and draws from them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import GENERATORS, continue_sequence, log_predictives, sample
from tests.unit.process_cases import CASES
from tests.unit.process_oracles import all_sequences, predictives

DAYS = 5
# Largest deviation of any cell of a table of frequencies, in its standard deviations. Over some
# thousand cells in all, a right sampler exceeds it for about one key in a hundred.
SIGMAS = 4.5
# Cells with fewer expected draws are far from normal, and are counted together.
FEW = 25

every_case = pytest.mark.parametrize("name", CASES)
# Where every case compiles its own programs, the first of each generator stands for all.
FIRST = {type(case.generator): name for name, case in reversed(CASES.items())}
one_case_each = pytest.mark.parametrize("name", sorted(FIRST.values()))


@pytest.fixture(scope="module")
def tables():
    """log p of the next day after the beginnings of all sequences: [days][t][weather]."""
    tokens = jnp.asarray(all_sequences(DAYS))
    found = {}

    def table(name):
        if name not in found:
            rows = jax.vmap(lambda row: log_predictives(CASES[name].generator, row))(tokens)
            found[name] = np.asarray(rows, dtype=np.float64).reshape((3,) * DAYS + (DAYS, 3))
        return found[name]

    return table


def rows_after_possible_days(name, table):
    """(predicted, expected) pairs of p(next day), for every day and every possible past."""
    for t, expected in enumerate(predictives(CASES[name].joint(DAYS))):
        predicted = table[(slice(None),) * t + (0,) * (DAYS - t) + (t,)]
        # What is predicted after an impossible past is not defined.
        possible = np.isfinite(expected).all(axis=-1)
        yield predicted[possible], expected[possible]


def joint_of(table):
    """p(sequence) of every sequence as the product of its predictions, up to an impossible one."""
    joint = np.ones((3,) * DAYS)
    for days in np.ndindex(joint.shape):
        for t in range(DAYS):
            joint[days] *= np.exp(table[days][t, days[t]])
            if joint[days] == 0:
                break
    return joint


def assert_frequencies(counts, probabilities):
    """Counts of independent draws lie within `SIGMAS` of their expectation in every cell."""
    size = counts.sum()
    assert counts[probabilities < 1e-15].sum() == 0
    rare = size * probabilities < FEW
    counts = np.append(counts[~rare], counts[rare].sum())
    probabilities = np.append(probabilities[~rare], probabilities[rare].sum())
    spread = np.sqrt(size * probabilities * (1 - probabilities))
    # The one term allows for the skew of a pool that is itself rare.
    assert np.all(np.abs(counts - size * probabilities) <= SIGMAS * spread + 1)


def count(tokens):
    """How often each sequence was drawn, indexed by its days."""
    counts = np.zeros((3,) * tokens.shape[1])
    np.add.at(counts, tuple(np.asarray(tokens).T), 1)
    return counts


def drawn(name, seed):
    """Many sequences; of one size, so that every case has one program."""
    return sample(CASES[name].generator, key=jr.key(seed), size=60_000, length=4)


def test_every_registered_generator_has_a_case():
    assert {type(case.generator) for case in CASES.values()} == set(GENERATORS.values())


@every_case
def test_predictions_are_normalised_distributions(name, tables):
    for predicted, _ in rows_after_possible_days(name, tables(name)):
        # float32 logarithms near 1 resolve probabilities to about 1e-7.
        np.testing.assert_allclose(np.exp(predicted).sum(axis=-1), 1, atol=2e-6)


@every_case
def test_probabilities_of_all_sequences_agree_with_enumeration(name, tables):
    joint = joint_of(tables(name))
    assert joint.sum() == pytest.approx(1, abs=1e-5)
    # Five factors, each with a float32 rounding of its logarithm.
    np.testing.assert_allclose(joint, CASES[name].joint(DAYS), rtol=2e-5, atol=1e-9)


@every_case
def test_every_prediction_agrees_with_enumeration(name, tables):
    for predicted, expected in rows_after_possible_days(name, tables(name)):
        np.testing.assert_allclose(np.exp(predicted), expected, atol=2e-6)


@every_case
def test_impossible_is_minus_infinity(name, tables):
    for predicted, expected in rows_after_possible_days(name, tables(name)):
        np.testing.assert_array_equal(np.isneginf(predicted), np.abs(expected) < 1e-12)


@every_case
def test_a_prediction_does_not_see_its_own_or_later_days(name, tables):
    table = tables(name)
    for t in range(DAYS):
        row = table[..., t, :]
        same_past = row[(slice(None),) * t + (slice(0, 1),) * (DAYS - t)]
        np.testing.assert_array_equal(row, np.broadcast_to(same_past, row.shape))


@one_case_each
def test_compiled_and_not_compiled_agree(name, tables):
    days = (2, 0, 1, 1, 0)
    with jax.disable_jit():
        plain = log_predictives(CASES[name].generator, jnp.array(days))
    # Fused float32 operations may round the last bit differently.
    np.testing.assert_allclose(plain, tables(name)[days], rtol=1e-6, atol=1e-6)


@every_case
def test_sampled_frequencies_are_the_probabilities(name):
    tokens = drawn(name, 13)
    assert tokens.shape == (60_000, 4)
    assert_frequencies(count(tokens), CASES[name].joint(4))


@one_case_each
def test_continuations_follow_what_was_seen(name):
    joint = CASES[name].joint(DAYS)
    seen = np.unravel_index(joint.sum(axis=(3, 4)).argmax(), (3, 3, 3))
    tokens = continue_sequence(
        CASES[name].generator, jnp.array(seen), key=jr.key(12), size=40_000, days=2
    )
    assert_frequencies(count(tokens), joint[seen] / joint[seen].sum())


@one_case_each
def test_the_same_key_draws_the_same_and_another_key_differs(name):
    first, again, other = (np.asarray(drawn(name, seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.min() >= 0
    assert first.max() < CASES[name].generator.vocabulary.size
