"""Bad options of generators are refused, by name, with the value and the remedy."""

import pytest

from attnlab.configuration.options import OptionError, options_of
from attnlab.generators import GENERATORS, DotMod, Markov, NDays, Recall

pytestmark = pytest.mark.usefixtures("as_users_run")

FAIR = (0.4, 0.3, 0.3)

REFUSED = {
    "row sums to 0.9": (lambda: Markov(transition=(FAIR, FAIR, (0.3, 0.3, 0.3))), "transition",
                        "0.9"),
    "nan": (lambda: Markov(initial=(float("nan"), 0.5, 0.5)), "initial", "nan"),
    "negative": (lambda: Markov(initial=(-0.5, 1.0, 0.5)), "initial", "-0.5"),
    "two numbers": (lambda: Markov(initial=(0.5, 0.5)), "initial", "0.5, 0.5"),
    "words": (lambda: Markov(initial=("a", "b", "c")), "initial", "'a'"),
    "two rows": (lambda: Markov(transition=(FAIR, FAIR)), "transition", "0.4"),
    "n = 0": (lambda: NDays(n=0), "n", "0"),
    "n = 99": (lambda: NDays(n=99), "n", "99"),
    "n is a half": (lambda: NDays(n=2.5), "n", "2.5"),
    "n is enormous": (lambda: NDays(n=10**400), "n", "1000"),
    "noise is nan": (lambda: DotMod(noise=float("nan")), "noise", "nan"),
    "no noise": (lambda: DotMod(noise=0.0), "noise", "0.0"),
    "unknown variant": (lambda: DotMod(variant="blog"), "variant", "'blog'"),
    "no length": (lambda: Recall().at_length(0), "length", "0"),
    "all days hidden": (lambda: Recall(hidden=10), "hidden", "10"),
    "horizon too early": (lambda: Recall(horizon=3), "horizon", "3"),
    "days unsorted": (lambda: Recall(days=(4, 1, 8)), "days", "(4, 1, 8)"),
    "no days": (lambda: Recall(days=()), "days", "()"),
    "five days": (lambda: Recall(days=(1, 2, 3, 4, 5)), "days", "(1, 2, 3, 4, 5)"),
    "day 0": (lambda: Recall(days=(0, 4)), "days", "(0, 4)"),
    "day 257": (lambda: Recall(days=(1, 257)), "days", "(1, 257)"),
    "days is one number": (lambda: Recall(days=4), "days", "4"),
    "days is text": (lambda: Recall(days="148"), "days", "'148'"),
    "seed below 0": (lambda: Recall(table_seed=-1), "table_seed", "-1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_options_are_refused_with_name_value_and_remedy(case):
    make, name, value = REFUSED[case]
    with pytest.raises(OptionError) as refusal:
        make()
    message = str(refusal.value)
    assert message.startswith(f"`{name}")
    assert value in message
    _, *remedy = message.removesuffix(".").split(". ")
    assert remedy, f"says no remedy: {message}"
    assert refusal.value.name.split()[0] == name


def test_the_row_at_fault_is_named():
    with pytest.raises(OptionError, match=r"`transition row 2` is .*sums to 0.9.*sum to 1"):
        Markov(transition=(FAIR, (0.3, 0.3, 0.3), FAIR))


def test_rows_typed_with_six_decimals_are_accepted():
    third = (0.333333, 0.333333, 0.333334)
    assert Markov(initial=third).initial == third


@pytest.mark.parametrize("name", GENERATORS)
def test_a_new_length_keeps_the_options(name):
    generator = GENERATORS[name]()
    longer = generator.at_length(20)
    for option in options_of(generator):
        assert getattr(longer, option) == getattr(generator, option)
    assert longer.at_length(10) == generator.at_length(10)
