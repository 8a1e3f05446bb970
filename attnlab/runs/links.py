"""An experiment as the query string of a link, and back; keys and labels of its controls.

A link has each option that differs from its default, under the key of the option's control. A link
may also contain a lesson: a title, a text, controls to hide, and how the page looks. A server may
have a folder of lessons: files that contain a link each, whose names are short addresses.
"""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from attnlab.configuration.number_text import read_value, show_numbers
from attnlab.configuration.options import (
    Field,
    OptionError,
    build,
    check_option,
    choose_one_of,
    chosen,
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
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import (
    AbstractOptimiser,
    AbstractSchedule,
    Constant,
    WarmUpCosine,
)

LINK_VERSION = "2"
# Defaults that have changed since: the earlier default of a control as text, by key. A key that a
# link does not have keeps meaning the earlier default, so that no link changes its meaning.
CHANGED_DEFAULTS: dict[str, str] = {}
MOST_TITLE_CHARACTERS = 80
MOST_TEXT_CHARACTERS = 600

_VERSION, _PRESET = "v", "preset"
_TITLE, _TEXT, _HIDDEN, _SHOWN, _HINTS, _TYPE = "title", "text", "hide", "show", "hints", "type"
# The value of `hide` that hides all controls except those in `show`.
_ALL = "all"
# The only values of `hints` and `type`.
_NO_HINTS, _LARGE_TYPE = "off", "large"
# A longer text of the user is left out of links.
MOST_LINKED_TEXT = 1_000
# More than the longest table of probabilities.
_MOST_CHARACTERS = 10_000
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


def controls(
    configuration: Any, parts: Callable[[Field], Iterable[Any]] = chosen
) -> dict[str, Field]:
    """Return the options that have a control, by its key; the arguments are those of `fields`."""
    found = (field for field in fields(configuration, parts) if field.is_shown)
    return {control_key(field.owner, field.name): field for field in found}


def control_values(experiment: Experiment) -> dict[str, Any]:
    """Return the value of every control by its key.

    For an option that is itself a configuration, the value is its registered name.
    """
    for field in fields(experiment):
        if field.option.registry is not None:
            check_own_name(field.name, field.value, field.option.registry)
    return {key: field.plain_value for key, field in controls(experiment).items()}


def labels_of(experiment: Experiment) -> dict[str, str]:
    """Return the labels of the controls that a lesson about this experiment can hide, by key."""
    labels = {key: label_of(each.name, each.option) for key, each in controls(experiment).items()}
    return {_PRESET: _PRESET} | labels


def all_but(shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of the controls of all experiments, except those to be `shown`."""
    return tuple(key for key in (_PRESET, *controls(Experiment, registered)) if key not in shown)


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

    Options of user-defined classes are always included, since their defaults may change.

    >>> query = to_query(Experiment(seed=3))
    >>> query["v"], query["seed"], "steps" in query
    ('2', '3', False)
    """
    texts = {key: _to_text(value) for key, value in control_values(experiment).items()}
    fields_by_key = controls(experiment)
    left_out = {key: _default_text(key, field) for key, field in fields_by_key.items()}
    query = {_VERSION: LINK_VERSION} | {
        key: linked_text(text) if fields_by_key[key].option.long_text else text
        for key, text in texts.items()
        if text != left_out[key]
    }
    if lesson is not None:
        shown = lesson.shown
        words = {
            _TITLE: lesson.title,
            _TEXT: lesson.text,
            _HIDDEN: ",".join(lesson.hidden) if shown is None else _ALL,
            _SHOWN: ",".join(shown or ()),
            _HINTS: "" if lesson.has_hints else _NO_HINTS,
            _TYPE: _LARGE_TYPE if lesson.has_large_type else "",
        }
        query |= {key: text for key, text in words.items() if text}
    return query


def is_long(text: str) -> bool:
    """Return whether a text of the user is too long for a link or a script."""
    return len(text) > MOST_LINKED_TEXT


def linked_text(text: str) -> str:
    """Return a text as it is in a link or, if it is too long for one, what the link says instead.

    >>> linked_text("abc"), linked_text("abc" * 1000)
    ('abc', 'text of 3,000 characters, 328de8f1')
    """
    if not is_long(text):
        return text
    # The digits recognise the text in a session that still has it.
    digits = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    return f"text of {len(text):,} characters, {digits}"


def left_out_of_link(experiment: Experiment) -> str:
    """Return what a link to an experiment does not have, in one sentence, or ""."""
    values = control_values(experiment).values()
    if any(isinstance(value, str) and is_long(value) for value in values):
        return (
            f"The link leaves out your sequences, which are longer than {MOST_LINKED_TEXT:,} "
            "characters. Paste them again after opening it, or send a run file, which has them."
        )
    return ""


def _default_text(key: str, field: Field) -> str | None:
    """Return the text that a link leaves out for an option, or None."""
    if field.owner.__module__.partition(".")[0] != "attnlab":
        return None
    default = default_of(field.owner, field.name)
    return CHANGED_DEFAULTS.get(key, _to_text(field._replace(value=default).plain_value))


def _to_text(value: Any) -> str:
    if isinstance(value, tuple):
        return show_numbers(value).replace("  ", ",").replace("\n", ";")
    return value if isinstance(value, str) else repr(value)


def is_link(query: Mapping[str, str]) -> bool:
    """Return whether a query string has a version, a setting or part of a lesson."""
    return len(_no_settings(query)) < len(query)


def _no_settings(query: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that are no setting of any experiment."""
    settings = {_VERSION, _TITLE, _TEXT, _HIDDEN, _SHOWN, _HINTS, _TYPE, *all_but(())}
    return tuple(key for key in query if key not in settings)


def from_query(query: Mapping[str, str], known: Mapping[str, Any] = MappingProxyType({})) -> Link:
    """Return the contents of a link; `known` are long texts that it may leave out, by key.

    Raises no error: each rejected value becomes the current default, and adds a notice.

    >>> link = from_query({"v": "2", "d_attn": "1000"})
    >>> link.experiment.model.d_attn
    6
    >>> link.notices
    ('`d_attn` is 1000: more than the cap of 128. Choose a whole number from 1 to 128.',)
    """
    notice = ""
    if query.get(_VERSION, LINK_VERSION) != LINK_VERSION:
        notice = (
            f"This attnlab reads links of version {LINK_VERSION}, so the defaults are used: choose "
            "the settings again, and share the new link."
        )
    elif sum(map(len, query.values())) > _MOST_CHARACTERS:
        notice = f"A link has at most {_MOST_CHARACTERS:,} characters; this one has more."
    if notice:
        return Link(Experiment(), Lesson(), (notice,), _no_settings(query))
    reader = _Reader(query, known)
    experiment = build(Experiment, reader.value_of, reader.make)
    lesson = reader.lesson(experiment)
    unknown = tuple(key for key in query if key not in reader.known)
    return Link(experiment, lesson, tuple(reader.notices), unknown)


class _Reader:
    """Reads a query string: `known` are the keys read so far."""

    def __init__(self, query: Mapping[str, str], texts: Mapping[str, Any]):
        self._query, self._texts = query, texts
        self.known = {_VERSION}
        self.notices: list[str] = []

    def value_of(self, kind: type, name: str) -> Any:
        """Return an option's value, or the class of an option that is itself a configuration."""
        spec, default, key = options_of(kind)[name], default_of(kind, name), control_key(kind, name)
        if spec.registry is not None and len(spec.registry) == 1:
            return type(default)
        self.known.add(key)
        text = self._query.get(key, CHANGED_DEFAULTS.get(key))
        if spec.long_text and text is not None and _LEFT_OUT.fullmatch(text):
            if isinstance(full := self._texts.get(key), str) and linked_text(full) == text:
                return full
            self.notices.append(
                f"The link does not contain its `{name}` ({text}); a sample is shown instead. "
                "Paste or upload the sequences, or open the run file."
            )
            return default
        if text is not None:
            try:
                if spec.registry is None:
                    value = read_value(name, spec, text, default)
                    check_option(name, spec, value, default)
                    return value
                if text in spec.registry:
                    return spec.registry[text]
                raise OptionError(key, text, "unknown", choose_one_of(spec.registry, text))
            except OptionError as error:
                self.notices.append(str(error))
        return default if spec.registry is None else type(default)

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
        if self._query.get(_HIDDEN) == _ALL:
            self.known.add(_HIDDEN)
            hidden = all_but(self._controls(_SHOWN, all_but(())))
        else:
            hidden = self._controls(_HIDDEN, tuple(labels_of(experiment)))
        return Lesson(
            title=self._words(_TITLE, MOST_TITLE_CHARACTERS),
            text=self._words(_TEXT, MOST_TEXT_CHARACTERS),
            hidden=hidden,
            has_hints=not self._switch(_HINTS, _NO_HINTS),
            has_large_type=self._switch(_TYPE, _LARGE_TYPE),
        )

    def _controls(self, key: str, controls: tuple[str, ...]) -> tuple[str, ...]:
        """Return the controls that the query names under `key`."""
        self.known.add(key)
        named = tuple(name for name in self._query.get(key, "").split(",") if name)
        for name in named:
            if name not in controls:
                self.notices.append(f"`{key}` names {quoted(name)}, which is not a control here.")
        return tuple(name for name in controls if name in named)

    def _words(self, key: str, most: int) -> str:
        self.known.add(key)
        text = self._query.get(key, "")
        if len(text) > most:
            self.notices.append(f"`{key}` was cut to its first {most} characters.")
        return text[:most]

    def _switch(self, key: str, on: str) -> bool:
        """Return whether a parameter of the lesson has its only value."""
        self.known.add(key)
        text = self._query.get(key, on)
        if text != on:
            error = OptionError(key, text, "unknown", f"Choose '{on}', or leave it out")
            self.notices.append(str(error))
        return key in self._query and text == on


def _without(kind: type, values: Mapping[str, Any], refused: str) -> dict[str, Any]:
    """Return the values with the rejected option, or the part it belongs to, at its default."""
    if refused in values:
        return {**values, refused: default_of(kind, refused)}
    return {
        name: _at_default(value, refused)
        if dataclasses.is_dataclass(value) and refused in options_of(value)
        else value
        for name, value in values.items()
    }


def _at_default(part: Any, refused: str) -> Any:
    try:
        alone = dataclasses.replace(part, **{refused: default_of(type(part), refused)})
    except OptionError:
        return type(part)()
    # An option rejected at its default conflicts with others.
    return type(part)() if alone == part else alone


_LEFT_OUT = re.compile(r"text of [\d,]+ characters, [0-9a-f]{8}")
_SUFFIX = ".txt"
# No dots and no slashes, so that a name never leads out of the folder.
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
# More than the longest link, whose characters may be escaped.
_MOST_FILE_BYTES = 100_000


def lesson_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the lessons in a folder, sorted."""
    found = folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ()
    return tuple(
        sorted(each.stem for each in found if each.is_file() and _FILE_NAME.fullmatch(each.stem))
    )


def read_lesson(folder: Path | None, name: str) -> Mapping[str, str]:
    """Return the parameters of the link in the file `name`.txt of a folder.

    The file, which the operator of the server wrote, contains a whole link or its query string.

    Raises:
        OptionError: If there is no such file, or it contains no link.
    """
    remedy = "Check the address, or ask for the whole link"
    missing = OptionError("lesson", name, "no lesson on this server", remedy)
    if folder is None or not _FILE_NAME.fullmatch(name):
        raise missing
    try:
        with (folder / f"{name}{_SUFFIX}").open("rb") as file:
            text = file.read(_MOST_FILE_BYTES).decode("utf-8", errors="replace").strip()
    except OSError:
        raise missing from None
    _, mark, after = text.partition("?")
    query = dict(parse_qsl(after.partition("#")[0] if mark else text))
    if not is_link(query):
        remedy = "Write the link of “Link and lesson” into its file"
        raise OptionError("lesson", name, "a lesson without a link", remedy)
    return query
