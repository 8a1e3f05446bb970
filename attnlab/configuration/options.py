"""How options are declared, checked and listed.

An option and its default are declared in the class they belong to, such as `TransformerOptions`.
Every configuration class of attnlab is a frozen dataclass whose fields are made by `option`. An
option may itself be a configuration, so that an experiment is a tree. Controls, flags, links, JSON
and differences are made by one walk over it, `fields`, and read back by `build`.
"""

import copyreg
import dataclasses
import difflib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from attnlab.configuration.visible_text import invisible_letters, normal

Value = TypeVar("Value")

if TYPE_CHECKING:

    class OrName(Generic[Value]):
        """An option that is itself a configuration: it is set by object or name, read as object."""

        # Type checkers take the constructor's argument from `__set__`.
        def __get__(self, owner: Any, kind: Any) -> Value: ...
        def __set__(self, owner: Any, value: Value | str) -> None: ...

else:
    OrName = Value | str

# For a text option, and any text that is read as numbers or symbols: a table may be long.
MOST_CHARACTERS, MOST_TYPED = 200, 10_000
_MOST_QUOTED = 60
# If there are more names than this, a message lists only the most similar ones.
_MOST_NAMES, _NEAREST = 12, 3


def present(value: Value | None) -> Value:
    """Return a value that may be None in general, but not where this is called."""
    assert value is not None
    return value


class AttnlabError(Exception):
    """An error whose constructor composes its message; it can be pickled."""

    def __reduce__(self):
        # By default pickle would call the constructor again, with only the finished message.
        constructor = copyreg.__newobj__  # pyright: ignore[reportAttributeAccessIssue]: not in stubs
        return constructor, (type(self), *self.args), vars(self)


class OptionError(AttnlabError, ValueError):
    """Raised for a value that an option may not have; names option, value and remedy."""

    def __init__(self, name: str, value: Any, problem: str, remedy: str):
        self.name, self.value = name, value
        # A file or an address may name unknown options of any length.
        shown = _shortened(_written(name)[1:-1])
        super().__init__(f"`{shown}` is {quoted(value)}: {problem}. {remedy}.")


def quoted(value: Any) -> str:
    """Return an untrusted value for a message: its Python text, cut to 60 characters.

    A backtick is written as its code, since backticks in a message mark option names.

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
    """The declaration of an option, apart from its default value.

    `registry` marks an option that is itself one of several configurations, such as a positional
    encoding. `unit` follows the label. `logarithmic` gives the control a logarithmic scale. A
    `long_text` may have that many characters and is kept as it is, with its line breaks; the class
    itself reads and checks it.
    """

    help: str
    label: str = ""
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[str, ...] = ()
    registry: Mapping[str, type] | None = None
    unit: str = ""
    logarithmic: bool = False
    long_text: int = 0

    @property
    def bounds(self) -> tuple[int | float, int | float]:
        """The smallest and the largest value of a number."""
        return present(self.low), present(self.high)


def option(default: Any, help: str, **rest: Any) -> Any:
    """Return a dataclass field that is an option; `rest` are the other fields of `Option`.

    Among them are `low` and `high`, the bounds of a number, and `choices`, the values of a text.
    """
    metadata = {"option": Option(help=help, **rest)}
    return dataclasses.field(default=default, metadata=metadata)


class Options:
    """Base of every frozen dataclass whose fields are options: checks them when it is made.

    A class with further checks calls this `__post_init__` first. The name of a registered class
    becomes an object with its defaults. Numbers are converted to the type of their default, and
    texts to Unicode's normal form C with single spaces, so that equal configurations are written
    the same way. Its docstring ends with what each option means.
    """

    def __init_subclass__(cls, **rest: Any):
        super().__init_subclass__(**rest)
        known: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            # Of the class itself, `dataclass` has not read the fields yet.
            known |= vars(base) if base is cls else vars(base).get("__dataclass_fields__", {})
        found = [(name, field) for name, field in known.items() if _is_option(field)]
        if found and cls.__doc__:
            found.sort(key=lambda item: item[1].kw_only is True)
            lines = (f"    {name}: {_meaning(field)}" for name, field in found)
            cls.__doc__ = "\n".join((inspect.cleandoc(cls.__doc__), "", "Attributes:", *lines, ""))

    def __post_init__(self):
        for name, spec in options_of(self).items():
            value = getattr(self, name)
            if spec.registry is not None and isinstance(value, str) and value in spec.registry:
                object.__setattr__(self, name, spec.registry[value]())
        check_options(self)
        for name, spec in options_of(self).items():
            if not spec.long_text:
                value = _as_typed(getattr(self, name), default_of(self, name))
                object.__setattr__(self, name, value)


def _is_option(value: Any) -> bool:
    return isinstance(value, dataclasses.Field) and "option" in value.metadata


def _meaning(field: dataclasses.Field) -> str:
    """Return what an option means, the values that it may have, and its default."""
    spec: Option = field.metadata["option"]
    default, allowed = repr(field.default), ""
    if spec.registry is not None:
        default = field.default.name
        allowed = f"One of {', '.join(spec.registry)}" if len(spec.registry) > 1 else ""
    elif spec.choices:
        allowed = f"One of {', '.join(map(repr, spec.choices))}"
    elif spec.low is not None:
        allowed = f"From {spec.low} to {spec.high}"
    elif spec.long_text:
        default, allowed = "a short sample", f"At most {spec.long_text:,} characters"
    help = " ".join(spec.help.split())
    return f"{help} {allowed}; default {default}." if allowed else f"{help} Default {default}."


def _as_typed(value: Any, default: Any) -> Any:
    """Convert numbers to float if `default` is one (-0.0 to 0.0), and texts to normal form."""
    if isinstance(default, tuple) and isinstance(value, tuple) and default:
        return tuple(_as_typed(part, default[0]) for part in value)
    if isinstance(default, float) and (type(value) is float or type(value) is int):
        # An integer may be too large for a float; the checks of a class reject it.
        return float(value) + 0.0 if abs(value) <= sys.float_info.max else value
    return normal(" ".join(value.split())) if isinstance(value, str) else value


def options_of(configuration: Any) -> Mapping[str, Option]:
    """Return the options of a configuration class or instance by name, in declared order.

    Keyword-only options come last, as in the constructor.
    """
    kind = configuration if isinstance(configuration, type) else type(configuration)
    return _options_of_class(kind)


# A page asks for the options of the same classes thousands of times.
@functools.cache
def _options_of_class(kind: type) -> Mapping[str, Option]:
    fields = sorted(dataclasses.fields(kind), key=lambda field: field.kw_only is True)
    return MappingProxyType({f.name: f.metadata["option"] for f in fields if _is_option(f)})


def default_of(configuration: Any, name: str) -> Any:
    """Return the declared default of the option `name`."""
    return next(f.default for f in dataclasses.fields(configuration) if f.name == name)


class Field(NamedTuple):
    """One option in the tree of a configuration, with its class and its value."""

    owner: type
    name: str
    option: Option
    value: Any

    @property
    def is_shown(self) -> bool:
        """Whether the option has a control: with a single registered class it has none."""
        return self.option.registry is None or len(self.option.registry) > 1

    @property
    def plain_value(self) -> Any:
        """The value; for an option that is itself a configuration, the name of its class."""
        return self.value if self.option.registry is None else self.value.name


def chosen(field: Field) -> Iterable[Any]:
    """Return the selected part of an option, for `fields`."""
    return (field.value,)


def registered(field: Field) -> Iterable[type]:
    """Return every class that an option can have, for `fields`."""
    return present(field.option.registry).values()


def fields(configuration: Any, parts: Callable[[Field], Iterable[Any]] = chosen) -> Iterator[Field]:
    """Walk over the options of a configuration and of its parts, in declared order.

    Args:
        configuration: An instance, or a class, whose values are its defaults.
        parts: Returns the parts to walk over, given an option that is itself a configuration.
    """
    owner = configuration if isinstance(configuration, type) else type(configuration)
    for name, spec in options_of(configuration).items():
        field = Field(owner, name, spec, getattr(configuration, name))
        yield field
        if spec.registry is not None:
            for part in parts(field):
                yield from fields(part, parts)


def build(
    kind: type,
    value_of: Callable[[type, str], Any],
    make: Callable[[type, dict[str, Any]], Any] = lambda kind, values: kind(**values),
) -> Any:
    """Make a configuration and its parts, the inverse of `fields`.

    Args:
        kind: The class to make.
        value_of: Returns the value of an option, given its class and its name; for an option that
            is itself a configuration, its class.
        make: Makes one part, given its class and its values.
    """
    values = {}
    for name, spec in options_of(kind).items():
        value = value_of(kind, name)
        values[name] = value if spec.registry is None else build(value, value_of, make)
    return make(kind, values)


def label_of(name: str, spec: Option, *, unit: bool = True) -> str:
    """Return the label of an option on screen, with or without its unit."""
    # Names such as `d_model` are written as in the literature.
    label = spec.label or (name if name.startswith("d_") else name.replace("_", " "))
    return f"{label} ({spec.unit})" if spec.unit and unit else label


class Finding(NamedTuple):
    """A remark about the value of one option, by its name."""

    option: str
    text: str


def check_options(configuration: Any) -> None:
    """Raise `OptionError` for the first option of wrong type, out of bounds or not a choice."""
    for name, spec in options_of(configuration).items():
        check_option(name, spec, getattr(configuration, name), default_of(configuration, name))


def check_option(name: str, spec: Option, value: Any, default: Any) -> None:
    """Raise `OptionError` unless `value` is of the kind of `default` and within `spec`."""
    if spec.registry is not None:
        # Scripts may use an unregistered class; links, files and pages need a registered name.
        if not isinstance(value, _base_of(spec.registry)):
            raise OptionError(name, value, "not a choice", choose_one_of(spec.registry, value))
    elif spec.choices:
        if value not in spec.choices:
            raise OptionError(name, value, "not a choice", choose_one_of(spec.choices, value))
    elif isinstance(default, str):
        most = spec.long_text or MOST_CHARACTERS
        if not isinstance(value, str) or len(value) > most:
            remedy = "Shorten it" if spec.long_text else "Type a short text"
            raise OptionError(name, value, f"not a text of at most {most:,} characters", remedy)
        if spec.long_text:
            return
        # White space of any kind becomes a space.
        check_visible(name, " ".join(value.split()))
    elif isinstance(default, int | float):
        _check_number(name, spec, value, whole=isinstance(default, int))


def check_typed(name: str, text: str, *, most: int = MOST_TYPED) -> None:
    """Raise `OptionError` for a text of more than `most` characters, before it is parsed."""
    if len(text) > most:
        raise OptionError(name, text, f"longer than {most:,} characters", "Shorten it")


def check_visible(name: str, text: str) -> None:
    """Raise `OptionError` for a text with an invisible character."""
    for letter in invisible_letters(text).values():
        code = f"U+{ord(letter):04X}"
        raise OptionError(name, text, f"{code} in it is invisible", "Leave it out")


def _base_of(registry: Mapping[str, type]) -> type:
    """Return the most specific common base class of the registry."""
    first, *rest = registry.values()
    return next(base for base in first.__mro__ if all(issubclass(kind, base) for kind in rest))


def choose_one_of(names: Collection[str], instead_of: Any = "") -> str:
    """Return the remedy for an unknown name: all names, or of many those most like it.

    >>> choose_one_of(["chain", "pairs"])
    "Choose one of 'chain', 'pairs'"
    """
    shown, listed = list(names), "Choose one of "
    if len(shown) > _MOST_NAMES:
        text = str(instead_of)[:_MOST_QUOTED]
        listed += f"{len(shown)} names, such as "
        shown = difflib.get_close_matches(text, shown, _NEAREST) or shown[:_NEAREST]
    return listed + ", ".join(f"'{name}'" for name in shown)


def _check_number(name: str, spec: Option, value: Any, *, whole: bool) -> None:
    kind = "a whole number" if whole else "a number"
    low, high = spec.bounds
    remedy = f"Choose {kind} from {low:,} to {high:,}"
    accepted = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise OptionError(name, value, f"not {kind}", remedy)
    # An integer may be too large for `math.isfinite`, but is always finite.
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(name, value, "not finite", remedy)
    if value > high:
        raise OptionError(name, value, f"more than the cap of {high:,}", remedy)
    if value < low:
        raise OptionError(name, value, f"less than the minimum, {low:,}", remedy)
