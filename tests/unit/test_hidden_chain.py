"""Hidden Markov processes: floors of the literature, entropy rates, and what is refused."""

import dataclasses
import itertools
import re

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.numerics import key_of
from attnlab.configuration.options import OptionError, options_of
from attnlab.configuration.records import from_record
from attnlab.generators import (
    CHAINS,
    Even,
    GoldenMean,
    HiddenChain,
    LeakyRandomRandomXor,
    Mess3,
    Parentheses,
    ProductChain,
    RandomRandomXor,
    SimpleNonunifilar,
    ZeroOneRandom,
    as_hidden_chain,
    beliefs,
    noisy,
    product,
    sample,
)
from attnlab.optimum import entropy_rate, optimum

# The least loss of each token in nats, computed twice by independent programs in float64.
FLOORS = {
    GoldenMean(): (0.6365, 0.4621, 0.4621),
    Even(): (
        0.6365, 0.6059, 0.5493, 0.5340, 0.5057, 0.4981, 0.4839, 0.4801, 0.4730, 0.4711, 0.4675,
    ),
    ZeroOneRandom(): (0.6931, 0.6365, 0.4621, 0.2310, 0.2310),
    RandomRandomXor(): (
        0.6931, 0.6931, 0.6365, 0.6285, 0.5987, 0.5776, 0.5615, 0.5398, 0.5269, 0.5158, 0.5033,
        0.4963, 0.4900, 0.4833,
    ),
    LeakyRandomRandomXor(): (0.6931, 0.6931, 0.6646, 0.6628, 0.6601, 0.6531, 0.6513),
    Mess3(): (1.0986, 0.8577, 0.8134, 0.7981, 0.7947, 0.7938, 0.7935),
    Mess3(x=0.15, a=0.6): (1.0986, 1.0911, 1.0894, 1.0890),
    SimpleNonunifilar(): (0.5623, 0.4774, 0.4714, 0.4702, 0.4700, 0.4699),
    Parentheses(): (0.6931, 0.6616, 0.6593, 0.6477, 0.6340, 0.6237),
}  # fmt: skip


@pytest.mark.parametrize("process", FLOORS, ids=lambda process: process.name)
def test_the_floors_are_those_of_the_literature(process):
    found = optimum(process, len(FLOORS[process]) - 1)
    assert found.exact
    np.testing.assert_allclose(
        [best.nll for best in found.by_position], FLOORS[process], atol=5.1e-5
    )


@pytest.mark.parametrize(
    ("process", "rate"),
    [
        # From a known state the next bit is fair in state "any bit" (2/3 of the time), else known.
        (GoldenMean(), 2 / 3 * np.log(2)),
        (Even(), 2 / 3 * np.log(2)),
        # One bit in three is random.
        (ZeroOneRandom(), np.log(2) / 3),
        # Two bits in three are random.
        (RandomRandomXor(), 2 / 3 * np.log(2)),
        (Mess3(), 0.7935),
        (HiddenChain(symbols="a b", initial=(1.0,), table=((0.25, 0.75),)), 0.56233514),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_the_entropy_rate_lies_between_its_bounds(process, rate):
    found = entropy_rate(process)
    assert found.low - 5.1e-5 <= rate <= found.high + 5.1e-5
    assert found.high - found.low < 0.01
    # The floor after any past is above the rate.
    assert optimum(process, 6).final.nll >= found.low - 1e-6


@pytest.mark.parametrize("name", CHAINS)
def test_a_named_process_and_its_table_are_the_same_process(name):
    process = CHAINS[name]()
    table = as_hidden_chain(process)
    for length in (1, 5):
        ours, theirs = optimum(process, length).final, optimum(table, length).final
        assert ours.nll == pytest.approx(theirs.nll, abs=1e-6)
        assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-6)
    assert process.is_stationary()
    assert table.is_stationary()


def test_the_belief_is_the_distribution_of_the_state_given_the_past():
    """Bayes' rule over hidden paths, for one sequence that can come about in many ways."""
    process, tokens = SimpleNonunifilar(p=0.3, q=0.6), np.array([0, 0, 1, 0])
    moves = {(0, 0, 0): 0.7, (0, 0, 1): 0.3, (1, 0, 1): 0.4, (1, 1, 0): 0.6}
    found = np.exp(beliefs(process, jnp.asarray(tokens)))
    assert found.shape == (5, 2)
    for seen in range(5):
        weight = np.zeros(2)
        for path in itertools.product(range(2), repeat=seen + 1):
            # p(A) = q / (p + q) in the long run.
            chance = (2 / 3, 1 / 3)[path[0]]
            for before, token, after in zip(path, tokens, path[1:], strict=False):
                chance *= moves.get((before, int(token), after), 0.0)
            weight[path[-1]] += chance
        np.testing.assert_allclose(found[seen], weight / weight.sum(), atol=1e-6)


def test_noise_makes_tokens_uniform_and_a_product_adds_entropies():
    clean = Even(p=0.4)
    assert noisy(clean, 0.0).transitions == pytest.approx(clean.transitions)
    noise = dataclasses.replace(clean, noise=1.0)
    assert optimum(noise, 4).final.nll == pytest.approx(np.log(2), abs=1e-6)
    assert entropy_rate(noise).low == pytest.approx(np.log(2))
    once = dataclasses.replace(clean, noise=0.2)
    # A token stays with probability 0.8 · 0.7, apart from being drawn again.
    twice = noisy(once, 0.3).transitions
    assert twice == pytest.approx(dataclasses.replace(clean, noise=0.44).noisy_transitions)
    one, other = Mess3(), GoldenMean(p=0.3)
    both = product(one, other)
    assert both.vocabulary.symbols == ("A0", "A1", "B0", "B1", "C0", "C1")
    for length in (0, 3):
        found = optimum(both, length + 1).by_position[length].nll
        parts = [optimum(part, length + 1).by_position[length].nll for part in (one, other)]
        assert found == pytest.approx(sum(parts), abs=1e-6)


def test_a_sampled_floor_is_within_its_error_of_the_block_entropies():
    """H(token t | past) = H(t + 1 tokens) - H(t tokens), over all texts in float64."""
    rows = np.random.default_rng(7).dirichlet(np.ones(9), 3)
    chain = HiddenChain(
        symbols="a b c", initial=(0.7, 0.2, 0.1), first_state="given", table=tuple(map(tuple, rows))
    )
    # T[x, i, j] from rows that are ordered by symbol, then by next state.
    moves = rows.reshape(3, 3, 3).swapaxes(0, 1)
    forward, entropies = np.array([[0.7, 0.2, 0.1]]), [0.0]
    for _ in range(7):
        forward = np.einsum("si,xij->sxj", forward, moves).reshape(-1, 3)
        probs = forward.sum(axis=1)
        entropies.append(-(probs * np.log(probs)).sum())
    # One belief at most, so that the floor is sampled.
    found = optimum(chain, 6, most=1)
    assert not found.exact
    errors = np.array([best.nll_stderr for best in found.by_position])
    assert 0 < errors[1:].min() < errors.max() < 2e-3
    missed = np.array([best.nll for best in found.by_position]) - np.diff(entropies)
    # Rounding, where all sequences have one prediction.
    assert (np.abs(missed) < 4 * errors + 1e-6).all()


HALVES = (0.5, 0.5)


def test_a_product_that_is_too_large_is_refused():
    with pytest.raises(OptionError, match="`initial`"):
        product(RandomRandomXor(), Mess3())


def test_two_processes_of_one_period_are_independent_in_their_product():
    """Each has three phases, so that pairs of them fall into three closed classes."""
    both = ProductChain(first="z1r", second="rrxor")
    found = optimum(both, 3).by_position
    for length, pair in enumerate(found):
        parts = [
            optimum(part, 3).by_position[length] for part in (ZeroOneRandom(), RandomRandomXor())
        ]
        assert pair.nll == pytest.approx(sum(part.nll for part in parts), abs=1e-6)
    assert both.is_stationary()
    assert len(both.hidden_states) == 15


def test_noise_is_the_last_argument_and_zero_in_old_files():
    assert [*options_of(Mess3)] == ["x", "a", "noise"]
    assert Mess3(0.1, 0.6) == Mess3(x=0.1, a=0.6, noise=0.0)
    record = {"name": "mess3", "x": 0.1, "a": 0.6}
    assert from_record(CHAINS, record, option_name="generator") == Mess3(0.1, 0.6)


def test_unreachable_states_and_several_stationary_distributions_are_reported():
    apart = HiddenChain(table=((0.5, 0.0, 0.5, 0.0), (0.0, 1.0, 0.0, 0.0)))
    (finding,) = apart.findings(5)
    assert finding.option == "table"
    assert "2 stationary distributions" in finding.text
    np.testing.assert_allclose(apart.first_probs, HALVES)
    left = HiddenChain(table=((0.5, 0.0, 0.5, 0.0), (0.25, 0.0, 0.25, 0.5)))
    (finding,) = left.findings(5)
    assert finding.text.endswith("state 2.")
    given = dataclasses.replace(left, first_state="given")
    assert not given.is_stationary()
    assert not list(given.findings(5))


def test_twelve_states_that_show_alike_are_stationary_from_any_start():
    """Every state emits with the same probabilities, so no output says which state it was."""
    draw = np.random.default_rng(1).dirichlet(np.ones(12), 12)
    table = tuple(map(tuple, np.hstack([0.25 * draw, 0.75 * draw]).tolist()))
    start = (1.0, *[0.0] * 11)
    chain = HiddenChain(symbols="a b", first_state="given", initial=start, table=table)
    assert chain.is_stationary()
    shown = np.hstack([np.diag([1.0, *[0.5] * 11]) @ draw, np.diag([0.0, *[0.5] * 11]) @ draw])
    table = tuple(map(tuple, shown.tolist()))
    assert not dataclasses.replace(chain, table=table).is_stationary()
    assert dataclasses.replace(chain, table=table, first_state="stationary").is_stationary()


def test_sequences_of_the_even_process_have_even_blocks():
    """The longest blocks of ones inside a sequence, counted in text."""
    tokens = np.asarray(sample(Even(), key=key_of(3), size=50, length=40))
    texts = ["".join(map(str, row)) for row in tokens]
    inside = [block for text in texts for block in re.findall("(?<=0)1+(?=0)", text)]
    assert len(inside) > 100
    assert all(len(block) % 2 == 0 for block in inside)
