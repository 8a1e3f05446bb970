"""What a library knows of a run, as the values of a row and back."""

import dataclasses
import math
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np

from attnlab.configuration.options import OptionError, check_visible, quoted
from attnlab.configuration.visible_text import normal, visible
from attnlab.runs.differences import identity_of
from attnlab.runs.history import MOST_TESTS, Curve, Versions, current_versions, versions_of
from attnlab.runs.result import Result
from attnlab.runs.run_file_header import Header, RunFileError
from attnlab.runs.storage import header_of
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json, to_json

MOST_NAME, MOST_NOTE, MOST_TAG, MOST_TAGS = 200, 10_000, 50, 20
# Lines and tabs belong in a note.
NOTE_LAYOUT = "\n\r\t"


@dataclasses.dataclass(frozen=True)
class Description:
    """Name, tags and note of a run. Spaces around them and tags said twice are left out.

    Letters are brought to Unicode's normal form C. Refused, with an `OptionError`: texts that are
    too long or have letters that cannot be seen, tags that are empty and too many of them.

    >>> Description(" first ", ("b", "a", "b")).tags
    ('a', 'b')
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self):
        name, note = normal(self.name.strip()), normal(self.note.strip())
        tags = tuple(sorted({normal(tag.strip()) for tag in self.tags}))
        _check("name", name, MOST_NAME)
        _check("note", note.translate(dict.fromkeys(map(ord, NOTE_LAYOUT))), MOST_NOTE)
        for tag in tags:
            _check("tags", tag, MOST_TAG)
            if not tag:
                raise OptionError("tags", self.tags, "one is empty", "Leave it out")
        if len(tags) > MOST_TAGS:
            raise OptionError("tags", tags, f"more than {MOST_TAGS}", "Leave some out")
        for field, value in (("name", name), ("tags", tags), ("note", note)):
            object.__setattr__(self, field, value)


def _check(option: str, text: str, most: int) -> None:
    if len(text) > most:
        raise OptionError(option, text, f"more than {most:,} letters", "Shorten it")
    check_visible(option, text)


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


MOST_CURVE_POINTS = 1_000
_MOST_REASON = 2_000
_FIGURES = Evaluation._fields
# Of whole numbers: larger ones are not exact as floats, and SQLite ends at 2**63.
_MOST_WHOLE = 2**53
# Losses are computed in float32.
_MOST_NUMBER = float(np.finfo(np.float32).max)
# Dates that every time zone can show.
_YEARS = range(2000, 2200)


class RowError(ValueError):
    """A row that is not that of a run. Says why."""


def check_model(result: Result, experiment: Experiment) -> None:
    """Refuse, with a `ValueError`, a model of this experiment for a result of another one.

    Its training may differ: the last model of a run that went on may be of before.
    """
    if dataclasses.replace(experiment, training=result.experiment.training) != result.experiment:
        raise ValueError("Its model is of another experiment. Keep each with its own.")


def header_of_model(result: Result, data: bytes) -> Header:
    """Return the header of the run file of a result; its arrays are checked when it is opened.

    Refused, with a `RunFileError`: what is no whole run file, and one of another experiment.
    """
    header = header_of(data)
    try:
        check_model(result, header.experiment)
    except ValueError as error:
        raise RunFileError(str(error)) from None
    return header


def row_of(result: Result, date: datetime) -> dict[str, Any]:
    """What is kept of a result but its run. Refused: more tests or points than have a place."""
    experiment, curve = result.experiment, result.curve
    if len(result.tests) > MOST_TESTS or curve.steps.size > MOST_CURVE_POINTS:
        raise ValueError(
            f"A result is kept with at most {MOST_TESTS:,} tests and {MOST_CURVE_POINTS:,} points "
            "of its curve. Leave some out."
        )
    settings, seed = identity_of(experiment)
    figures = result.evaluation or (None,) * len(_FIGURES)
    return {
        "settings": settings,
        "seed": seed,
        "generator": experiment.generator.name,
        "model": experiment.model.name,
        "length": experiment.length,
        "state": result.state,
        "reason": visible(" ".join(result.reason[:_MOST_REASON].split("\n")))[:_MOST_REASON],
        "steps": int(result.steps),
        "seconds": float(result.seconds),
        "parameters": int(result.parameters),
        **{name: _real(figure) for name, figure in zip(_FIGURES, figures, strict=True)},
        "exact_match": _real(result.exact_match),
        **(result.versions or current_versions())._asdict(),
        "date": moment(date),
        "experiment": to_json(experiment),
        "tests": packed([[step, *test[:4]] for step, test in result.tests], columns=5),
        "curve": packed(np.column_stack([curve.steps, curve.values]), columns=2),
    }


def moment(date: datetime) -> str:
    """As it stands in a row; texts are in the order of time."""
    return date.astimezone(UTC).isoformat(timespec="microseconds")


def _real(figure: float | None) -> float | None:
    """Return a number as a row has it: NULL where it is missing or not finite."""
    return None if figure is None or not math.isfinite(figure) else float(figure)


def entry_of(row: Mapping[str, Any]) -> Entry:
    """The entry that is in a row.

    Refused, with a `ValueError` that says why: values of the wrong type, experiments that this
    program does not know, columns that are damaged.
    """
    try:
        words = description_of(row)
        return Entry(
            number=_whole(row, "number"),
            result=_result(row),
            name=words.name,
            tags=words.tags,
            note=words.note,
            date=_date(row, "date"),
            changes=_whole(row, "changes"),
            has_model=row["file"] is not None,
            deleted=None if row["deleted"] is None else _date(row, "deleted"),
        )
    except (OptionError, RowError):
        raise
    # The texts of these are for programmers, and may quote the row at length.
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
        zlib.error,
    ) as error:
        raise RowError("Its values are not those of a run.") from error


def _result(row: Mapping[str, Any]) -> Result:
    tests = unpacked(row["tests"], columns=5, most=MOST_TESTS)
    curve = unpacked(row["curve"], columns=2, most=MOST_CURVE_POINTS)
    # What is not a number is less than nothing else: a run that diverged may have it.
    if (tests < 0).any() or (tests[:, 3] > 1).any() or (curve < 0).any():
        raise RowError("One of its tables has numbers that no test has.")
    return Result(
        experiment=from_json(_text(row, "experiment")),
        state=_text(row, "state"),
        evaluation=_evaluation(row),
        steps=_whole(row, "steps"),
        seconds=_number(row, "seconds"),
        parameters=_whole(row, "parameters"),
        tests=tuple(
            (step, Evaluation(*figures))
            for step, figures in zip(_steps(tests).tolist(), tests[:, 1:].tolist(), strict=True)
        ),
        curve=Curve(_steps(curve), curve[:, 1].copy()),
        reason=visible(_text(row, "reason", most=_MOST_REASON)),
        exact_match=None if row.get("exact_match") is None else _share(row, "exact_match"),
        versions=_versions(row),
    )


def _versions(row: Mapping[str, Any]) -> Versions:
    try:
        return versions_of([row.get(name, "") for name in Versions._fields])
    except ValueError as error:
        raise RowError(str(error)) from None


def description_of(row: Mapping[str, Any]) -> Description:
    """The words by which the user knows the run, with question marks for invisible letters.

    Older versions of attnlab let them in, and other programs may write them.
    """
    tags = _text(row, "tags").split("\n") if row["tags"] else ()
    return Description(
        visible(_text(row, "name")),
        tuple(map(visible, tags)),
        visible(_text(row, "note"), keep=NOTE_LAYOUT),
    )


def _evaluation(row: Mapping[str, Any]) -> Evaluation | None:
    # An accuracy is a share of sequences: it is a number whenever there was a test.
    if row["accuracy"] is None:
        return None
    _share(row, "accuracy")
    names, of_excess = _FIGURES[:4], _FIGURES[4:]
    found = Evaluation(*(math.nan if row[n] is None else _number(row, n) for n in names))
    # An excess may be below 0, by luck; runs of earlier versions have none.
    excess, stderr = (row.get(name) for name in of_excess)
    if excess is not None and not (type(excess) in (int, float) and abs(excess) <= _MOST_NUMBER):
        raise RowError(f"Its excess is {quoted(excess)}, which is not a number.")
    stderr = None if stderr is None else _number(row, "excess_stderr")
    if excess is None or stderr is None:
        return found
    return found._replace(excess=float(excess), excess_stderr=stderr)


def _steps(table: np.ndarray) -> np.ndarray:
    steps = table[:, 0]
    if not ((steps >= 0) & (steps <= _MOST_WHOLE) & (steps == np.floor(steps))).all():
        raise RowError("One of its tables has steps that are none.")
    if (np.diff(steps) <= 0).any():
        raise RowError("The steps in one of its tables are not in order.")
    return steps.astype(int)


def _text(row: Mapping[str, Any], name: str, *, most: int | None = None) -> str:
    if not isinstance(row[name], str):
        raise RowError(f"Its {name} is {quoted(row[name])}, which is not a text.")
    if most is not None and len(row[name]) > most:
        raise RowError(f"Its {name} has more than {most:,} letters.")
    return row[name]


def _whole(row: Mapping[str, Any], name: str) -> int:
    if type(row[name]) is not int or not 0 <= row[name] <= _MOST_WHOLE:
        bounds = f"a whole number from 0 to {_MOST_WHOLE:,}"
        raise RowError(f"Its {name} is {quoted(row[name])}, which is not {bounds}.")
    return row[name]


def _number(row: Mapping[str, Any], name: str) -> float:
    if type(row[name]) not in (int, float) or not 0 <= row[name] <= _MOST_NUMBER:
        bounds = f"a number from 0 to {_MOST_NUMBER:.1e}"
        raise RowError(f"Its {name} is {quoted(row[name])}, which is not {bounds}.")
    return float(row[name])


def _share(row: Mapping[str, Any], name: str) -> float:
    if (share := _number(row, name)) > 1:
        raise RowError(f"Its {name} is {quoted(row[name])}, which is more than 1.")
    return share


def _date(row: Mapping[str, Any], name: str) -> datetime:
    text = _text(row, name)
    date = datetime.fromisoformat(text)
    if date.tzinfo is None:
        raise RowError(f"Its {name} is {quoted(text)}, which is not in UTC.")
    if date.year not in _YEARS:
        raise RowError(
            f"Its date is {quoted(text)}, which is not from {_YEARS[0]} to {_YEARS[-1]}."
        )
    return date.astimezone(UTC)


def packed(table: Any, *, columns: int) -> bytes:
    """A table of numbers, column after column, as compressed little-endian floats of 64 bits."""
    table = np.asarray(table, dtype="<f8").reshape(-1, columns)
    return zlib.compress(table.T.tobytes())


def unpacked(data: bytes, *, columns: int, most: int) -> np.ndarray:
    """The table that `packed` wrote. Refused, without being made: more than `most` rows."""
    size = columns * most * 8
    reader = zlib.decompressobj()
    plain = reader.decompress(data, size + 1)
    if not reader.eof or reader.unused_data or len(plain) > size or len(plain) % (columns * 8):
        raise RowError(f"One of its tables is damaged or has more than {most:,} rows.")
    return np.frombuffer(plain, dtype="<f8").reshape(columns, -1).T
