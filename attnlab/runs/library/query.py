"""Queries: which runs of a library are listed, and in which order."""

import dataclasses
import json
from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.configuration.options import (
    MOST_CHARACTERS,
    OptionError,
    check_typed,
    choose_one_of,
)
from attnlab.configuration.visible_text import normal
from attnlab.runs.run_summary import STATES
from attnlab.training.experiment import Experiment, from_json_record, to_json

# The possible sort orders of a list, and their fields of `Head`.
SORTS = MappingProxyType(
    {
        "date": "date",
        "number": "number",
        "name": "name",
        "process": "generator",
        "model": "model",
        "length": "length",
        "seed": "seed",
        "state": "state",
        "loss": "nll",
        "accuracy": "accuracy",
        "steps": "steps",
        "seconds": "seconds",
        "parameters": "parameters",
    }
)


@dataclasses.dataclass(frozen=True)
class Query:
    """A query for runs that match all of its fields; empty fields match everything.

    `text`: every word of it, in any case, must occur in name, note, tags, process, model or reason.
    `generator` and `model` are registered names, `tag` is a whole tag, `state` one of `STATES`,
    `like` an experiment: runs with its settings and any seed. `deleted` selects those in the bin
    instead of the others. `sort` is one of `SORTS`; runs without that value come last, and ties are
    ordered by number. Raises `OptionError` for another state or order, and a text of more than 200
    characters or that is not UTF-8.
    """

    text: str = ""
    generator: str = ""
    model: str = ""
    tag: str = ""
    state: str = ""
    like: Experiment | None = None
    deleted: bool = False
    sort: str = "date"
    descending: bool = True

    def __post_init__(self):
        for name, choices in (("state", ("", *STATES)), ("sort", tuple(SORTS))):
            if (value := getattr(self, name)) not in choices:
                raise OptionError(name, value, "not a choice", choose_one_of(choices, value))
        for name in ("text", "generator", "model", "tag"):
            check_typed(name, getattr(self, name), most=MOST_CHARACTERS)
            # How Python represents bytes of the command line that are not UTF-8.
            if any("\ud800" <= letter <= "\udfff" for letter in getattr(self, name)):
                raise OptionError(name, getattr(self, name), "not UTF-8", "Type it in UTF-8")


class Head(NamedTuple):
    """The part of a summary that lists need; a value of the wrong type is None.

    `stamp` changes whenever the summary's file changes, `file` is that of the model, `words` is
    what `Query.text` searches, and `experiment` is JSON.
    """

    number: int
    stamp: Hashable
    file: str | None = None
    deleted: str | None = None
    generator: str | None = None
    model: str | None = None
    length: float | None = None
    seed: float | None = None
    state: str | None = None
    steps: float | None = None
    seconds: float | None = None
    parameters: float | None = None
    nll: float | None = None
    accuracy: float | None = None
    changes: float | None = None
    date: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    words: str = ""
    experiment: str | None = None


_TEXTS = ("file", "deleted", "state", "date", "name", "experiment")
_NUMBERS = ("steps", "seconds", "parameters", "nll", "accuracy", "changes")


def head_of(number: int, stamp: Hashable, record: Mapping[str, Any]) -> Head:
    """Return the head of a summary, which need not be valid."""
    experiment = _parse(record.get("experiment"))
    parts = {name: _text(_parse(experiment.get(name)), "name") for name in ("generator", "model")}
    texts = {name: _text(record, name) for name in _TEXTS}
    numbers: dict[str, Any] = {name: _number(record, name) for name in _NUMBERS}
    numbers |= {name: _number(experiment, name) for name in ("length", "seed")}
    tags = tuple(filter(None, (_text(record, "tags") or "").split("\n")))
    more = (_text(record, name) for name in ("note", "reason"))
    words = "\n".join(filter(None, (texts["name"], *tags, *parts.values(), *more))).casefold()
    return Head(number, stamp, **parts, **texts, **numbers, tags=tags, words=words)


def _parse(value: Any) -> Mapping[str, Any]:
    """Return an object, or that of its JSON; an empty one for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get(name)
    return value if isinstance(value, str) else None


def _number(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    # NaN has no place in an order.
    return value if type(value) in (int, float) and value == value else None


def matching(heads: Iterable[Head], query: Query) -> list[Head]:
    """Return the heads that match, in order."""
    wanted = {name: getattr(query, name) for name in ("generator", "model", "state")}
    wanted = {name: value for name, value in wanted.items() if value}
    words, tag = normal(query.text).casefold().split(), normal(query.tag)
    found = [
        head
        for head in heads
        if (head.deleted is not None) == query.deleted
        and all(getattr(head, name) == value for name, value in wanted.items())
        and (not tag or tag in head.tags)
        and all(word in head.words for word in words)
    ]
    if query.like is not None:
        found = like(found, query.like)
    field = SORTS[query.sort]
    found.sort(key=lambda head: head.number, reverse=query.descending)
    known = [head for head in found if getattr(head, field) is not None]
    # Python keeps equals in their order when it sorts backwards, too.
    known.sort(key=lambda head: getattr(head, field), reverse=query.descending)
    return known + [head for head in found if getattr(head, field) is None]


def like(heads: Iterable[Head], experiment: Experiment) -> list[Head]:
    """Return the heads of runs with the settings of the experiment and any seed."""
    try:
        wanted = _parse(to_json(experiment))
    except OptionError:
        # No library contains an unregistered class with the name of a registered one.
        return []

    def is_like(head: Head) -> bool:
        found = {**_parse(head.experiment), "seed": experiment.seed}
        if found == wanted or _names(found) == _names(wanted):
            return found == wanted
        # It was written by an attnlab with other options, which have defaults.
        try:
            return from_json_record(found) == experiment
        except ValueError:
            return False

    names = experiment.generator.name, experiment.model.name, experiment.length
    return [h for h in heads if (h.generator, h.model, h.length) == names and is_like(h)]


def _names(record: Any) -> Any:
    """Return the names of all options, as a tree."""
    if not isinstance(record, dict):
        return None
    return {name: _names(value) for name, value in record.items()}


class Choices(NamedTuple):
    """The values that runs outside the bin can be filtered by, in alphabetical order."""

    generators: tuple[str, ...]
    models: tuple[str, ...]
    tags: tuple[str, ...]


def choices_of(heads: Iterable[Head]) -> Choices:
    """Return the values that some run outside the bin has."""
    listed = [head for head in heads if head.deleted is None]
    generators = {head.generator for head in listed if head.generator is not None}
    models = {head.model for head in listed if head.model is not None}
    tags = {tag for head in listed for tag in head.tags}
    return Choices(tuple(sorted(generators)), tuple(sorted(models)), tuple(sorted(tags)))
