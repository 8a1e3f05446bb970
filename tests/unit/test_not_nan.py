"""Every process at the bounds of its options: no NaN, no warning, and the laws of exact oracles."""

import dataclasses
from contextlib import suppress
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.generators import (
    PROCESSES,
    AbstractHiddenChain,
    Bijection,
    Custom,
    HiddenChain,
    HiddenMarkov,
    InContextMarkov,
    Induction,
    Markov,
    draw_many,
)
from attnlab.optimum import baselines_of, entropy_rate, optimum
from attnlab.optimum.sequences import predictives
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import feasibility
from attnlab.training.loop import NO_TESTS, evaluate_state, train
from tests.unit.small_experiments import SMALL

# Where the law has zeros: each token only after some, states that are never reached or left.
WITH_ZEROS = (
    Custom(symbols="a b", order=2, table=((0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0))),
    Markov(initial=(1.0, 0.0, 0.0), transition=((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0))),
    HiddenMarkov(
        initial=(1.0, 0.0),
        moving=((1.0, 0.0), (0.0, 1.0)),
        showing=((0.5, 0.5, 0.0), (0.0, 0.0, 1.0)),
    ),
    HiddenChain(
        first_state="given", initial=(1.0, 0.0), table=((0.0, 0.5, 0.0, 0.5), (0.0, 1.0, 0.0, 0.0))
    ),
    InContextMarkov(k=4, alpha=0.1, prior="rows-equal", first_token="stationary"),
    InContextMarkov(k=2, alpha=10.0, first_token="stationary"),
)
# Large tables, whose distribution is found in seconds, and long sequences.
SLOW = {("ndays", "n"), ("dotmod", "n"), ("recall-pairs", "pairs")}
# More beliefs are estimated from a sample.
FEW = 300


def at_bounds(kind):
    """The process with each option at each of its bounds or choices, at a short length."""
    found = [kind(), *(process for process in WITH_ZEROS if type(process) is kind)]
    for name, spec in options_of(kind).items():
        values = spec.choices or (() if spec.low is None else spec.bounds)
        for value in values[:1] if (kind.name, name) in SLOW else values:
            with suppress(OptionError):
                found.append(kind(**{name: type(default_of(kind, name))(value)}))
    for process in found:
        length = process.own_length() or max(3, process.shortest_length())
        if length < 20:
            yield process.at_length(length), length


every_kind = pytest.mark.parametrize("kind", PROCESSES.values(), ids=lambda kind: kind.name)


@pytest.mark.slow
@every_kind
def test_laws_are_numbers_after_any_past_and_draws_are_possible(kind):
    for process, length in at_bounds(kind):
        vocab = process.vocabulary.size
        pasts = np.random.default_rng(3).integers(vocab, size=(60, length + 1))
        rows = predictives(process, pasts)
        assert ((rows >= 0) & (rows <= 1 + 1e-5)).all(), process
        # As many of the same length, for which the program is compiled.
        drawn = draw_many(process, key=jr.key(1), size=60, length=length + 1)
        rows = predictives(process, np.asarray(drawn.tokens))[:, :-1]
        assert np.take_along_axis(rows, np.asarray(drawn.tokens)[..., None], axis=2).all(), process
        np.testing.assert_allclose(rows.sum(axis=2), 1, atol=5e-6, err_msg=str(process))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(drawn.latent)), process


@pytest.mark.slow
@every_kind
def test_optimum_baselines_and_verdict_give_no_warning(kind):
    """Warnings are errors in all tests."""
    for process, length in at_bounds(kind):
        found = [*optimum(process, length, FEW).by_position, optimum(process, length, FEW).final]
        found += [baseline.best for baseline in baselines_of(process, length, FEW)]
        assert np.isfinite([(best.nll, best.accuracy) for best in found]).all(), process
        # A task may have too few sources to hold some out.
        with suppress(OptionError):
            feasibility(dataclasses.replace(SMALL, generator=process, length=length), FEW)
        if isinstance(process, AbstractHiddenChain):
            rate = entropy_rate(process)
            assert 0 <= rate.low <= rate.high + 1e-9 <= np.log(process.vocabulary.size) + 2e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "process",
    [WITH_ZEROS[0], WITH_ZEROS[3], Bijection(inputs=2), Induction(letters=2)],
    ids=lambda process: process.name,
)
def test_a_model_is_trained_and_tested_without_a_nan(process):
    training = dataclasses.replace(SMALL.training, steps=3)
    experiment = Experiment(process, length=4, model=SMALL.model, training=training)
    with jax.debug_nans(True):
        optimum(process, 4)
        setup = prepare(experiment)
        *_, last = train(experiment, setup)
        found = evaluate_state(last.state, setup, training, NO_TESTS).evaluation
    assert np.isfinite(found[:6]).all()


def tiny_tables(first_token, **options):
    """Processes with known tables that have numbers below the smallest of float32."""
    for seed in range(300):
        process = InContextMarkov(
            alpha=0.1, prior="known-tables", table_seed=seed, first_token=first_token, **options
        )
        size = process.table_count, process.k
        exact = np.random.default_rng(seed).dirichlet(np.full(process.k, 0.1), size=size)
        if exact.min() < np.finfo(np.float32).tiny:
            yield process


def stationary_exactly(table):
    """The stationary distribution, by Gaussian elimination of rational numbers."""
    size = len(table)
    exact = [[Fraction(float(number)) for number in row] for row in table]
    rows = [[exact[j][i] for j in range(size)] + [Fraction(0)] for i in range(size)]
    for i in range(size):
        rows[i][i] = -sum(exact[i][j] for j in range(size) if j != i)
    rows[-1] = [Fraction(1)] * (size + 1)
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [number / rows[i][i] for number in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [float(row[-1]) for row in rows]


def exact_rows(tables, first, tokens):
    """p(next token | past) before each token and after the last, table by table in float64."""
    log_weight, rows = np.full(len(tables), 0.0), [first.mean(axis=0)]
    with np.errstate(divide="ignore"):
        for past, token in enumerate(tokens):
            before = first if past == 0 else tables[:, tokens[past - 1]]
            log_weight = log_weight + np.log(before[:, token])
            weight = np.exp(log_weight - log_weight.max())
            rows.append(weight @ tables[:, token] / weight.sum())
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(("first_token", "k"), [("uniform", 8), ("stationary", 4)])
def test_known_tables_with_tiny_numbers_have_the_law_of_an_exact_mixture(first_token, k):
    processes = list(tiny_tables(first_token, k=k, table_count=64))
    assert len(processes) > 10
    for process in processes[:4]:
        tables = process.known_tables
        first = np.full((64, k), 1 / k)
        if first_token == "stationary":
            first = np.array([stationary_exactly(table) for table in tables])
        drawn = draw_many(process, key=jr.key(2), size=10, length=12)
        # What is drawn from is what is predicted with.
        assert all((table == tables).all(axis=(1, 2)).any() for table in np.asarray(drawn.latent))
        unlikely = np.random.default_rng(1).integers(k, size=(10, 12))
        for tokens in (*np.asarray(drawn.tokens), *unlikely):
            rows = predictives(process, tokens[None])[0]
            np.testing.assert_allclose(rows, exact_rows(tables, first, tokens), atol=2e-5)
    # Outside a compiled program too.
    belief = process.update(process.update(process.start(), jnp.int32(0)), jnp.int32(1))
    assert np.isfinite(process.log_probs(belief)).all()


def test_the_floor_of_known_tables_with_tiny_numbers_is_that_of_the_exact_mixture():
    process = InContextMarkov(k=8, alpha=0.1, prior="known-tables", table_count=64, table_seed=5)
    tables = np.random.default_rng(5).dirichlet(np.full(8, 0.1), size=(64, 8))
    joint = np.einsum("mab,mbc,mcd->abcd", tables, tables, tables) / (64 * 8)
    past = joint.sum(axis=3, keepdims=True)
    floor = -np.nansum(np.where(joint > 0, joint * np.log(np.where(joint > 0, joint / past, 1)), 0))
    assert floor == pytest.approx(1.449071, abs=1e-6)
    assert optimum(process, 3).final.nll == pytest.approx(floor, abs=1e-5)
