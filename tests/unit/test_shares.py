"""Shares of the variance: by option, by what options do together, and by the seed."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.paired import shares_of, variance_shares
from attnlab.comparisons.summary import summarise
from attnlab.configuration.options import OptionError
from tests.unit.made_up_results import all_finished, with_training

SIGMAS = 4.5
# Hours that a battery lasts, by its material (rows) and the temperature, four each: Montgomery,
# "Design and analysis of experiments", 8th edition, table 5.1.
BATTERIES = (
    ((130, 155, 74, 180), (34, 40, 80, 75), (20, 70, 82, 58)),
    ((150, 188, 159, 126), (136, 122, 106, 115), (25, 70, 58, 45)),
    ((138, 110, 168, 160), (174, 120, 150, 139), (96, 104, 82, 60)),
)


def by_hand(table):
    """Sums of squares of two options, of both together, of the seed and of all, in fractions."""
    rows, columns, seeds = len(table), len(table[0]), len(table[0][0])
    mean = Fraction(sum(sum(map(sum, row)) for row in table), rows * columns * seeds)
    row_means = [Fraction(sum(map(sum, row)), columns * seeds) for row in table]
    column_means = [
        Fraction(sum(sum(row[j]) for row in table), rows * seeds) for j in range(columns)
    ]
    first = columns * seeds * sum((each - mean) ** 2 for each in row_means)
    second = rows * seeds * sum((each - mean) ** 2 for each in column_means)
    both = within = total = Fraction(0)
    for i, j in itertools.product(range(rows), range(columns)):
        cell = Fraction(sum(table[i][j]), seeds)
        both += seeds * (cell - row_means[i] - column_means[j] + mean) ** 2
        within += sum((value - cell) ** 2 for value in table[i][j])
        total += sum((value - mean) ** 2 for value in table[i][j])
    return first, second, both, within, total


def as_dict(shares):
    return {share.options: share.share for share in shares}


def test_the_batteries_of_the_textbook():
    """The book has 10,683.72, 39,118.72, 9,613.78 and 18,230.75 of 77,646.97."""
    *parts, total = by_hand(BATTERIES)
    book = (10_683.72, 39_118.72, 9_613.78, 18_230.75)
    assert [float(part) for part in (*parts, total)] == pytest.approx([*book, 77_646.97], abs=0.005)
    found = variance_shares(np.array(BATTERIES, dtype=float), ("material", "temperature"))
    assert [share.options for share in found] == [
        ("material",), ("temperature",), ("material", "temperature"), ()
    ]  # fmt: skip
    assert [share.share for share in found] == pytest.approx([float(p / total) for p in parts])
    assert [share.degrees for share in found] == [2, 2, 4, 27]
    assert [share.by_chance for share in found] == pytest.approx([2 / 35, 2 / 35, 4 / 35, 27 / 35])


@pytest.mark.parametrize("levels", [(2,), (2, 3), (3, 2, 4), (2, 2, 3, 2)])
def test_shares_sum_to_1_and_none_is_negative(levels):
    random = np.random.default_rng(len(levels))
    for offset in (0.0, 1e6):
        values = offset + random.normal(size=(*levels, 3))
        found = variance_shares(values, "abcd"[: len(levels)])
        assert len(found) == 2 ** len(levels)
        assert sum(share.share for share in found) == pytest.approx(1, abs=1e-9)
        assert all(share.share >= 0 for share in found)
        assert sum(share.degrees for share in found) == values.size - 1
        assert sum(share.by_chance for share in found) == pytest.approx(1)


def test_what_has_no_effect_has_no_share():
    """An additive law of a and c without noise: nothing is left for b, the seed or any two."""
    a, c = np.array([0.1, 0.7])[:, None, None, None], np.array([0.0, 0.3, 0.5])[:, None]
    found = as_dict(variance_shares(np.broadcast_to(a + c, (2, 4, 3, 5)).copy(), "abc"))
    squares = {("a",): 0.3**2, ("c",): np.var([0.0, 0.3, 0.5])}
    for options, share in found.items():
        expected = squares.get(options, 0) / sum(squares.values())
        assert share == pytest.approx(expected, abs=1e-12)


def test_what_options_do_only_together_is_theirs_together():
    """1 where two options are alike: neither matters by itself."""
    values = np.broadcast_to(np.eye(2)[:, :, None], (2, 2, 3)).copy()
    assert as_dict(variance_shares(values, "ab"))["a", "b"] == pytest.approx(1)


def test_a_spread_that_is_the_seed_s_is_called_that():
    values = np.broadcast_to(np.array([0.32, 0.5, 0.41]), (2, 4, 3)).copy()
    found = as_dict(variance_shares(values, "ab"))
    assert found[()] == pytest.approx(1)


def test_the_order_of_levels_and_seeds_does_not_matter():
    random = np.random.default_rng(0)
    values = random.normal(size=(3, 4, 5))
    before = as_dict(variance_shares(values, "ab"))
    mixed = values[random.permutation(3)][:, random.permutation(4)][:, :, random.permutation(5)]
    assert as_dict(variance_shares(mixed, "ab")) == pytest.approx(before)
    turned = as_dict(variance_shares(values.swapaxes(0, 1), "ba"))
    assert turned["b", "a"] == pytest.approx(before["a", "b"])
    assert turned["a",] == pytest.approx(before["a",])


def test_without_effects_shares_are_what_chance_makes_them():
    """On average over noise; its error is that of the mean of so many tables."""
    random = np.random.default_rng(1)
    tables = [variance_shares(random.normal(size=(2, 3, 2)), "ab") for _ in range(1_000)]
    found = np.array([[share.share for share in table] for table in tables])
    error = found.std(axis=0) / np.sqrt(len(found))
    expected = np.array([share.by_chance for share in tables[0]])
    assert (np.abs(found.mean(axis=0) - expected) < SIGMAS * error).all()


def grid_rows(cells, losses):
    """A row for each cell, whose options are a and b."""
    rows = []
    for index, (cell, values) in enumerate(zip(cells, losses, strict=True)):
        experiment = with_training(steps=index + 1)
        setting = Setting(tuple(zip("ab", cell, strict=False)), experiment)
        rows += summarise(all_finished(experiment, values), [setting], baselines=False)
    return rows


CELLS = [("x", "1"), ("x", "2"), ("x", "3"), ("y", "1"), ("y", "2"), ("y", "3")]
LOSSES = [(1, 3), (3, 5), (5, 7), (3, 5), (5, 7), (13, 15)]


def test_rows_are_put_in_their_places_whatever_their_order():
    expected = {("a",): 48 / 188, ("b",): 104 / 188, ("a", "b"): 24 / 188, (): 12 / 188}
    for order in (range(6), (3, 1, 5, 0, 4, 2)):
        rows = grid_rows([CELLS[i] for i in order], [LOSSES[i] for i in order])
        assert as_dict(shares_of(rows)) == pytest.approx(expected)
    with pytest.raises(OptionError, match=r"`figure` is 0\.5: the same in all runs"):
        shares_of(rows, "accuracy")


def test_an_option_that_is_the_same_everywhere_is_none():
    found = shares_of(grid_rows([("x", "1"), ("x", "2")], [(1, 2), (2, 4)]))
    assert [share.options for share in found] == [("b",), ()]


@pytest.mark.parametrize(
    ("cells", "losses", "words"),
    [
        (CELLS[:5], LOSSES[:5], "`settings` is 'a y, b 3': not there, so the grid is not full"),
        (CELLS, [*LOSSES[:5], (1,)], "`seeds` is 1: only this many runs of a y, b 3 are"),
        ([*CELLS[:5], ("y",)], LOSSES, "`b` is None: the setting a y has no such option"),
        ([*CELLS, CELLS[0]], [*LOSSES, (1, 2)], "`settings` is 7: only 6 of them differ"),
        (CELLS, [(1,)] * 6, "`seeds` is 1: the share of the seed cannot be computed"),
        (CELLS[:1], LOSSES[:1], "`settings` is 1: nothing differs"),
    ],
)
def test_a_grid_that_is_not_full_is_refused_in_clear_words(cells, losses, words):
    with pytest.raises(OptionError) as caught:
        shares_of(grid_rows(cells, losses))
    assert words in str(caught.value)


def test_the_p_of_an_effect_is_that_of_the_f_test():
    values = np.random.default_rng(1).normal(0, 1, (3, 4)) + np.array([[0.0], [1.0], [2.0]])
    (effect, _) = variance_shares(values, ("a",))
    assert effect.adjusted_p == pytest.approx(stats.f_oneway(*values).pvalue)
