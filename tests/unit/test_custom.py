"""`custom`: a user's own symbols and table; what is refused, and what is kept."""

import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Custom, sample
from attnlab.optimum import next_token, optimum
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import CYCLE, PAIRS

pytestmark = pytest.mark.usefixtures("as_users_run")

HALVES = (0.5, 0.5)
NAN = float("nan")

BAD = {
    "negative": {"table": (HALVES, (1.5, -0.5))},
    "sum": {"table": (HALVES, (0.5, 0.4))},
    "nan": {"table": (HALVES, (NAN, 0.5))},
    "one-row": {"table": (HALVES,)},
    "three-rows": {"table": (HALVES, HALVES, HALVES)},
    "nothing": {"table": None},
    "rows-for-order-1": {"table": (HALVES, HALVES), "order": 2},
}
BAD_SYMBOLS = {
    "repeated": "a b a",
    "repeated-but-for-the-emoji-form": "☁ ☁️ ☀️",
    "one": "a",
    "none": "",
    "not-a-text": 3,
    "invisible": "a \N{VARIATION SELECTOR-16}",
}


def uniform(size):
    return ((1 / size,) * size,) * size


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_by_name(name):
    with pytest.raises(OptionError) as refusal:
        Custom(**{"symbols": "a b", **BAD[name]})
    assert refusal.value.name.split()[0] == "table"
    assert str(refusal.value).startswith("`table")


@pytest.mark.parametrize("name", BAD_SYMBOLS)
def test_bad_symbols_are_refused_by_name(name):
    with pytest.raises(OptionError) as refusal:
        Custom(symbols=BAD_SYMBOLS[name], table=uniform(3))
    assert refusal.value.name == "symbols"


@pytest.mark.parametrize("order", [0, 3, 1.5, True, NAN])
def test_bad_orders_are_refused_by_name(order):
    with pytest.raises(OptionError, match="`order` is"):
        Custom(order=order)


@pytest.mark.parametrize(
    "symbols", ["👩‍🚀 🌧️ ☀️", "🇫🇷 🇩🇪 🇮🇹 🇪🇸", "high low", "👍🏽 👍", "1 2 3 4 5 6", "é è ê"]
)
def test_symbols_may_be_of_several_code_points(symbols):
    written = tuple(symbols.split())
    generator = Custom(symbols=symbols, table=uniform(len(written)))
    vocabulary = generator.vocabulary
    assert vocabulary.symbols == written
    assert vocabulary.size == len(written)
    days = tuple(range(len(written)))[::-1]
    assert vocabulary.parse(" ".join(vocabulary.symbols[day] for day in days)) == days
    assert vocabulary.render(days).replace(" ", "") == "".join(reversed(written))
    tokens = np.asarray(sample(generator, key=jr.key(0), size=300, length=4))
    assert set(tokens.ravel().tolist()) == set(days)


def test_rows_of_pairs_are_counted_with_the_last_day_fastest():
    generator = Custom(symbols="a b c", order=2, table=PAIRS)
    for before, last in np.ndindex(3, 3):
        found = next_token(generator, (2, before, last))
        np.testing.assert_allclose(found, PAIRS[3 * before + last], atol=1e-6)


def test_a_cycle_is_as_likely_to_begin_anywhere():
    generator = Custom(symbols="a b c", table=CYCLE)
    np.testing.assert_allclose(next_token(generator, ()), [1 / 3] * 3, atol=1e-6)
    np.testing.assert_allclose(next_token(generator, (1,)), (0, 0, 1), atol=1e-6)
    assert optimum(generator, 5).final.nll == pytest.approx(0, abs=1e-6)


def test_a_stream_has_left_for_good_what_it_never_comes_back_to():
    generator = Custom(symbols="a b", table=((0.5, 0.5), (0.0, 1.0)))
    np.testing.assert_allclose(next_token(generator, ()), (0, 1), atol=1e-6)
    with pytest.raises(ValueError, match="day 1 is never 'a'"):
        next_token(generator, (0,))


def test_islands_share_what_comes_from_outside():
    table = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.25, 0.75, 0.0))
    found = next_token(Custom(symbols="a b c", table=table), ())
    np.testing.assert_allclose(found, (1 / 3 + 0.25 / 3, 1 / 3 + 0.75 / 3, 0), atol=1e-6)


def test_six_symbols_of_order_two():
    draw = np.random.default_rng(6).dirichlet(np.ones(6), 36)
    table = tuple(map(tuple, draw.tolist()))
    found = optimum(Custom(symbols="1 2 3 4 5 6", order=2, table=table), 3)
    joint = oracles.table_joint(draw, 2, 4)
    assert found.final.nll == pytest.approx(oracles.floor(joint), abs=2e-6)
    assert found.final.accuracy == pytest.approx(oracles.ceiling(joint), abs=2e-6)
