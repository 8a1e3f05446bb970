"""What generators say of their rule; the table of `recall`; linear rules."""

import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import (
    GENERATORS,
    PROCESSES,
    Cards,
    Custom,
    HiddenMarkov,
    Markov,
    Recall,
    sample,
)


@pytest.mark.parametrize("kind", PROCESSES.values(), ids=PROCESSES)
def test_rule(kind):
    generator = kind().at_length(kind().own_length() or 10)
    assert generator.formula.count("{") == generator.formula.count("}")
    # It is free to leave out.
    assert ("=" in generator.formula) == bool(generator.formula)
    for table in generator.tables:
        assert np.shape(table.probs) == (len(table.outline.rows), len(table.outline.columns))
        np.testing.assert_allclose(np.sum(table.probs, axis=1), 1, atol=1e-9)
        assert len(set(table.outline.rows)) == len(table.outline.rows)


@pytest.mark.parametrize(
    ("generator", "number"),
    [
        (GENERATORS["ndays"](n=7), "14"),
        (GENERATORS["dotmod"](noise=0.1), "0.05"),
        (Markov(initial=(0.25, 0.25, 0.5)), "0.25"),
        (Recall(days=(2, 3)).at_length(5), "x_{6}"),
        (HiddenMarkov(initial=(0.15, 0.85)), "0.85"),
        (Cards(hand=7), "y_{7}"),
    ],
)
def test_formula_has_the_numbers(generator, number):
    assert number in generator.formula


def test_recall_rows_are_its_triples():
    generator = Recall()
    (table,) = generator.tables
    assert table.outline.rows[1] == "🌧️🌧️☁️"
    assert len(table.probs) == 27


def test_outline_of_pairs():
    outline = Custom.outline("table", {"symbols": "a b", "order": 2})
    assert outline.rows == ("a a", "a b", "b a", "b b")
    assert outline.columns == ("a", "b")


@pytest.mark.parametrize("symbols", ["a a", "a", "a b c d e f g", ""])
def test_no_outline_of_bad_symbols(symbols):
    with pytest.raises(OptionError, match="symbols"):
        Custom.outline("table", {"symbols": symbols, "order": 1})


def test_states_follow_the_first_distribution():
    values = {"initial": (0.2, 0.3, 0.5)}
    outline = HiddenMarkov.outline("showing", values)
    assert len(outline.rows) == 3
    assert outline.columns == HiddenMarkov.vocabulary.symbols


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_the_table_are_positive_tenths_that_sum_to_one(seed):
    table = Recall(table_seed=seed).table
    assert table.shape == (27, 3)
    tenths = np.round(table * 10).astype(int)
    np.testing.assert_allclose(table, tenths / 10, rtol=1e-12)
    assert tenths.min() >= 1
    assert tenths.max() <= 8
    np.testing.assert_array_equal(tenths.sum(axis=1), 10)


def test_rows_are_drawn_uniformly_from_the_thirty_six_triples():
    rows = np.concatenate([Recall(table_seed=seed).table for seed in range(400)])
    triples, counts = np.unique(np.round(rows * 10).astype(int), axis=0, return_counts=True)
    assert len(triples) == 36
    expected = len(rows) / 36
    # 10,800 draws over 36 cells: 4.5 standard deviations of each count.
    assert np.abs(counts - expected).max() < 4.5 * np.sqrt(expected * 35 / 36)


def test_the_seed_draws_the_table():
    np.testing.assert_array_equal(Recall(table_seed=3).table, Recall(table_seed=3).table)
    assert (Recall(table_seed=3).table != Recall(table_seed=4).table).any()


@pytest.mark.parametrize(
    ("variant", "independent"), [("described", (1, 4, 8)), ("published", (1, 5, 9))]
)
def test_the_independent_days_of_each_variant(variant, independent):
    generator = Recall(variant=variant)
    assert generator.independent_days == independent
    tokens = np.asarray(sample(generator, key=jr.key(2), size=40_000, length=10))
    for day in range(2, 11):
        before, today = tokens[:, day - 2], tokens[:, day - 1]
        after_rain = (today[before == 0] == 0).mean()
        # 0.3 if drawn independently and 0.6 after rain; 13,000 draws give ±0.005 or less each.
        assert after_rain == pytest.approx(0.3 if day in independent else 0.6, abs=0.02)


@pytest.mark.parametrize("length", [8, 10, 13])
def test_the_table_decides_the_day_after_the_visible_ones(length):
    generator = Recall(table_seed=1).at_length(length)
    tokens = np.asarray(sample(generator, key=jr.key(3), size=60_000, length=length + 1))
    for i, j, k in [(0, 0, 0), (1, 2, 0), (2, 1, 1)]:
        chosen = (tokens[:, [0, 3, 7]] == (i, j, k)).all(axis=1)
        shares = np.bincount(tokens[chosen, length], minlength=3) / chosen.sum()
        expected = generator.table[9 * i + 3 * j + k]
        sigma = np.sqrt(expected * (1 - expected) / chosen.sum())
        assert np.all(np.abs(shares - expected) < 4.5 * sigma)
