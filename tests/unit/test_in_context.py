"""Processes whose rule is drawn for each sequence: published values, and laws of their own."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import (
    IN_CONTEXT,
    Bijection,
    CausalTree,
    InContextMarkov,
    Induction,
    RecallPairs,
    draw_many,
    log_predictives,
    sample,
)
from attnlab.optimum import baselines_of, optimum, own_baselines
from attnlab.testing import check_process
from tests.unit import in_context_oracles as oracles

# Losses in nats, computed by an independent program that enumerates all sequences.
CHAIN = {1: 0.6931, 2: 0.6648, 3: 0.6212, 4: 0.6043, 5: 0.5868, 8: 0.5594, 10: 0.5478, 24: 0.5144}


def test_the_floor_of_an_unknown_chain():
    found = optimum(InContextMarkov(), 24)
    assert found.exact
    for seen, nll in CHAIN.items():
        assert found.by_position[seen].nll == pytest.approx(nll, abs=6e-5)
    three = [best.nll for best in optimum(InContextMarkov(k=3), 5).by_position[1:]]
    np.testing.assert_allclose(three, [1.0986, 1.0790, 1.0477, 1.0280, 1.0112], atol=6e-5)


@pytest.mark.slow
def test_counts_of_tokens_alone():
    unigram = own_baselines(InContextMarkov(), 24)["in-context unigram"]
    found = [unigram.by_position[seen].nll for seen in (4, 10, 24)]
    np.testing.assert_allclose(found, [0.6363, 0.6000, 0.5814], atol=6e-5)
    assert unigram.exact


@pytest.mark.parametrize(
    ("process", "alpha"), [(Induction(letters=3), 1.0), (CausalTree(tree="binary"), 0.1)]
)
def test_counts_of_what_followed_the_last_token(process, alpha):
    tokens = [0, 1, 1, 0, 1, 2, 1, 0]
    process = process.at_length(len(tokens))
    belief = process.start()
    for seen in range(len(tokens)):
        row = np.exp(process.references(belief)["in-context bigram"])
        expected = oracles.counted_after_equal(tokens[:seen], 3, alpha)
        np.testing.assert_allclose(row, expected, atol=1e-6)
        belief = process.update(belief, jnp.int32(tokens[seen]))


def test_a_known_table_has_its_entropy_rate():
    grid = (np.arange(500) + 0.5) / 500
    # p(1 | 0) and p(0 | 1), with density 1, and the stationary probability of 0.
    up, down = np.meshgrid(grid, grid, indexing="ij")
    zero = down / (up + down)
    entropies = [-(p * np.log(p) + (1 - p) * np.log1p(-p)) for p in (up, down)]
    rate = (zero * entropies[0] + (1 - zero) * entropies[1]).mean()
    known = own_baselines(InContextMarkov(), 24)["rule known"].final
    # 24 tokens after a uniform one, the chain is within 0.0001 of its entropy rate.
    assert abs(known.nll - rate) < 4.5 * known.nll_stderr
    assert rate == pytest.approx(0.4809, abs=5e-5)


@pytest.mark.parametrize("first_token", ["uniform", "stationary"])
@pytest.mark.parametrize(
    ("prior", "alpha"),
    [
        ("dirichlet", 1.0),
        ("dirichlet", 0.6),
        ("doubly-stochastic", 2.5),
        ("rows-equal", 0.7),
        ("known-tables", 1.0),
    ],
)
def test_the_prediction_is_the_integral_over_a_fine_grid_of_tables(prior, alpha, first_token):
    process = InContextMarkov(prior=prior, alpha=alpha, first_token=first_token)
    tables, weights = oracles.tables_of_two(prior, alpha)
    if prior == "known-tables":
        tables, weights = process.known_tables, np.full(8, 1 / 8)
    for tokens in [(0, 1, 1, 0, 1, 1, 1, 0), (1, 1, 1, 1, 1, 0, 0, 1)]:
        rows = np.exp(log_predictives(process, jnp.array(tokens)))
        probability = [
            oracles.chain_probability(tokens[:seen], tables, weights, first_token)
            for seen in range(len(tokens) + 1)
        ]
        expected = np.divide(probability[1:], probability[:-1])
        np.testing.assert_allclose(rows[range(len(tokens)), tokens], expected, atol=2e-6)


def test_a_stationary_first_token_is_drawn_from_its_table():
    process = InContextMarkov(alpha=0.3, first_token="stationary")
    drawn = draw_many(process, key=jr.key(0), size=20_000, length=1)
    # p(leave 1) over the sum of both is the stationary probability of 0.
    leave_0, leave_1 = np.asarray(drawn.latent)[:, [0, 1], [1, 0]].T.astype(float)
    expected = leave_1 / (leave_0 + leave_1)
    gap = (np.asarray(drawn.tokens)[:, 0] == 0) - expected
    for part in (expected < 0.5, expected > 0.5):
        assert abs(gap[part].mean()) < 4.5 * gap[part].std() / np.sqrt(part.sum())


@pytest.mark.parametrize(
    ("tree", "length", "nll"),
    [
        (CausalTree(tree="given"), 6, 0.7032),
        (CausalTree(tree="given", alpha=1.0), 6, 1.0375),
        (CausalTree(), 7, 0.6436),
        (CausalTree(alpha=1.0), 7, 1.0236),
        (CausalTree(), 9, 0.6111),
        (CausalTree(tree="pairs"), 9, 0.5987),
        (CausalTree(alpha=1.0), 9, 1.0051),
        (CausalTree(tree="pairs", alpha=1.0), 9, 1.0331),
    ],
)
def test_the_floor_of_a_causal_tree(tree, length, nll):
    assert optimum(tree, length).final.nll == pytest.approx(nll, abs=6e-5)


@pytest.mark.parametrize(("inputs", "nll"), [(8, 1.3256), (20, 2.1168)])
def test_the_mean_floor_of_a_bijection(inputs, nll):
    found = optimum(Bijection(inputs=inputs), 2 * inputs - 1)
    assert found.final.nll == pytest.approx(nll, abs=6e-5)
    assert found.exact


@pytest.mark.parametrize("process", IN_CONTEXT.values())
def test_sequences_of_256_tokens_are_drawn(process):
    drawn = sample(process().at_length(255), key=jr.key(0), size=2, length=256)
    assert drawn.shape == (2, 256)
    assert 0 <= drawn.min() <= drawn.max() < process().vocabulary.size


def test_a_known_pair_is_certain_in_the_second_round():
    found = optimum(Bijection(inputs=3), 11).by_position
    assert [best.nll for best in found[7::2]] == [0, 0, 0]


@pytest.mark.slow
def test_recall_with_two_places_holds_the_laws():
    check_process(
        RecallPairs(pairs=1, keys=1, values=2).at_length(6),
        length=7,
        joint=lambda length: oracles.recalled_law(1, 1, 2, length),
        draws=5_000,
    )


def test_recall_of_two_pairs_has_the_law_of_all_draws():
    process, length = RecallPairs(pairs=2, keys=3, values=2).at_length(11), 12
    law = oracles.recalled(2, 3, 2, length)
    assert sum(law.values()) == pytest.approx(1)
    tokens = jnp.array(list(law))
    rows = jax.vmap(lambda one: log_predictives(process, one))(tokens)
    chosen = jnp.take_along_axis(rows, tokens[:, :, None], axis=2).sum(axis=(1, 2))
    np.testing.assert_allclose(np.exp(chosen), list(law.values()), rtol=1e-4)
    drawn = sample(process, key=jr.key(0), size=500, length=length)
    assert {tuple(row) for row in drawn.tolist()} <= law.keys()


@pytest.mark.slow
def test_own_baselines_come_between_uniform_and_optimal():
    baselines = {each.name: each.best for each in baselines_of(RecallPairs(), 15)}
    assert baselines["optimal"].nll == 0
    assert baselines["any value"].nll == pytest.approx(np.log(8), abs=1e-5)
    assert 0 < baselines["in-context unigram"].nll <= np.log(2)
    rule = own_baselines(CausalTree(), 6)["rule known"].final
    # E[H(row)] for Dirichlet(α) rows is ψ(kα + 1) - ψ(α + 1).
    assert abs(rule.nll - 0.2546) < 4.5 * rule.nll_stderr


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: InContextMarkov(k=3, first_token="stationary"),
            "`first_token` is 'stationary': no exact prediction is known for 3 tokens",
        ),
        (lambda: InContextMarkov(alpha=0.2, first_token="stationary"), "`alpha` is 0.2: too small"),
        (lambda: RecallPairs(pairs=3, keys=2), "`pairs` is 3: there are only 2 `keys`"),
        (lambda: RecallPairs(pairs=4).at_length(14), "`length` is 14: 4 pairs"),
        (lambda: CausalTree(parents=(0, 2)), r"`parents` is \(0, 2\): the parent of token 2"),
        (lambda: CausalTree(tree="given").at_length(7), "`length` is 7: 5 `parents`"),
    ],
)
def test_options_that_do_not_fit_together_are_rejected(make, message):
    with pytest.raises(OptionError, match=message):
        make()
