"""Options named with their texts, as people type them, and the experiments that they make."""

import json
from collections.abc import Mapping, Set
from typing import Any

from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.configuration.records import from_record
from attnlab.generators import PROCESSES, TASKS
from attnlab.models import ALL_MODELS
from attnlab.positions import POSITIONS
from attnlab.training.experiment import VERSION, Experiment, from_json_record, to_json
from attnlab.training.optimisers import OPTIMISERS
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training

EXPERIMENT_PARTS = (
    Experiment,
    *PROCESSES.values(),
    *ALL_MODELS.values(),
    *POSITIONS.values(),
    Training,
    *OPTIMISERS.values(),
)


def read_generator(name: str, given: Mapping[str, Any]) -> Any:
    """The generator of that name, with its options as given.

    Refused, with an `OptionError`: an option of another generator.
    """
    used = set()
    record = _record("generator", PROCESSES, name, {}, given, used)
    flags = {option for kind in PROCESSES.values() for option in options_of(kind)}
    _refuse_unused({name: given[name] for name in flags & given.keys()}, used)
    return from_record(PROCESSES, record, option_name="generator")


def read_experiment(base: Experiment, given: Mapping[str, Any]) -> Experiment:
    """`base` with the given options in place of its own.

    Refused, with an `OptionError`: an option that none of the chosen parts has.
    """
    experiment, used = read_what_applies(base, given)
    _refuse_unused(given, used)
    return experiment


def read_what_applies(
    base: Experiment, given: Mapping[str, Any]
) -> tuple[Experiment, frozenset[str]]:
    """`base` with those of the given options that it has, and the names of these.

    Refused, with an `OptionError`: a length that a task does not have.
    """
    at_hand, used = json.loads(to_json(base)), set()
    parts = {Experiment.name: Experiment}
    record = _record("experiment", parts, Experiment.name, at_hand, given, used)
    experiment = from_json_record({**record, "version": VERSION})
    if "length" in given:
        # Once more, since an experiment takes that of a task without a word.
        experiment.generator.at_length(record["length"])
    return experiment, frozenset(used & given.keys())


def usual_experiment(
    preset: str | None, model: str | None, generator: str | None = None
) -> Experiment:
    """What options are given for: a preset or, without one, what suits the task and the family.

    Refused, with an `OptionError`: a preset that nobody knows.
    """
    if preset is None:
        usual = dict(ALL_MODELS[model].usual_training) if model in ALL_MODELS else {}
        usual |= TASKS[generator].usual_training if generator in TASKS else {}
        return Experiment(training=Training(**usual))
    if preset not in PRESETS:
        raise OptionError("preset", preset, "not a preset", "See `train --list-presets`")
    return PRESETS[preset].experiment


def _refuse_unused(given: Mapping[str, Any], used: Set[str]) -> None:
    for name in given.keys() - used:
        flag = f"--{name.replace('_', '-')}"
        problem = "nothing that was chosen has such an option"
        raise OptionError(flag, given[name], problem, "Leave it out, or make another choice")


def _record(
    option_name: str,
    registry: Mapping[str, type],
    name: str,
    at_hand: Mapping[str, Any],
    given: Mapping[str, Any],
    used: set[str],
) -> dict[str, Any]:
    """The record of `name` in `registry`: options as given, or as `at_hand` if of that name."""
    if name not in registry:
        names = ", ".join(f"'{choice}'" for choice in registry)
        raise OptionError(option_name, name, "unknown", f"Choose one of {names}")
    kind = registry[name]
    record = dict(at_hand) if at_hand.get("name") == name else {"name": name}
    for option_name, spec in options_of(kind).items():
        default = default_of(kind, option_name)
        if spec.registry is not None:
            present = record.get(option_name, {"name": default.name})
            chosen = given.get(option_name, present["name"])
            used.add(option_name)
            record[option_name] = _record(option_name, spec.registry, chosen, present, given, used)
        elif option_name in given:
            record[option_name] = read_value(option_name, spec, given[option_name], default)
            used.add(option_name)
    return record
