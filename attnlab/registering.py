"""User-defined processes, models, positions, optimisers, schedules and measures."""

import importlib
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attnlab.configuration.options import OptionError, fields, quoted
from attnlab.configuration.registry import Registry
from attnlab.generators import GENERATORS, TASKS, AbstractGenerator, AbstractTask
from attnlab.inspection import MEASURES
from attnlab.models import MODELS, SOURCE_MODELS, AbstractModelOptions
from attnlab.models.seq2seq import AbstractSourceOptions
from attnlab.positions import POSITIONS, AbstractPosition
from attnlab.training.experiment import Experiment
from attnlab.training.measure import OWN_MEASURES, Measure
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES, AbstractOptimiser, AbstractSchedule

# The first base class that matches counts, so subclasses come before their base classes.
_REGISTRIES: tuple[tuple[type, Registry], ...] = (
    (AbstractTask, TASKS),
    (AbstractGenerator, GENERATORS),
    (AbstractSourceOptions, SOURCE_MODELS),
    (AbstractModelOptions, MODELS),
    (AbstractPosition, POSITIONS),
    (AbstractOptimiser, OPTIMISERS),
    (AbstractSchedule, SCHEDULES),
)
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MEASURE_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def register(kind: Any) -> Any:
    """Make your own class or `Measure` known to links, files, workers, commands and the app.

    The kind of a class follows from its base class: a process, task, model, positional encoding,
    optimiser or learning-rate schedule. Worker processes import the module that defines it, so
    define it at the top level of a module or script. Registering a class of the same name and
    module again replaces the earlier one, as a notebook needs.

    >>> import dataclasses
    >>> @register
    ... @dataclasses.dataclass(frozen=True)
    ... class Half(AbstractSchedule):
    ...     name = "half"
    ...     summary = "Half the learning rate."
    ...
    ...     def share(self, done):
    ...         return 0.5
    >>> SCHEDULES["half"] is Half
    True
    >>> unregister(Half)

    Returns:
        The class or measure, so that it works as a decorator.

    Raises:
        OptionError: If its `name` is taken, or not made of lower-case letters, digits and hyphens
            (for a measure: underscores).
        TypeError: If it is not a frozen dataclass of one of these kinds.
    """
    if isinstance(kind, Measure):
        if not _MEASURE_NAME.fullmatch(kind.name):
            problem = "not lower-case letters, digits and underscores between them"
            raise OptionError("name", kind.name, problem, "Choose a name such as 'largest_weight'")
        if kind.name in MEASURES and kind.name not in OWN_MEASURES:
            raise OptionError("name", kind.name, "another measure has it", "Choose another name")
        OWN_MEASURES.add(kind)
        return kind
    registry = _registry_of(kind)
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = "not lower-case letters, digits and hyphens between them"
        raise OptionError("name", name, problem, "Choose a name such as 'my-model'")
    for _, other in _REGISTRIES:
        taken = other.get(name)
        if taken is not None and (taken not in other.added() or path_of(taken) != path_of(kind)):
            raise OptionError("name", name, "another class has it", "Choose another name")
    if not isinstance(getattr(kind, "summary", None), str):
        raise OptionError("summary", None, f"{kind.__name__} has none", "Add one sentence")
    registry.add(kind)
    return kind


def import_file(file: str) -> None:
    """Import a Python file, which registers its classes. Worker processes can import it too.

    Raises:
        OptionError: If the file does not exist, has the name of another module, or fails.
    """
    path = Path(file).resolve()
    if path.suffix != ".py" or not path.is_file():
        raise OptionError("module", file, "no such Python file", "Name a file that ends in .py")
    # At the end, so that files beside it hide no other modules. Workers get the same path.
    sys.path.append(str(path.parent))
    try:
        module = importlib.import_module(path.stem)
    # User code can raise any exception.
    except Exception as error:
        calls = traceback.extract_tb(error.__traceback__)
        lines = [f"line {call.lineno}: " for call in calls if call.filename == str(path)]
        problem = f"{''.join(lines[-1:])}{type(error).__name__}: {error}".rstrip(".")
        raise OptionError("module", file, problem, "Correct the file") from error
    if getattr(module, "__file__", None) != str(path):
        raise OptionError("module", file, "another module has this name", "Rename the file")


def unregister(kind: Any) -> None:
    """Undo `register`. Does nothing if the class or measure is not registered."""
    (OWN_MEASURES if isinstance(kind, Measure) else _registry_of(kind)).remove(kind)


def added_classes(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Return module and name of every user-defined class of an experiment."""
    parts = [experiment, *(field.value for field in fields(experiment) if field.option.registry)]
    own = {kind for _, registry in _REGISTRIES for kind in registry.added()}
    return tuple(path_of(type(part)) for part in parts if type(part) in own)


def register_by_path(paths: Iterable[tuple[str, str]]) -> None:
    """Register the classes that `added_classes` returned, in a worker process."""
    for path in paths:
        kind = at_path(*path)
        if _registry_of(kind).get(kind.name) is not kind:
            register(kind)


def _registry_of(kind: type) -> Registry:
    for base, registry in _REGISTRIES:
        if isinstance(kind, type) and issubclass(kind, base):
            made = getattr(kind, "__dataclass_params__", None)
            if made is not None and made.frozen:
                return registry
            break
    bases = ", ".join(base.__name__ for base, _ in _REGISTRIES)
    raise TypeError(f"{quoted(kind)} is not a frozen dataclass that inherits from one of {bases}.")


def path_of(thing: Any) -> tuple[str, str]:
    """Return the module and the name of a class or function, or "" where it has none."""
    return getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", None) or ""


def at_path(module: str, name: str) -> Any:
    """Import a class or function by the module and name that `path_of` returned."""
    return getattr(importlib.import_module(module), name)
