"""Which runs of a library are asked for, and in which order."""

import dataclasses
from types import MappingProxyType
from typing import Any

from attnlab.configuration.options import MOST_CHARACTERS, OptionError, check_typed
from attnlab.configuration.visible_text import normal
from attnlab.runs.result import STATES

# What a list can be sorted by, and the columns that decide.
SORTS = MappingProxyType(
    {
        "date": "runs.date",
        "number": "runs.number",
        "name": "runs.name",
        "process": "runs.generator",
        "model": "runs.model",
        "length": "runs.length",
        "seed": "runs.seed",
        "state": "runs.state",
        "loss": "runs.nll",
        "accuracy": "runs.accuracy",
        "steps": "runs.steps",
        "seconds": "runs.seconds",
        "parameters": "runs.parameters",
    }
)


@dataclasses.dataclass(frozen=True)
class Query:
    """Runs that fit all that is said; what is empty says nothing.

    `text`: every word of it, in any case, stands somewhere in name, note, tags, process, model or
    reason. `generator` and `model` are registered names, `tag` is a whole tag, `state` one of
    `STATES`, `settings` that of an `Identity`. `deleted` asks for those in the bin instead of the
    others. `sort` is one of `SORTS`; runs that have no such figure come last, and equals are in the
    order of their numbers. Refused, with an `OptionError`: another state or order, and a text of
    more than 200 characters or that is not UTF-8.
    """

    text: str = ""
    generator: str = ""
    model: str = ""
    tag: str = ""
    state: str = ""
    settings: str = ""
    deleted: bool = False
    sort: str = "date"
    descending: bool = True

    def __post_init__(self):
        for name, choices in (("state", ("", *STATES)), ("sort", tuple(SORTS))):
            if getattr(self, name) not in choices:
                listed = ", ".join(f"'{choice}'" for choice in choices)
                remedy = f"Choose one of {listed}"
                raise OptionError(name, getattr(self, name), "not a choice", remedy)
        for name in ("text", "generator", "model", "tag"):
            check_typed(name, getattr(self, name), most=MOST_CHARACTERS)
            # What Python makes of bytes of the command line that are not UTF-8.
            if any("\ud800" <= letter <= "\udfff" for letter in getattr(self, name)):
                raise OptionError(name, getattr(self, name), "not UTF-8", "Type it in UTF-8")


def condition_of(query: Query) -> tuple[str, list[Any]]:
    """What follows WHERE, and its values."""
    parts, values = [f"runs.deleted IS {'NOT ' if query.deleted else ''}NULL"], []
    for column in ("generator", "model", "state", "settings"):
        if wanted := getattr(query, column):
            parts.append(f"runs.{column} = ?")
            values.append(wanted)
    if query.tag:
        parts.append("runs.number IN (SELECT number FROM tags WHERE tag = ?)")
        values.append(normal(query.tag))
    for word in normal(query.text).casefold().split():
        parts.append("instr(runs.words, ?)")
        values.append(word)
    return " AND ".join(parts), values


def order_of(query: Query) -> str:
    """What follows ORDER BY."""
    direction = "DESC" if query.descending else "ASC"
    return f"{SORTS[query.sort]} {direction} NULLS LAST, runs.number {direction}"
