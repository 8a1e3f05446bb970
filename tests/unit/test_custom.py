"""`custom` and `hmm`: what they refuse, and laws of chosen tables."""

import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Custom, HiddenChain, HiddenMarkov, sample
from attnlab.optimum import next_token, optimum
from tests.unit import optimum_oracles as oracles
from tests.unit.optimum_cases import CYCLE, PAIRS

pytestmark = pytest.mark.usefixtures("as_users_run")

HALVES = (0.5, 0.5)
NAN = float("nan")

SPELLS = ((0.9, 0.1), (0.2, 0.8))
MOODS = ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6))


def uniform(size):
    return ((1 / size,) * size,) * size


# Options that a process refuses, with the name that the message begins with.
BAD = {
    Custom: [
        *(
            ({"symbols": "a b", **options}, named)
            for options, named in (
                ({"table": (HALVES, (1.5, -0.5))}, "table row 2"),
                ({"table": (HALVES, (0.5, 0.4))}, "table row 2"),
                ({"table": (HALVES, (NAN, 0.5))}, "table row 2"),
                ({"table": (HALVES,)}, "table"),
                ({"table": (HALVES, HALVES, HALVES)}, "table"),
                ({"table": None}, "table"),
                ({"table": (HALVES, HALVES), "order": 2}, "table"),
            )
        ),
        # Repeated, repeated but for the emoji form, one, none, no text, and an invisible one.
        *(
            ({"symbols": symbols, "table": uniform(3)}, "symbols")
            for symbols in ("a b a", "☁ ☁️ ☀️", "a", "", 3, "a \N{VARIATION SELECTOR-16}")
        ),
        *(({"order": order}, "order") for order in (0, 3, 1.5, True, NAN)),
    ],
    HiddenMarkov: [
        ({"initial": (1.5, -0.5)}, "initial"),
        ({"initial": (0.5, 0.4)}, "initial"),
        ({"initial": (NAN, 1.0)}, "initial"),
        ({"initial": ()}, "initial"),
        ({"initial": (1.0, *[0.0] * 6)}, "initial"),
        ({"moving": (HALVES, (0.5, 0.6))}, "moving row 2"),
        ({"moving": (HALVES,)}, "moving"),
        ({"showing": MOODS[:1]}, "showing"),
        ({"showing": (HALVES, HALVES)}, "showing row 1"),
    ],
    HiddenChain: [
        ({"table": ((0.5, 0.0, 0.0, 0.4), (1.0, 0.0, 0.0, 0.0))}, "table row 1"),
        ({"table": ((0.5, 0.5), (1.0, 0.0))}, "table row 1"),
        ({"table": ((0.5, 0.0, 0.0, 0.5),)}, "table"),
        ({"table": ((1.5, -0.5, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))}, "table row 1"),
        ({"initial": (0.5, 0.4)}, "initial"),
        ({"initial": ()}, "initial"),
        ({"initial": (1.0, *[0.0] * 12)}, "initial"),
        ({"symbols": "a"}, "symbols"),
        ({"symbols": "a a"}, "symbols"),
        ({"symbols": " ".join("abcdefghijklm")}, "symbols"),
        ({"first_state": "uniform"}, "first_state"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [(kind, options, named) for kind, cases in BAD.items() for options, named in cases],
)
def test_a_bad_option_is_refused_by_name(kind, options, named):
    with pytest.raises(OptionError) as refusal:
        kind(**options)
    assert refusal.value.name.split()[0] == named.split()[0]
    assert str(refusal.value).startswith(f"`{named}` is ")


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


def test_one_state_forgets_everything():
    generator = HiddenMarkov(initial=(1.0,), moving=((1.0,),), showing=(MOODS[0],))
    for days in ((), (0,), (2, 1, 0)):
        np.testing.assert_allclose(next_token(generator, days), MOODS[0], atol=1e-6)


def test_states_that_show_themselves_are_a_plain_chain():
    rows = np.eye(3).tolist()
    generator = HiddenMarkov(
        initial=oracles.START, moving=oracles.NEXT, showing=tuple(map(tuple, rows))
    )
    joint = oracles.markov_joint(oracles.START, oracles.NEXT, 5)
    found = optimum(generator, 4).final
    assert found.nll == pytest.approx(oracles.floor(joint), abs=2e-6)
    np.testing.assert_allclose(next_token(generator, (0, 2, 2, 1)), oracles.NEXT[1], atol=1e-6)


def test_six_states_by_every_hidden_path():
    draw = np.random.default_rng(4)
    initial, moving, showing = (
        draw.dirichlet(np.ones(size), rows) for size, rows in ((6, None), (6, 6), (3, 6))
    )
    generator = HiddenMarkov(
        initial=tuple(initial.tolist()),
        moving=tuple(map(tuple, moving.tolist())),
        showing=tuple(map(tuple, showing.tolist())),
    )
    joint = oracles.hidden_joint(initial, moving, showing, 4)
    for days in ((0, 0, 0), (2, 1, 0), (1, 1, 2)):
        expected = joint[days] / joint[days].sum()
        np.testing.assert_allclose(next_token(generator, days), expected, atol=1e-6)


def test_a_long_past_does_not_wear_the_filter_out():
    for days in ((0,) * 300, (2,) * 300):
        found = next_token(HiddenMarkov(), days)
        assert found.sum() == pytest.approx(1, abs=1e-5)
        belief = np.array(HALVES)
        for day in days:
            seen = belief * np.array(MOODS)[:, day]
            belief = seen / seen.sum() @ np.array(SPELLS)
        np.testing.assert_allclose(found, belief @ np.array(MOODS), atol=1e-5)
