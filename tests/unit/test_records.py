"""Configurations as JSON values."""

import json

import pytest

from attnlab.configuration.options import OptionError, options_of
from attnlab.configuration.records import from_record, to_record
from attnlab.generators import GENERATORS, PROCESSES, Markov, Recall
from attnlab.models import ALL_MODELS, MODELS, AttentionOptions
from attnlab.positions import POSITIONS, Scalar

REGISTRIES = {"generator": PROCESSES, "position": POSITIONS, "model": ALL_MODELS}
EVERY_NAME = [(option, name) for option, registry in REGISTRIES.items() for name in registry]


@pytest.mark.parametrize(("option", "name"), EVERY_NAME)
def test_every_configuration_survives_json(option, name):
    registry = REGISTRIES[option]
    record = json.loads(json.dumps(to_record(registry[name]())))
    assert record["name"] == name
    assert record.keys() == {"name", *options_of(registry[name])}
    # A name alone means the defaults.
    for complete in (record, {"name": name}):
        assert from_record(registry, complete, option_name=option) == registry[name]()


def test_configurations_within_configurations_are_records_too():
    record = to_record(AttentionOptions(position=Scalar(period=7.0)))
    assert record["position"] == {"name": "scalar", "period": 7.0}
    assert from_record(MODELS, record, option_name="model").position == Scalar(period=7.0)


def test_tables_become_lists_and_back():
    record = json.loads(json.dumps(to_record(Markov())))
    assert record["transition"][0] == [0.6, 0.3, 0.1]
    assert from_record(GENERATORS, record, option_name="generator") == Markov()
    days = {"name": "recall", "days": [2, 5]}
    assert from_record(GENERATORS, days, option_name="generator") == Recall(days=(2, 5))


def test_a_whole_number_is_a_number():
    position = from_record(POSITIONS, {"name": "scalar", "period": 7}, option_name="position")
    assert position == Scalar(period=7.0)
    assert isinstance(position.period, float)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "`generator` is None: not an object"),
        ([], r"`generator` is \[\]: not an object"),
        ("markov", "`generator` is 'markov': not an object"),
        ({}, "`generator` is None: unknown. Choose one of .* names, such as 'markov', 'recall'"),
        ({"name": "marcov"}, "`generator` is 'marcov': unknown. .* names, such as 'markov'"),
        ({"name": ["markov"]}, "`generator` is .*: unknown"),
        ({"name": "ndays", "m": 3}, "`m` is 3: 'ndays' has no such option. Its options: `n`"),
        ({"name": "ndays", "m" * 61: 3}, f"`{'m' * 57}[.]{{3}}` is 3: 'ndays' has no such option"),
        ({"name": "ndays", "\n": 3}, r"`\\n` is 3: 'ndays' has no such option"),
        ({"name": "custom", "symbols": "a b \ud800"}, r"`symbols` is 'a b \\ud800': U\+D800 in it"),
        ({"name": "markov", "initial": ["0" * 99, 0, 1]}, "'0{56}[.]{3} is not a number"),
        ({"name": "ndays", "n": True}, "`n` is True: not a whole number"),
        ({"name": "markov", "initial": [1, 0]}, "`initial` is .*: not 3 numbers"),
    ],
)
def test_other_records_are_refused(record, message, as_users_run):
    with pytest.raises(OptionError, match=message):
        from_record(GENERATORS, record, option_name="generator")


def test_of_many_options_a_refusal_names_the_first():
    with pytest.raises(OptionError, match=r"Its options: (`\w+`, ){12}\d+ more\.$"):
        from_record(MODELS, {"name": "transformer", "m": 1}, option_name="model")
