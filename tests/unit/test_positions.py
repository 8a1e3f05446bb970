"""Every positional encoding: shapes, formulas, and a score encoding made from outside."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.positions import (
    POSITIONS,
    AbstractInputPosition,
    AbstractScorePosition,
    position_table,
)
from tests.unit.position_oracles import SCORES, TABLES, alibi, rotary

LENGTH, WIDTH = 9, 6

# Encodings that give features; `none` and score encodings have none to tell positions apart by.
WITH_FEATURES = [
    name
    for name, kind in POSITIONS.items()
    if issubclass(kind, AbstractInputPosition) and name != "none"
]

every_position = pytest.mark.parametrize("name", POSITIONS)


def table_of(position, *, length=LENGTH, width=WIDTH, seed=0):
    return np.asarray(position_table(position, length=length, width=width, key=jr.key(seed)))


def test_every_registered_encoding_has_an_oracle():
    assert set(POSITIONS) == {*TABLES, *SCORES, "learned"}


@every_position
def test_only_trainable_tables_use_the_key(name):
    one, other = table_of(POSITIONS[name](), seed=0), table_of(POSITIONS[name](), seed=1)
    assert np.array_equal(one, other) != getattr(POSITIONS[name], "trainable", False)


@pytest.mark.parametrize("name", WITH_FEATURES)
@pytest.mark.parametrize("length", [2, 64])
def test_no_two_positions_look_alike(name, length):
    table = table_of(POSITIONS[name](), length=length)
    apart = np.abs(table[:, None] - table[None, :]).max(axis=2) + np.eye(length)
    assert apart.min() > 1e-3


@pytest.mark.parametrize("width", [2, 5, 6, 8])
@pytest.mark.parametrize("name", TABLES)
def test_fixed_encodings_follow_their_formulas(name, width):
    table = table_of(POSITIONS[name](), length=20, width=width)
    # Angles up to 20 in float32 are off by up to 2e-6.
    np.testing.assert_allclose(table, TABLES[name](20, width), atol=5e-6)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("scalar", "period", 7.0), ("sinusoidal", "base", 50.0), ("blog-described", "base", 9.0),
     ("blog-published", "base", 300.0)],
)  # fmt: skip
def test_the_option_of_an_encoding_reaches_its_formula(name, option, value):
    table = table_of(POSITIONS[name](**{option: value}))
    np.testing.assert_allclose(table, TABLES[name](LENGTH, WIDTH, value), atol=5e-6)


def test_learned_starts_at_standard_normal_entries():
    table = table_of(POSITIONS["learned"](), length=64, width=128)
    # 8,192 draws: four standard errors of mean and spread.
    assert abs(table.mean()) < 4 / np.sqrt(table.size)
    assert abs(table.std() - 1) < 4 / np.sqrt(2 * table.size)


@every_position
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0, 1e12])
def test_bad_numbers_are_refused_by_name(name, value):
    for option in options_of(POSITIONS[name]):
        if isinstance(default_of(POSITIONS[name], option), float):
            with pytest.raises(OptionError, match=f"`{option}` is .*Choose a number from"):
                POSITIONS[name](**{option: value})


SCORE_ENCODINGS = [
    name for name, kind in POSITIONS.items() if issubclass(kind, AbstractScorePosition)
]


def rows_of(seed, *, rows=7, width=WIDTH):
    return jr.normal(jr.key(seed), (rows, width))


def test_every_score_encoding_has_its_oracle():
    assert set(SCORE_ENCODINGS) == set(SCORES)


@pytest.mark.parametrize("base", [10_000.0, 7.0])
@pytest.mark.parametrize("width", [1, 2, 3, 6, 7])
def test_rotary_turns_pairs_as_complex_numbers_turn(width, base):
    rows = rows_of(1, width=width)
    turned = POSITIONS["rotary"](base=base).turn(rows, jnp.arange(7))
    np.testing.assert_allclose(turned, rotary(rows, base), atol=1e-5)
    if width % 2:
        np.testing.assert_array_equal(turned[:, -1], rows[:, -1])


@pytest.mark.parametrize("width", [1, 2, 5, 8])
@pytest.mark.parametrize("name", SCORE_ENCODINGS)
def test_scores_depend_on_the_distance_alone(name, width):
    """One query and one key, met anywhere: the score is that of their distance."""
    position, days = POSITIONS[name](), jnp.arange(60)
    query, key = (jnp.tile(rows_of(seed, rows=1, width=width), (60, 1)) for seed in (3, 4))
    scores = position.turn(query, days) @ position.turn(key, days).T + position.bias(days, days)
    for distance in range(-59, 60):
        met = np.diagonal(scores, distance)
        # Angles up to 60 in float32 are off by 4e-6, times lengths of about 3.
        np.testing.assert_allclose(met, met[0], atol=1e-4)
    # With one component there is no pair to turn.
    assert (np.ptp(np.asarray(scores)) < 1e-6) == (name == "rotary" and width == 1)


@pytest.mark.parametrize("slope", [0.5, 0.004])
def test_alibi_falls_in_proportion_to_the_distance(slope):
    position, days = POSITIONS["alibi"](slope=slope), jnp.arange(9)
    bias = np.asarray(position.bias(days, days))
    np.testing.assert_allclose(bias, alibi(9, slope), atol=1e-6)
    np.testing.assert_allclose(np.diff(bias[0]), -slope, rtol=1e-4)
    np.testing.assert_array_equal(bias, bias.T)
    rows = rows_of(5)
    np.testing.assert_array_equal(position.turn(rows, jnp.arange(7)), rows)


@pytest.mark.parametrize("name", SCORE_ENCODINGS)
def test_some_positions_are_those_of_all(name):
    """A model that reads out one day turns that day alone."""
    position, rows, some = POSITIONS[name](), rows_of(7), jnp.array([6, 2])
    whole = position.turn(rows, jnp.arange(7))
    np.testing.assert_allclose(position.turn(rows[some], some), whole[some], atol=1e-6)
    whole = position.bias(jnp.arange(7), jnp.arange(7))
    np.testing.assert_allclose(position.bias(some, jnp.arange(7)), whole[some], atol=1e-6)
