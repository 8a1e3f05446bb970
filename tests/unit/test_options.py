"""Every option of every registry carries what a control needs, and is checked."""

import dataclasses
import inspect
import math

import hypothesis
import pytest
from hypothesis import strategies as st

from attnlab.configuration.options import (
    Option,
    OptionError,
    check_option,
    check_options,
    default_of,
    label_of,
    option,
    options_of,
)
from attnlab.generators import PROCESSES
from attnlab.models import ALL_MODELS
from attnlab.positions import POSITIONS
from attnlab.registering import register, unregister
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES, AbstractSchedule
from attnlab.training.steps import Training

REGISTRIES = (PROCESSES, POSITIONS, ALL_MODELS, OPTIMISERS, SCHEDULES)
KINDS = (Experiment, Training, *(kind for each in REGISTRIES for kind in each.values()))
EVERY_OPTION = [(kind, name) for kind in KINDS for name in options_of(kind)]

every_option = pytest.mark.parametrize(
    ("kind", "name"), EVERY_OPTION, ids=[f"{kind.name}.{name}" for kind, name in EVERY_OPTION]
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_help_on_a_class_says_what_each_of_its_options_means_and_its_values(kind):
    text = inspect.getdoc(kind).partition("Attributes:\n")[2]
    said = [line.strip().partition(": ") for line in text.splitlines()]
    assert [name for name, _, _ in said] == list(options_of(kind))
    for name, _, meaning in said:
        spec, default = options_of(kind)[name], default_of(kind, name)
        rest = meaning.removeprefix(" ".join(spec.help.split()))
        assert rest != meaning
        shown = default.name if spec.registry else repr(default)
        assert rest.endswith(f"efault {'a short sample' if spec.long_text else shown}.")
        values = spec.choices or (() if spec.low is None else spec.bounds)
        assert all(str(value) in rest for value in values)


@every_option
def test_an_option_says_all_that_a_control_needs(kind, name):
    spec, default = options_of(kind)[name], default_of(kind, name)
    assert spec.help.endswith(".")
    assert label_of(name, spec).strip()
    if spec.registry is not None:
        assert type(default) in spec.registry.values()
    elif spec.choices:
        assert default in spec.choices
    elif isinstance(default, int | float):
        assert spec.low <= default <= spec.high
        assert not spec.logarithmic or spec.low > 0
    check_option(name, spec, default, default)


@every_option
def test_the_bounds_are_accepted_and_what_lies_outside_is_not(kind, name, as_users_run):
    spec, default = options_of(kind)[name], default_of(kind, name)
    outside = ["", None, [], {}, object()]
    if spec.registry is None and not spec.choices and isinstance(default, int | float):
        # A whole default asks for whole numbers, so its bounds are meant as such.
        number = type(default)
        check_option(name, spec, number(spec.low), default)
        check_option(name, spec, number(spec.high), default)
        outside += [True, spec.high + 1, spec.low - 1, math.inf, -math.inf, math.nan]
    elif isinstance(default, tuple):
        return
    elif not spec.choices and spec.registry is None:
        check_option(name, spec, "", default)
        outside[0] = "a" * (spec.long_text + 10_000)
    for value in outside:
        with pytest.raises(OptionError, match=f"^`{name}` is "):
            check_option(name, spec, value, default)


def test_a_label_is_the_name_in_words_with_the_unit():
    assert label_of("batch_size", Option(help="")) == "batch size"
    assert label_of("n", Option(help="", unit="days")) == "n (days)"
    assert label_of("n", Option(help="", label="memory")) == "memory"


@pytest.mark.slow
@hypothesis.given(value=st.recursive(st.text() | st.integers(), st.lists, max_leaves=100))
def test_a_long_value_does_not_make_a_long_message(value):
    error = OptionError("n", value, "not a number", "Choose one")
    assert len(str(error)) < 120
    assert str(error).startswith("`n` is ")
    assert str(error).endswith(": not a number. Choose one.")
    assert (error.name, error.value) == ("n", value)


@dataclasses.dataclass(frozen=True)
class Two:
    """Two numbers, each with its bounds."""

    first: int = option(1, "First.", low=0, high=5)
    second: float = option(1.0, "Second.", low=0.5, high=5.0)


def test_the_first_bad_option_is_the_one_that_is_named():
    check_options(Two())
    with pytest.raises(OptionError, match=r"`first` is 9: more than the cap of 5\. .*from 0 to 5"):
        check_options(Two(first=9, second=9.0))
    with pytest.raises(OptionError, match=r"`second` is 0\.1: less than the minimum, 0\.5\."):
        check_options(Two(second=0.1))
    with pytest.raises(OptionError, match=r"`first` is True: not a whole number"):
        check_options(Two(first=True))
    check_options(Two(second=3))


PARTS = [(kind, name) for kind, name in EVERY_OPTION if options_of(kind)[name].registry is not None]
# The other part of an experiment, so that most processes and models are accepted.
BESIDE = {"generator": {"model": "transformer"}, "model": {"generator": "cards"}}


def made(kind, **values):
    """The configuration, or why it is refused."""
    try:
        return kind(**values)
    except OptionError as error:
        return str(error)


@pytest.mark.parametrize(("kind", "name"), PARTS, ids=[f"{k.name}.{name}" for k, name in PARTS])
def test_a_name_is_the_object_with_its_defaults_and_a_wrong_one_gets_the_nearest(kind, name):
    registry, beside = options_of(kind)[name].registry, BESIDE.get(name, {})
    objects = {each: registry[each]() for each in registry}
    by_name = {each: made(kind, **{name: each}, **beside) for each in registry}
    assert by_name == {each: made(kind, **{name: objects[each]}, **beside) for each in registry}
    accepted = {each: found for each, found in by_name.items() if not isinstance(found, str)}
    assert len(accepted) > len(registry) / 2
    for each, found in accepted.items():
        assert type(getattr(found, name)) is type(objects[each])
        assert hash(found) == hash(kind(**{name: objects[each]}, **beside))
    for each in registry:
        said = made(kind, **{name: f"{each}x"}, **beside)
        assert said.startswith(f"`{name}` is '{each}x': not a choice. Choose one of")
        assert f"'{each}'" in said


def test_the_name_of_a_class_of_ones_own_is_taken_while_it_is_registered():
    @dataclasses.dataclass(frozen=True)
    class Own(AbstractSchedule):
        """A constant rate under another name."""

        name = "of-ones-own"
        summary = "Constant."

        def share(self, done):
            return 1.0

    register(Own)
    assert Experiment(training=Training(schedule="of-ones-own")).training.schedule == Own()
    unregister(Own)
    with pytest.raises(OptionError, match="not a choice"):
        Training(schedule="of-ones-own")
