"""What a user may set: an option's default, bounds and one-line help, and the errors that name it.

Every configuration class of attnlab is a frozen dataclass whose fields are made by `option`.
Controls on the pages, flags of the command line and checks of values are all drawn from here.
"""

import copyreg
import dataclasses
import math
import sys
from collections.abc import Mapping
from typing import Any

from attnlab.configuration.visible_text import invisible_letters, normal

# Of a text option, and of any text that is read as numbers or symbols: a table may be long.
MOST_CHARACTERS, MOST_TYPED = 200, 10_000
_MOST_QUOTED = 60


class AttnlabError(Exception):
    """An error whose message is written by its constructor; pickling keeps it whole."""

    def __reduce__(self):
        # By default the constructor would be called again, with the finished message alone.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)


class OptionError(AttnlabError, ValueError):
    """A value that an option may not have. Says which option, which value, and the remedy."""

    def __init__(self, name: str, value: Any, problem: str, remedy: str):
        self.name, self.value = name, value
        # A file or an address may name options that nobody has, at any length.
        shown = _shortened(_written(name)[1:-1])
        super().__init__(f"`{shown}` is {quoted(value)}: {problem}. {remedy}.")


def quoted(value: Any) -> str:
    """A value that may come from outside, for a message: as Python writes it, 60 letters at most.

    A backtick is written as its code: those of a message stand around names of ours.

    >>> quoted("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    return _shortened(_written(value))


def _written(value: Any) -> str:
    return repr(value).replace("`", r"\x60")


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 3]}..."


@dataclasses.dataclass(frozen=True)
class Option:
    """The part of an option that its default value does not say.

    `registry` marks an option that is itself one of several configurations, such as a positional
    encoding. `unit` is shown behind the label. `logarithmic` asks for a control in decades.
    """

    help: str
    label: str = ""
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[str, ...] = ()
    registry: Mapping[str, type] | None = None
    unit: str = ""
    logarithmic: bool = False


def option(default: Any, help: str, **rest: Any) -> Any:
    """A dataclass field that is an option; `rest` are the other fields of `Option`."""
    metadata = {"option": Option(help=help, **rest)}
    return dataclasses.field(default=default, metadata=metadata)


class Options:
    """Base of every frozen dataclass whose fields are options: checks them when it is made.

    A class with more to refuse calls this `__post_init__` first. Numbers get the type of their
    default and texts Unicode's normal form C with single spaces, so that configurations that are
    equal are written the same.
    """

    def __post_init__(self):
        check_options(self)
        for name in options_of(self):
            value = _as_typed(getattr(self, name), default_of(self, name))
            object.__setattr__(self, name, value)


def _as_typed(value: Any, default: Any) -> Any:
    """A value with floats, and no -0.0, where `default` has floats; a text in its normal form."""
    if isinstance(default, tuple) and isinstance(value, tuple) and default:
        return tuple(_as_typed(part, default[0]) for part in value)
    if isinstance(default, float) and type(value) in (int, float):
        # A whole number may be too large for a float: the checks of a class refuse it.
        return float(value) + 0.0 if abs(value) <= sys.float_info.max else value
    return normal(" ".join(value.split())) if isinstance(value, str) else value


def options_of(configuration: Any) -> dict[str, Option]:
    """The options of a configuration class or instance by name, in the order they are declared."""
    fields = dataclasses.fields(configuration)
    return {f.name: f.metadata["option"] for f in fields if "option" in f.metadata}


def default_of(configuration: Any, name: str) -> Any:
    """The declared default of the option `name`."""
    return next(f.default for f in dataclasses.fields(configuration) if f.name == name)


def label_of(name: str, spec: Option) -> str:
    """What a control for the option is called on screen, unit included."""
    # `d_model` and its kin are written as in the literature.
    label = spec.label or (name if name.startswith("d_") else name.replace("_", " "))
    return f"{label} ({spec.unit})" if spec.unit else label


def check_options(configuration: Any) -> None:
    """Raise `OptionError` for the first option of wrong type, out of bounds or not a choice."""
    for name, spec in options_of(configuration).items():
        check_option(name, spec, getattr(configuration, name), default_of(configuration, name))


def check_option(name: str, spec: Option, value: Any, default: Any) -> None:
    """Raise `OptionError` unless `value` is of the kind of `default` and within `spec`."""
    if spec.registry is not None:
        # One that is not registered is for scripts: links, files and pages go by the names.
        if not isinstance(value, _base_of(spec.registry)):
            raise OptionError(name, value, "not a choice", _one_of(spec.registry))
    elif spec.choices:
        if value not in spec.choices:
            raise OptionError(name, value, "not a choice", _one_of(spec.choices))
    elif isinstance(default, str):
        if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
            problem = f"not a text of at most {MOST_CHARACTERS} characters"
            raise OptionError(name, value, problem, "Type a short text")
        # White space of any kind becomes a space.
        check_visible(name, " ".join(value.split()))
    elif isinstance(default, int | float):
        _check_number(name, spec, value, whole=isinstance(default, int))


def check_typed(name: str, text: str, *, most: int = MOST_TYPED) -> None:
    """Raise `OptionError` for a text of more than `most` characters. Before it is parsed."""
    if len(text) > most:
        raise OptionError(name, text, f"longer than {most:,} characters", "Shorten it")


def check_visible(name: str, text: str) -> None:
    """Raise `OptionError` for a text with a letter that cannot be seen."""
    for letter in invisible_letters(text).values():
        code = f"U+{ord(letter):04X}"
        raise OptionError(name, text, f"{code} in it cannot be seen", "Leave it out")


def _base_of(registry: Mapping[str, type]) -> type:
    """The most special class that all of the registry inherit from."""
    first, *rest = registry.values()
    return next(base for base in first.__mro__ if all(issubclass(kind, base) for kind in rest))


def _one_of(names: Any) -> str:
    return "Choose one of " + ", ".join(f"'{name}'" for name in names)


def _check_number(name: str, spec: Option, value: Any, *, whole: bool) -> None:
    kind = "a whole number" if whole else "a number"
    remedy = f"Choose {kind} from {spec.low:,} to {spec.high:,}"
    accepted = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise OptionError(name, value, f"not {kind}", remedy)
    # A whole number may be too large for `math.isfinite`, and is finite in any case.
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(name, value, "not finite", remedy)
    if value > spec.high:
        raise OptionError(name, value, f"more than the cap of {spec.high:,}", remedy)
    if value < spec.low:
        raise OptionError(name, value, f"less than the least, {spec.low:,}", remedy)
