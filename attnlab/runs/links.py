"""An experiment as the query string of a link, and back; keys and labels of its controls.

A link has each option that differs from the default of the link's version, under the key of the
option's control. So links are short, and keep their meaning when a default changes. A link may also
contain a lesson: a title, a text, controls to hide, and how the page looks.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attnlab.configuration.number_text import read_value, show_numbers
from attnlab.configuration.options import (
    OptionError,
    build,
    check_option,
    choose_one_of,
    default_of,
    fields,
    label_of,
    options_of,
    quoted,
    registered,
)
from attnlab.configuration.records import check_own_name
from attnlab.generators import AbstractGenerator
from attnlab.models import AbstractModelOptions, AttentionOptions, LinearOptions
from attnlab.positions import AbstractPosition
from attnlab.runs.link_defaults import DEFAULTS, LINK_VERSION
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import (
    AbstractOptimiser,
    AbstractSchedule,
    Constant,
    WarmUpCosine,
)

MOST_TITLE_CHARACTERS = 80
MOST_TEXT_CHARACTERS = 600

_VERSION, _TITLE, _TEXT, _HIDDEN, _SHOWN = "v", "title", "text", "hide", "show"
# The value of `hide` that hides all controls except those in `show`.
_ALL = "all"
# Parameters of a lesson with their only value.
_NO_HINTS, _LARGE_TYPE = ("hints", "off"), ("type", "large")
# More than the longest table of probabilities.
_MOST_CHARACTERS = 10_000
_PRESET = "preset"
# The oldest classes: their keys are the plain names of options, as in existing links.
_PLAIN = (AttentionOptions, LinearOptions, Constant, WarmUpCosine)
_PREFIXED = (
    AbstractGenerator,
    AbstractModelOptions,
    AbstractPosition,
    AbstractOptimiser,
    AbstractSchedule,
)


def control_key(owner: type, name: str) -> str:
    """Return the key of an option's control, which is also its name in a link."""
    is_prefixed = issubclass(owner, _PREFIXED) and owner not in _PLAIN
    return f"{owner.name}_{name}" if is_prefixed else name


def control_values(configuration: Any) -> Iterator[tuple[str, Any]]:
    """Yield key and value of every control of a configuration and of its parts.

    For an option that is itself a configuration, the value is its registered name.
    """
    for field in fields(configuration):
        if field.option.registry is not None:
            check_own_name(field.name, field.value, field.option.registry)
        if field.is_shown:
            yield control_key(field.owner, field.name), field.plain_value


def labels_of(experiment: Experiment) -> dict[str, str]:
    """Return the labels of the controls that a lesson about this experiment can hide, by key."""
    shown = (field for field in fields(experiment) if field.is_shown)
    labels = {control_key(each.owner, each.name): label_of(*each[1:3]) for each in shown}
    return {_PRESET: _PRESET} | labels


def all_but(shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of the controls of all experiments, except those to be `shown`."""
    every = (field for field in fields(Experiment, registered) if field.is_shown)
    keys = dict.fromkeys((_PRESET, *(control_key(each.owner, each.name) for each in every)))
    return tuple(key for key in keys if key not in shown)


@dataclasses.dataclass(frozen=True)
class Lesson:
    """What a teacher adds to a link: a title, some text, and the keys of controls to hide.

    `has_hints` is whether Train proposes what to change, `has_large_type` whether charts have large
    type, as for a projector.

    For a lesson that shows only a few controls, `all_but` returns `hidden`, which includes the
    controls of other generators and models.
    """

    title: str = ""
    text: str = ""
    hidden: tuple[str, ...] = ()
    has_hints: bool = True
    has_large_type: bool = False

    @property
    def shown(self) -> tuple[str, ...] | None:
        """The controls that are shown, if most are hidden; otherwise None."""
        left = all_but(self.hidden)
        return left if len(left) < len(self.hidden) else None


class Link(NamedTuple):
    """The contents of a query string, and a line for each part that was not understood.

    `unknown` are keys that are no setting of this experiment; a page may use them.
    """

    experiment: Experiment
    lesson: Lesson
    notices: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def to_query(experiment: Experiment, lesson: Lesson | None = None) -> dict[str, str]:
    """Return the parameters of a link, in the order of the controls.

    >>> query = to_query(Experiment(seed=3))
    >>> query["v"], query["seed"], "steps" in query
    ('2', '3', False)
    """
    texts = {key: _to_text(value) for key, value in control_values(experiment)}
    left_out = DEFAULTS[LINK_VERSION].items()
    query = {_VERSION: LINK_VERSION} | dict(pair for pair in texts.items() if pair not in left_out)
    if lesson is not None:
        words = {_TITLE: lesson.title, _TEXT: lesson.text, **_hiding(lesson)}
        query |= {key: text for key, text in words.items() if text}
        query |= dict([_NO_HINTS] * (not lesson.has_hints) + [_LARGE_TYPE] * lesson.has_large_type)
    return query


def _hiding(lesson: Lesson) -> dict[str, str]:
    if lesson.shown is None:
        return {_HIDDEN: ",".join(lesson.hidden)}
    return {_HIDDEN: _ALL, _SHOWN: ",".join(lesson.shown)}


def _to_text(value: Any) -> str:
    if isinstance(value, tuple):
        return show_numbers(value).replace("  ", ",").replace("\n", ";")
    return value if isinstance(value, str) else repr(value)


def is_link(query: Mapping[str, str]) -> bool:
    """Return whether a query string has a version, a setting or part of a lesson."""
    return len(_no_settings(query)) < len(query)


def from_query(query: Mapping[str, str]) -> Link:
    """Return the contents of a link. A missing key means the default of the link's version.

    A query without version has the newest one.

    Raises no error: each rejected value becomes the current default, and adds a notice.

    >>> link = from_query({"v": "2", "d_attn": "1000"})
    >>> link.experiment.model.d_attn
    6
    >>> link.notices
    ('`d_attn` is 1000: more than the cap of 128. Choose a whole number from 1 to 128.',)
    """
    if query.get(_VERSION, LINK_VERSION) not in DEFAULTS:
        notice = f"This attnlab reads links up to version {LINK_VERSION}; the defaults are used."
        return Link(Experiment(), Lesson(), (notice,), _no_settings(query))
    if sum(map(len, query.values())) > _MOST_CHARACTERS:
        notice = f"A link has at most {_MOST_CHARACTERS:,} characters; this one has more."
        return Link(Experiment(), Lesson(), (notice,), _no_settings(query))
    reading = _Reading(query)
    experiment = build(Experiment, reading.value, reading.make)
    lesson = reading.lesson(experiment)
    return Link(experiment, lesson, tuple(reading.notices), reading.unknown())


def _no_settings(query: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that are no setting of any experiment."""
    lesson = {_TITLE, _TEXT, _HIDDEN, _SHOWN, _NO_HINTS[0], _LARGE_TYPE[0]}
    settings = {_VERSION, *lesson, *all_but(())}
    return tuple(key for key in query if key not in settings)


class _Reading:
    """The state of reading a query string: keys read so far, and notices."""

    def __init__(self, query: Mapping[str, str]):
        self._query = query
        self._defaults = DEFAULTS[query.get(_VERSION, LINK_VERSION)]
        self._known = {_VERSION}
        self.notices: list[str] = []

    def make(self, kind: type, values: dict[str, Any]) -> Any:
        """Make a part; an option that it rejects in combination with others gets its default."""
        for _ in range(len(values) + 1):
            try:
                return kind(**values)
            except OptionError as error:
                self.notices.append(str(error))
                # The name of a row starts with the name of its table.
                values = _without(kind, values, error.name.split()[0])
        return kind()

    def lesson(self, experiment: Experiment) -> Lesson:
        """Return the title, the text and the controls to hide."""
        self._known |= {_TITLE, _TEXT, _HIDDEN}
        if self._query.get(_HIDDEN) == _ALL:
            self._known.add(_SHOWN)
            hidden = all_but(self._controls(_SHOWN, all_but(())))
        else:
            hidden = self._controls(_HIDDEN, tuple(labels_of(experiment)))
        return Lesson(
            title=self._words(_TITLE, MOST_TITLE_CHARACTERS),
            text=self._words(_TEXT, MOST_TEXT_CHARACTERS),
            hidden=hidden,
            has_hints=not self._switch(*_NO_HINTS),
            has_large_type=self._switch(*_LARGE_TYPE),
        )

    def _switch(self, key: str, on: str) -> bool:
        """Return whether a parameter of the lesson has its only value."""
        self._known.add(key)
        text = self._query.get(key, on)
        if text != on:
            error = OptionError(key, text, "unknown", f"Choose '{on}', or leave it out")
            self.notices.append(str(error))
        return key in self._query and text == on

    def _controls(self, key: str, controls: tuple[str, ...]) -> tuple[str, ...]:
        """Return the controls that the query names under `key`."""
        named = tuple(name for name in self._query.get(key, "").split(",") if name)
        for name in named:
            if name not in controls:
                self.notices.append(f"`{key}` names {quoted(name)}, which is not a control here.")
        return tuple(name for name in controls if name in named)

    def unknown(self) -> tuple[str, ...]:
        """Return the keys that were not read."""
        return tuple(key for key in self._query if key not in self._known)

    def _words(self, key: str, most: int) -> str:
        text = self._query.get(key, "")
        if len(text) > most:
            self.notices.append(f"`{key}` was cut to its first {most} characters.")
        return text[:most]

    def value(self, kind: type, name: str) -> Any:
        """Return an option's value, or the class of an option that is itself a configuration."""
        spec, default = options_of(kind)[name], default_of(kind, name)
        key = control_key(kind, name)
        if spec.registry is not None and len(spec.registry) == 1:
            return type(default)
        self._known.add(key)
        text = self._query.get(key, self._defaults.get(key))
        if spec.registry is not None:
            chosen = default.name if text is None else text
            if chosen not in spec.registry:
                remedy = choose_one_of(spec.registry, chosen)
                self.notices.append(str(OptionError(key, chosen, "unknown", remedy)))
                chosen = default.name
            return spec.registry[chosen]
        if text is None:
            return default
        try:
            value = read_value(name, spec, text, default)
            check_option(name, spec, value, default)
        except OptionError as error:
            self.notices.append(str(error))
            return default
        return value


def _without(kind: type, values: Mapping[str, Any], refused: str) -> dict[str, Any]:
    """Return the values with the rejected option, or the part it belongs to, at its default."""
    if refused in values:
        return {**values, refused: default_of(kind, refused)}
    return {
        name: _at_default(value, refused) if _has(value, refused) else value
        for name, value in values.items()
    }


def _at_default(part: Any, refused: str) -> Any:
    default = default_of(type(part), refused)
    try:
        alone = dataclasses.replace(part, **{refused: default})
    except OptionError:
        return type(part)()
    # An option rejected at its default conflicts with others.
    return type(part)() if alone == part else alone


def _has(value: Any, option_name: str) -> bool:
    return dataclasses.is_dataclass(value) and option_name in options_of(value)
