"""Every positional encoding: shapes, formulas, and a score encoding made from outside."""

import dataclasses
from types import MappingProxyType
from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.experiment import Experiment, from_json, to_json
from attnlab.models import AttentionOptions
from attnlab.options import OptionError, options_of
from attnlab.positions import (
    POSITIONS,
    AbstractInputPosition,
    AbstractScorePosition,
    position_table,
)
from tests.unit.model_oracles import attention_forward
from tests.unit.position_oracles import TABLES

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


@every_position
def test_a_row_for_every_position_finite_and_of_the_width(name):
    table = table_of(POSITIONS[name]())
    features = {"none": 0, "scalar": 1}.get(name, WIDTH)
    if not issubclass(POSITIONS[name], AbstractInputPosition):
        features = 0
    assert table.shape == (LENGTH, features)
    assert np.isfinite(table).all()


@every_position
def test_the_same_key_gives_the_same_table(name):
    np.testing.assert_array_equal(table_of(POSITIONS[name]()), table_of(POSITIONS[name]()))


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


@pytest.mark.parametrize("name", TABLES)
def test_a_longer_sequence_keeps_the_rows_of_a_shorter_one(name):
    short, long = (table_of(POSITIONS[name](), length=length) for length in (5, 12))
    # Sines of shapes compiled apart may differ in the last bit.
    np.testing.assert_allclose(long[:5], short, atol=1e-6)


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


def test_sinusoidal_shifts_are_rotations_of_every_pair():
    table = table_of(POSITIONS["sinusoidal"]())
    products = table @ table.T
    # cos(a)cos(b) + sin(a)sin(b) = cos(a - b): only the distance counts.
    for distance in range(LENGTH):
        diagonal = np.diagonal(products, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-5)


def test_learned_starts_at_standard_normal_entries():
    table = table_of(POSITIONS["learned"](), length=64, width=128)
    # 8,192 draws: four standard errors of mean and spread.
    assert abs(table.mean()) < 4 / np.sqrt(table.size)
    assert abs(table.std() - 1) < 4 / np.sqrt(2 * table.size)


@every_position
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0, 1e12])
def test_bad_numbers_are_refused_by_name(name, value):
    for option in options_of(POSITIONS[name]):
        with pytest.raises(OptionError, match=f"`{option}` is .*Choose a number from"):
            POSITIONS[name](**{option: value})


@dataclasses.dataclass(frozen=True)
class Distance(AbstractScorePosition):
    """A score encoding: far keys count for less, and every second day is turned around."""

    name: ClassVar[str] = "distance"
    summary: ClassVar[str] = "For this test."

    def turn(self, vectors, positions):
        return vectors * jnp.where(positions % 2 == 0, 1.0, -1.0)[:, None]

    def bias(self, queries, keys):
        return -0.5 * jnp.abs(queries[:, None] - keys[None, :]).astype(jnp.float32)


@pytest.fixture
def distance_registered():
    """`Distance` as one more line of the registry, which is frozen against accidents."""
    option = options_of(AttentionOptions)["position"]
    before = option.registry
    longer = MappingProxyType({**before, Distance.name: Distance})
    object.__setattr__(option, "registry", longer)
    yield
    object.__setattr__(option, "registry", before)


def test_a_score_encoding_works_without_a_change_to_the_model(distance_registered):
    options = AttentionOptions(d_attn=2, position=Distance(), mask="causal")
    model = options.build(vocab=3, length=5, key=jr.key(1))
    tokens = np.array([0, 2, 1, 1, 0])
    logits, trace = model(jnp.asarray(tokens), jnp.arange(5))
    turned = np.where(np.arange(5) % 2 == 0, 1.0, -1.0)[:, None]
    bias = -0.5 * np.abs(np.arange(5)[:, None] - np.arange(5))
    expected, pattern = attention_forward(
        model, tokens, positions=np.zeros((5, 0)), mask="causal", scale=2**-0.5,
        turn=turned, bias=bias,
    )  # fmt: skip
    np.testing.assert_allclose(trace.patterns[0, 0], pattern, atol=1e-6)
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_a_registered_score_encoding_travels_in_json(distance_registered):
    experiment = Experiment(model=AttentionOptions(position=Distance()))
    assert from_json(to_json(experiment)) == experiment
