"""Options as text, as typed on a command line or in a grid, and the experiments they make."""

from collections.abc import Mapping, Set
from typing import Any

from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import (
    OptionError,
    build,
    choose_one_of,
    default_of,
    fields,
    options_of,
)
from attnlab.generators import PROCESSES, TASKS
from attnlab.models import ALL_MODELS
from attnlab.positions import POSITIONS
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training


def experiment_parts() -> tuple[type, ...]:
    """Return every class that an experiment can be made of."""
    registries = (PROCESSES, ALL_MODELS, POSITIONS, {"": Training}, OPTIMISERS, SCHEDULES)
    return Experiment, *(kind for registry in registries for kind in registry.values())


def parts_with(name: str) -> list[type]:
    """Return the parts of experiments that have an option of that name."""
    return [kind for kind in experiment_parts() if name in options_of(kind)]


def read_generator(name: str, given: Mapping[str, Any]) -> Any:
    """Return the generator of that name, with its options as given.

    Raises:
        OptionError: If an option belongs to another generator.
    """
    generator, used = _read(_choose("generator", PROCESSES, name), given)
    flags = {option for kind in PROCESSES.values() for option in options_of(kind)}
    _refuse_unused({name: given[name] for name in flags & given.keys()}, used)
    return generator


def read_experiment(base: Experiment, given: Mapping[str, Any]) -> Experiment:
    """Return `base` with the given options changed.

    Raises:
        OptionError: If an option belongs to none of the chosen parts.
    """
    experiment, used = read_what_applies(base, given)
    _refuse_unused(given, used)
    return experiment


def read_what_applies(
    base: Experiment, given: Mapping[str, Any]
) -> tuple[Experiment, frozenset[str]]:
    """Return `base` changed by the given options that it has, and the names of these options.

    Raises:
        OptionError: If a task does not have that length.
    """
    experiment, used = _read(Experiment, given, base)
    if "length" in given:
        # `Experiment` replaces the length by that of its task; here a different one is an error.
        spec, default = options_of(Experiment)["length"], default_of(Experiment, "length")
        experiment.generator.at_length(read_value("length", spec, given["length"], default))
    return experiment, used


def _read(
    kind: type, given: Mapping[str, Any], base: Experiment | None = None
) -> tuple[Any, frozenset[str]]:
    """Return a configuration of given texts, otherwise like `base`, and the names that it has."""
    walk = () if base is None else fields(base)
    values = {(field.owner, field.name): field.value for field in walk}
    used = set()

    def value_of(kind: type, name: str) -> Any:
        spec, default = options_of(kind)[name], default_of(kind, name)
        value = values.get((kind, name), default)
        if name not in given:
            return value if spec.registry is None else type(value)
        used.add(name)
        if spec.registry is None:
            return read_value(name, spec, given[name], default)
        return _choose(name, spec.registry, given[name])

    configuration = build(kind, value_of)
    return configuration, frozenset(used)


def usual_experiment(preset: str | None, model: str | None, generator: str | None) -> Experiment:
    """Return the experiment to start from: a preset, or defaults that suit task and family.

    Raises:
        OptionError: If the preset is unknown.
    """
    if preset is None:
        usual = dict(ALL_MODELS[model].usual_training) if model in ALL_MODELS else {}
        usual |= TASKS[generator].usual_training if generator in TASKS else {}
        return Experiment(training=Training(**usual))
    if preset not in PRESETS:
        remedy = f"{choose_one_of(PRESETS, preset)}; `train --list-presets` prints all"
        raise OptionError("preset", preset, "not a preset", remedy)
    return PRESETS[preset].experiment


def _choose(option_name: str, registry: Mapping[str, type], name: str) -> type:
    if name not in registry:
        raise OptionError(option_name, name, "unknown", choose_one_of(registry, name))
    return registry[name]


def _refuse_unused(given: Mapping[str, Any], used: Set[str]) -> None:
    for name in (name for name in given if name not in used):
        flag = f"--{name.replace('_', '-')}"
        problem = "none of the chosen parts has this option"
        raise OptionError(flag, given[name], problem, "Leave it out, or make another choice")
