"""Options as flags of the command line, and what their text means."""

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import Any

from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.configuration.records import from_record
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.positions import POSITIONS
from attnlab.training.experiment import VERSION, Experiment, from_json_record, to_json
from attnlab.training.optimisers import OPTIMISERS
from attnlab.training.steps import Training

EXPERIMENT_PARTS = (
    Experiment,
    *GENERATORS.values(),
    *MODELS.values(),
    *POSITIONS.values(),
    Training,
    *OPTIMISERS.values(),
)


def add_flags(parser: argparse.ArgumentParser, kinds: Iterable[type]) -> None:
    """A flag for every option of the classes; those of the same name share one."""
    options = {name: spec for kind in kinds for name, spec in options_of(kind).items()}
    # All training options stand as flags of their own.
    options.pop("training", None)
    for name, spec in options.items():
        names = list(spec.registry or spec.choices)
        shown = "{" + ",".join(names) + "}" if names else name.upper()
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=shown, help=spec.help.replace("%", "%%")
        )


def read_generator(name: str, given: Mapping[str, Any]) -> Any:
    """The generator of that name, with its options as given.

    Refused, with an `OptionError`: an option of another generator.
    """
    used = set()
    record = _record("generator", GENERATORS, name, {}, given, used)
    flags = {option for kind in GENERATORS.values() for option in options_of(kind)}
    _refuse_unused({name: given[name] for name in flags & given.keys()}, used)
    return from_record(GENERATORS, record, option_name="generator")


def read_experiment(base: Experiment, given: Mapping[str, Any]) -> Experiment:
    """`base` with the given options in place of its own.

    Refused, with an `OptionError`: an option that none of the chosen parts has.
    """
    at_hand, used = json.loads(to_json(base)), set()
    parts = {Experiment.name: Experiment}
    record = _record("experiment", parts, Experiment.name, at_hand, given, used)
    _refuse_unused(given, used)
    return from_json_record({**record, "version": VERSION})


def _refuse_unused(given: Mapping[str, Any], used: set[str]) -> None:
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
