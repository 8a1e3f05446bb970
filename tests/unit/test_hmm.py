"""`hmm`: what it refuses, and the limits in which its law is plain."""

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import HiddenMarkov
from attnlab.optimum import next_token, optimum
from tests.unit import optimum_oracles as oracles

pytestmark = pytest.mark.usefixtures("as_users_run")

HALVES = (0.5, 0.5)
SPELLS = ((0.9, 0.1), (0.2, 0.8))
MOODS = ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6))

BAD = {
    "negative": {"initial": (1.5, -0.5)},
    "sum": {"initial": (0.5, 0.4)},
    "nan": {"initial": (float("nan"), 1.0)},
    "no-state": {"initial": ()},
    "many-states": {"initial": (1.0, *[0.0] * 6)},
    "moving-sum": {"moving": (HALVES, (0.5, 0.6))},
    "moving-rows": {"moving": (HALVES,)},
    "showing-rows": {"showing": MOODS[:1]},
    "showing-columns": {"showing": (HALVES, HALVES)},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_by_name(name):
    ((option, value),) = BAD[name].items()
    with pytest.raises(OptionError) as refusal:
        HiddenMarkov(**{option: value})
    assert refusal.value.name.split()[0] == option
    assert str(refusal.value).startswith(f"`{option}")


def test_the_bad_row_is_counted_from_one():
    with pytest.raises(OptionError, match="`moving row 2` is"):
        HiddenMarkov(**BAD["moving-sum"])


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
