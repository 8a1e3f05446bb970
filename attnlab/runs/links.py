"""A whole experiment as the query string of a link, and back.

An option stands in a link under the key of its control, where it differs from the default of the
link's version: so a link is short, and keeps its meaning when a default changes. A link may also
carry a lesson: words to the reader, and controls to leave out.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnlab.configuration.number_text import read_value, show_numbers
from attnlab.configuration.options import OptionError, check_option, default_of, options_of, quoted
from attnlab.runs.control_keys import all_but, control_key, control_values, hideable_controls
from attnlab.runs.link_defaults import DEFAULTS, LINK_VERSION
from attnlab.training.experiment import Experiment

MOST_TITLE_CHARACTERS = 80
MOST_TEXT_CHARACTERS = 600

_VERSION, _TITLE, _TEXT, _HIDDEN, _SHOWN = "v", "title", "text", "hide", "show"
# Where a lesson would name the controls to hide: all, but those that are named beside it.
_ALL = "all"
# More than the longest table of probabilities; nobody waits for the reading of more.
_MOST_CHARACTERS = 10_000


@dataclasses.dataclass(frozen=True)
class Lesson:
    """What a teacher adds to a link: a title, some text, and the keys of controls to hide.

    `hidden` is made by `all_but` where a lesson leaves a few controls and hides all others, also
    those that come with another generator or model.
    """

    title: str = ""
    text: str = ""
    hidden: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...] | None:
        """The few controls that are left where all others are hidden; None where that is not so."""
        left = all_but(self.hidden)
        return left if len(left) < len(self.hidden) else None


class Link(NamedTuple):
    """What a query string asks for, what of it was not understood, a line each, and what it left.

    `unknown` are keys that are no setting of this experiment; a page may have a use for them.
    """

    experiment: Experiment
    lesson: Lesson
    notices: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def to_query(experiment: Experiment, lesson: Lesson | None = None) -> dict[str, str]:
    """The parameters of a link, in the order of the controls.

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
    """Whether a query string speaks of an experiment at all."""
    return _VERSION in query


def from_query(query: Mapping[str, str]) -> Link:
    """What a link asks for. What is missing takes the default of the link's version.

    Nothing raises: each thing that was not understood takes its default of today, and adds a line
    to the notices.

    >>> link = from_query({"v": "2", "d_attn": "1000"})
    >>> link.experiment.model.d_attn
    6
    >>> link.notices
    ('`d_attn` is 1000: more than the cap of 128. Choose a whole number from 1 to 128.',)
    """
    if query.get(_VERSION) not in DEFAULTS:
        notice = f"This attnlab reads links up to version {LINK_VERSION}; the settings are its own."
        return Link(Experiment(), Lesson(), (notice,), _no_settings(query))
    if sum(map(len, query.values())) > _MOST_CHARACTERS:
        notice = f"A link has at most {_MOST_CHARACTERS:,} characters; this one has more."
        return Link(Experiment(), Lesson(), (notice,), _no_settings(query))
    reading = _Reading(query)
    experiment = reading.part(Experiment)
    lesson = reading.lesson(experiment)
    return Link(experiment, lesson, tuple(reading.notices), reading.unknown())


def _no_settings(query: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that are no setting of any experiment."""
    settings = {_VERSION, _TITLE, _TEXT, _HIDDEN, _SHOWN, *all_but(())}
    return tuple(key for key in query if key not in settings)


class _Reading:
    """A query string while it is read."""

    def __init__(self, query: Mapping[str, str]):
        self._query = query
        self._defaults = DEFAULTS[query[_VERSION]]
        self._known = {_VERSION}
        self.notices: list[str] = []

    def part(self, kind: type) -> Any:
        """The configuration of that class that the query describes."""
        values = {name: self._value(kind, name) for name in options_of(kind)}
        # Each option that is refused beside the others falls back, until none is left.
        for _ in range(len(values) + 1):
            try:
                return kind(**values)
            except OptionError as error:
                self.notices.append(str(error))
                # The name of a row begins with that of its table.
                values = _without(kind, values, error.name.split()[0])
        return kind()

    def lesson(self, experiment: Experiment) -> Lesson:
        """The words to the reader, and the controls left out."""
        self._known |= {_TITLE, _TEXT, _HIDDEN}
        if self._query.get(_HIDDEN) == _ALL:
            self._known.add(_SHOWN)
            hidden = all_but(self._controls(_SHOWN, all_but(())))
        else:
            hidden = self._controls(_HIDDEN, hideable_controls(experiment))
        return Lesson(
            title=self._words(_TITLE, MOST_TITLE_CHARACTERS),
            text=self._words(_TEXT, MOST_TEXT_CHARACTERS),
            hidden=hidden,
        )

    def _controls(self, key: str, controls: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the controls that the query names under the key."""
        named = tuple(name for name in self._query.get(key, "").split(",") if name)
        for name in named:
            if name not in controls:
                self.notices.append(f"`{key}` names {quoted(name)}, which is no control here.")
        return tuple(name for name in controls if name in named)

    def unknown(self) -> tuple[str, ...]:
        """The keys that nothing asked for."""
        return tuple(key for key in self._query if key not in self._known)

    def _words(self, key: str, most: int) -> str:
        text = self._query.get(key, "")
        if len(text) > most:
            self.notices.append(f"`{key}` is cut to its first {most} characters.")
        return text[:most]

    def _value(self, kind: type, name: str) -> Any:
        spec, default = options_of(kind)[name], default_of(kind, name)
        key = control_key(kind, name)
        if spec.registry is not None and len(spec.registry) == 1:
            return self.part(type(default))
        self._known.add(key)
        text = self._query.get(key, self._defaults.get(key))
        if spec.registry is not None:
            chosen = default.name if text is None else text
            if chosen not in spec.registry:
                names = ", ".join(f"'{choice}'" for choice in spec.registry)
                self.notices.append(
                    str(OptionError(key, chosen, "unknown", f"Choose one of {names}"))
                )
                chosen = default.name
            return self.part(spec.registry[chosen])
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
    """The values with the refused option, or else the part that it belongs to, at its default."""
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
    # One that is refused at its default is refused beside the others.
    return type(part)() if alone == part else alone


def _has(value: Any, option_name: str) -> bool:
    return dataclasses.is_dataclass(value) and option_name in options_of(value)
