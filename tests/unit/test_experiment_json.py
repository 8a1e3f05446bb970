"""Experiments as JSON: there and back, or refused by name."""

import json

import hypothesis
import pytest
from hypothesis import strategies as st

from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.generators import GENERATORS, Recall
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.positions import POSITIONS
from attnlab.training.experiment import (
    Experiment,
    from_json,
    from_json_record,
    to_json,
)
from attnlab.training.steps import Training


def values_of(spec, default):
    """Values that an option may have."""
    if spec.registry is not None:
        return st.one_of(*(configurations(kind) for kind in spec.registry.values()))
    if spec.choices:
        return st.sampled_from(spec.choices)
    if isinstance(default, int):
        return st.integers(int(spec.low), int(spec.high))
    if isinstance(default, float):
        return st.floats(spec.low, spec.high)
    if isinstance(default, str):
        return st.sampled_from(["a b c", "🐱 🐶 🦊"])
    if isinstance(default[0], int):
        return st.sampled_from([(1,), (2, 5), (1, 4, 8)])
    table = default if isinstance(default[0], tuple) else (default,)
    width = len(table[0])
    row = st.sampled_from([(1.0, *(width - 1) * (0.0,)), width * (1 / width,), table[0]])
    return st.tuples(*(row for _ in table)) if table is default else row


def configurations(kind):
    """Configurations of a class; those whose options do not go together are left out."""
    fields = {
        name: values_of(spec, default_of(kind, name)) for name, spec in options_of(kind).items()
    }

    def made(values):
        try:
            return kind(**values)
        except OptionError:
            return None

    return st.fixed_dictionaries(fields).map(made).filter(lambda made: made is not None)


# The fixture only switches the shape checks off, for all examples alike.
FIXTURE_FOR_ALL = [hypothesis.HealthCheck.function_scoped_fixture]


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_run")
@hypothesis.given(experiment=configurations(Experiment))
@hypothesis.settings(
    max_examples=30,
    # Half of all losses and batches do not go together and are drawn again.
    suppress_health_check=[*FIXTURE_FOR_ALL, hypothesis.HealthCheck.filter_too_much],
)
def test_any_experiment_survives_json(experiment):
    text = to_json(experiment)
    assert from_json(text) == experiment
    assert from_json_record(json.loads(text)) == experiment


def record(**changes):
    return {**json.loads(to_json(Experiment())), **changes}


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**400, -(10**400), 2**64, 1e308, "adam", "markov", "learned"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=8) | st.just("name"), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
PATHS = [
    (), ("version",), ("name",), ("generator",), ("length",), ("model",), ("training",), ("seed",),
    *[("generator", name) for name in ("name", "initial", "transition", "days", "n", "noise")],
    *[("model", name) for name in (*options_of(AttentionOptions), "name", "unknown")],
    ("model", "position", "name"), ("model", "position", "base"),
    *[("training", name) for name in (*options_of(Training), "name")],
]  # fmt: skip
BASES = [
    Experiment(),
    Experiment(generator=Recall()),
    Experiment(generator=GENERATORS["dotmod"](), model=LinearOptions()),
    Experiment(model=AttentionOptions(position=POSITIONS["sinusoidal"]())),
]


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_run")
@hypothesis.given(base=st.sampled_from(BASES), path=st.sampled_from(PATHS), value=ANY_JSON)
@hypothesis.settings(max_examples=600, suppress_health_check=FIXTURE_FOR_ALL)
def test_any_value_anywhere_is_accepted_or_refused_by_name(base, path, value):
    changed = json.loads(to_json(base))
    if path:
        inner = changed
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    else:
        changed = value
    try:
        experiment = from_json_record(changed)
    except OptionError as error:
        message = str(error)
        assert message.startswith("`")
        assert len(message) < 400
    else:
        assert from_json(to_json(experiment)) == experiment


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", "{}", '{"version": 2}', '{"version": true}', "\x00", "[" * 100_000,
     '{"version": 1, "name": "run"}', '{"version": 1, "name": "experiment", "seed": NaN}',
     '{"version": 1, "name": "experiment", "seed": ' + "9" * 5_000 + "}",
     '{"version": 1, "name": "experiment", "generator": {"name": "markov", "initial": '
     + "[" * 900 + "]" * 900 + "}}"],
)  # fmt: skip
def test_other_text_is_refused(text, as_users_run):
    with pytest.raises(ValueError, match="`"):
        from_json(text)


def test_missing_options_take_their_defaults():
    assert from_json('{"version": 1, "name": "experiment"}') == Experiment()
    sparse = record(model={"name": "attention", "d_attn": 3}, generator={"name": "markov"})
    assert from_json_record(sparse).model == AttentionOptions(d_attn=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, r"`colour` is 1: 'experiment' has no such option\. .*`length`"),
        ({"model": {"name": "mamba"}}, r"`model` is 'mamba': unknown\. .*'attention', 'linear'"),
        ({"model": "linear"}, r"`model` is 'linear': not an object"),
        ({"generator": {"name": "markov", "n": 3}}, r"`n` is 3: 'markov' has no such option"),
        ({"version": 9}, r"`version` is 9: this attnlab reads version 1\. .*update"),
        ({"length": 10.5}, r"`length` is 10\.5: not a whole number\. .* from 2 to 256"),
        ({"length": 1}, r"`length` is 1: .* from 2 to 256"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_refusals_say_what_is_wrong_and_what_to_do(changes, message):
    with pytest.raises(OptionError, match=message):
        from_json_record(record(**changes))
