"""Tasks: processes that make a target of a source."""

from types import MappingProxyType

from attnlab.generators.tasks.base import AbstractTask, is_source, true_dependence
from attnlab.generators.tasks.cards import Cards
from attnlab.generators.tasks.letters import Copy, Reverse, Shift, Sort
from attnlab.generators.tasks.source_text import read_source, write_source
from attnlab.generators.tasks.translate import Translate

TASKS = MappingProxyType(
    {kind.name: kind for kind in (Cards, Copy, Reverse, Shift, Sort, Translate)}
)

__all__ = [
    "TASKS",
    "AbstractTask",
    "Cards",
    "Copy",
    "Reverse",
    "Shift",
    "Sort",
    "Translate",
    "is_source",
    "read_source",
    "true_dependence",
    "write_source",
]
