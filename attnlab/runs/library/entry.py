"""A run as a library has it."""

import dataclasses
from datetime import datetime, tzinfo

from attnlab.runs.result import Result


@dataclasses.dataclass(frozen=True)
class Entry:
    """What a library knows of a run; `Library.run_of` gives its model, if it `has_model`.

    `number` is the run's own within its library, and `result` is without `run`. `name`, `tags` and
    `note` are the user's words. `date` is when it was last kept, in UTC. `changes` is how often it
    went on with other settings than it began with; those of `result` are the last. `deleted` is
    when it was put into the bin, if it is there.
    """

    number: int
    result: Result
    name: str
    tags: tuple[str, ...]
    note: str
    date: datetime
    changes: int
    has_model: bool
    deleted: datetime | None

    def kept_at(self, zone: tzinfo | None = None) -> str:
        """Return the date with its offset from UTC, by default in this machine's time zone."""
        return self.date.astimezone(zone).isoformat(" ", "minutes")
