"""Configurations as plain JSON values and back: `to_record` and `from_record`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from attnlab.configuration.options import (
    Option,
    OptionError,
    choose_one_of,
    default_of,
    fields,
    options_of,
)

# Number of options that an error lists, so that it stays short.
_MOST_NAMED = 12


class UnregisteredError(OptionError):
    """A name that no class of a registry has, perhaps of a user-defined class."""


def to_record(configuration: Any) -> dict[str, Any]:
    """Return a configuration as JSON values: its name, then every option.

    Raises:
        OptionError: If a part has the name of a registered class but is a different one.
    """
    record = {"name": configuration.name}
    for name, spec in options_of(configuration).items():
        value = getattr(configuration, name)
        if spec.registry is not None:
            check_own_name(name, value, spec.registry)
        record[name] = _encode(value)
    return record


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_record(value)
    return [_encode(part) for part in value] if isinstance(value, tuple) else value


def check_registered(configuration: Any) -> None:
    """Raise `OptionError` for the first part of a configuration whose class is not registered."""
    for field in fields(configuration):
        registry, kind = field.option.registry, type(field.value)
        if registry is not None and registry.get(field.value.name) is not kind:
            problem = "only registered classes can be kept in a library or sent to other processes"
            remedy = (
                "Give it a unique `name`, as `save_run` needs, and put `@attnlab.register` above"
            )
            raise OptionError(field.name, kind.__name__, problem, remedy)


def check_own_name(option_name: str, value: Any, registry: Mapping[str, type]) -> None:
    """Raise `OptionError` if the name of `value` belongs to another class in `registry`."""
    if registry.get(value.name, type(value)) is not type(value):
        problem = f"its name '{value.name}' is that of a registered class"
        remedy = "Give the class a unique `name`, and put `@attnlab.register` above it"
        raise OptionError(option_name, type(value).__name__, problem, remedy)


def from_record(registry: Mapping[str, type], record: Any, *, option_name: str) -> Any:
    """Return the configuration that `to_record` wrote. Missing options take their defaults.

    Raises `OptionError` for anything but an object, an option that the class lacks, and whatever
    the class itself rejects; `UnregisteredError` for a name that `registry` lacks.
    """
    if not isinstance(record, dict):
        raise OptionError(option_name, record, "not an object", 'Write {"name": …}')
    chosen = record.get("name")
    kind = registry.get(chosen) if isinstance(chosen, str) else None
    if kind is None:
        refusal = UnregisteredError if isinstance(chosen, str) else OptionError
        raise refusal(option_name, chosen, "unknown", choose_one_of(registry, chosen))
    specs = options_of(kind)
    unknown = sorted(record.keys() - specs.keys() - {"name"}, key=str)
    if unknown:
        named = [f"`{name}`" for name in specs]
        more = [f"{len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
        known = ", ".join(named[:_MOST_NAMED] + more) or "none"
        problem = f"'{kind.name}' has no such option"
        raise OptionError(unknown[0], record[unknown[0]], problem, f"Its options: {known}")
    given = {name: record[name] for name in specs if name in record}
    decoded = {
        name: _decode(name, specs[name], value, default_of(kind, name))
        for name, value in given.items()
    }
    return kind(**decoded)


def _decode(name: str, spec: Option, value: Any, default: Any) -> Any:
    if spec.registry is not None:
        return from_record(spec.registry, value, option_name=name)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            # The class rejects it as more than the cap.
            return value
    return _as_tuple(value)


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(part) for part in value) if isinstance(value, list) else value
