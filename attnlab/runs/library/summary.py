"""The summary of a run in a library, as JSON.

The tables in a summary are compressed and in base 64, and its experiment is JSON in a text.
"""

import base64
import dataclasses
import json
import math
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from attnlab.configuration.options import OptionError, quoted
from attnlab.configuration.visible_text import visible
from attnlab.runs.history import MOST_TESTS, Curve, Versions, current_versions, versions_of
from attnlab.runs.run_summary import NOTE_LAYOUT, RunSummary
from attnlab.runs.storage import Header, RunFileError, header_of
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json, to_json

# What a summary has, beside the `file` of its model and when it was `deleted`.
COLUMNS = (
    "experiment", "state", "reason", "steps", "seconds", "parameters", "nll", "nll_stderr",
    "accuracy", "accuracy_stderr", "excess", "excess_stderr", "exact_match", "changes", "attnlab",
    "jax", "jaxlib", "platform", "date", "name", "tags", "note", "tests", "curve",
)  # fmt: skip
# The longest note and the longest tables take half of it.
MOST_SUMMARY_BYTES = 1_000_000
MOST_CURVE_POINTS = 1_000
_MOST_REASON = 2_000
_FIGURES = Evaluation._fields[:6]
# For integers: larger ones are not exact as floats, and SQLite ends at 2**63.
_MOST_WHOLE = 2**53
# Losses are computed in float32.
_MOST_NUMBER = float(np.finfo(np.float32).max)
# Dates that every time zone can show.
_YEARS = range(2000, 2200)


class RowError(ValueError):
    """Data that are not the summary of a run; the message says why."""


def check_model(run: RunSummary, experiment: Experiment) -> None:
    """Raise `ValueError` if the model and the run belong to different experiments.

    Their training options may differ: the last saved model of a continued run may be older.
    """
    if dataclasses.replace(experiment, training=run.experiment.training) != run.experiment:
        raise ValueError(
            "Its model belongs to another experiment. Save each model with its own experiment."
        )


def header_of_model(run: RunSummary, data: bytes) -> Header:
    """Return the header of a run's run file; its arrays are checked when it is opened.

    Raises:
        RunFileError: If the run file is incomplete, or of another experiment.
    """
    header = header_of(data)
    try:
        check_model(run, header.experiment)
    except ValueError as error:
        raise RunFileError(str(error)) from None
    return header


def check_size(run: RunSummary) -> None:
    """Raise `ValueError` for too many tests or points."""
    if len(run.tests) > MOST_TESTS or run.curve.steps.size > MOST_CURVE_POINTS:
        raise ValueError(
            f"A run is kept with at most {MOST_TESTS:,} tests and {MOST_CURVE_POINTS:,} points "
            "of its curve. Leave some out."
        )


def record_of(run: RunSummary) -> dict[str, Any]:
    """Return a run's record without the name of its model's file."""
    figures: Any = run.evaluation or (None,) * len(_FIGURES)
    return {
        "experiment": to_json(run.experiment),
        "state": run.state,
        "reason": visible(" ".join(run.reason[:_MOST_REASON].split("\n")))[:_MOST_REASON],
        "steps": int(run.steps),
        "seconds": float(run.seconds),
        "parameters": int(run.parameters),
        **{name: _real(figure) for name, figure in zip(_FIGURES, figures[:6], strict=True)},
        "exact_match": _real(run.exact_match),
        "changes": run.changes,
        **(run.versions or current_versions())._asdict(),
        "date": moment(run.date),
        "name": run.name,
        "tags": "\n".join(run.tags),
        "note": run.note,
        "tests": _pack([[step, *test[:4]] for step, test in run.tests], columns=5),
        "curve": _pack(np.column_stack([run.curve.steps, run.curve.values]), columns=2),
        "deleted": None if run.deleted is None else moment(run.deleted),
        "file": None,
    }


def to_summary(record: Mapping[str, Any]) -> bytes:
    """Return a record as JSON; other types become texts, which are rejected when read."""
    return json.dumps(record, default=repr).encode()


def from_summary(data: bytes) -> dict[str, Any]:
    """Return the record in JSON, whose values `summary_in` checks. Raises `RowError`."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise RowError("It is not the summary of a run.")
    return record


def moment(date: datetime) -> str:
    """Return a date as text in UTC, as in a summary; such texts sort by time."""
    return date.astimezone(UTC).isoformat(timespec="microseconds")


def _real(figure: float | None) -> float | None:
    """Return a number as in a summary: null if it is missing or not finite."""
    return None if figure is None or not math.isfinite(figure) else float(figure)


def summary_in(record: Mapping[str, Any], number: int) -> RunSummary:
    """Return the run of a record.

    Raises `ValueError`, with the reason, for values of the wrong type, experiments that this
    program does not know, and damaged or missing parts.
    """
    if missing := [name for name in COLUMNS if name not in record]:
        raise RowError(f"It lacks a part, `{missing[0]}`.")
    record = {"file": None, "deleted": None, **record}
    versions = versions_of([record[name] for name in Versions._fields])
    try:
        tests = _unpack(_text(record, "tests"), columns=5, most=MOST_TESTS)
        curve = _unpack(_text(record, "curve"), columns=2, most=MOST_CURVE_POINTS)
        # NaN is not less than anything: a run that diverged may have it.
        if (tests < 0).any() or (tests[:, 3] > 1).any() or (curve < 0).any():
            raise RowError("One of its tables has impossible numbers.")
        return RunSummary(
            number=number,
            experiment=from_json(_text(record, "experiment")),
            state=_text(record, "state"),
            evaluation=_evaluation(record),
            steps=_whole(record, "steps"),
            seconds=_number(record, "seconds"),
            parameters=_whole(record, "parameters"),
            tests=tuple(
                (step, Evaluation(*figures))
                for step, figures in zip(_steps(tests).tolist(), tests[:, 1:].tolist(), strict=True)
            ),
            curve=Curve(_steps(curve), curve[:, 1].copy()),
            reason=visible(_text(record, "reason", most=_MOST_REASON)),
            exact_match=None
            if record["exact_match"] is None
            else _number(record, "exact_match", most=1),
            versions=versions,
            date=_date(record, "date"),
            changes=_whole(record, "changes"),
            has_model=record["file"] is not None,
            deleted=None if record["deleted"] is None else _date(record, "deleted"),
            **texts_in(record),
        )
    except (OptionError, RowError):
        raise
    # These messages are for programmers, and may quote the summary at length.
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


def texts_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's texts about the run, with question marks for invisible characters.

    Older versions of attnlab accepted them, and other programs may write them.
    """
    tags = _text(record, "tags").split("\n") if record["tags"] else ()
    return {
        "name": visible(_text(record, "name")),
        "tags": tuple(map(visible, tags)),
        "note": visible(_text(record, "note"), keep=NOTE_LAYOUT),
    }


def _evaluation(record: Mapping[str, Any]) -> Evaluation | None:
    # An accuracy is a share of sequences, so it is a number whenever there was a test.
    if record["accuracy"] is None:
        return None
    _number(record, "accuracy", most=1)
    results: Any = (math.nan if record[n] is None else _number(record, n) for n in _FIGURES[:4])
    found = Evaluation(*results)
    if record["excess"] is None or record["excess_stderr"] is None:
        return found
    # An excess may be below 0, by chance.
    excess = _number(record, "excess", least=-_MOST_NUMBER)
    return found._replace(excess=excess, excess_stderr=_number(record, "excess_stderr"))


def _steps(table: np.ndarray) -> np.ndarray:
    steps = table[:, 0]
    if not ((steps >= 0) & (steps <= _MOST_WHOLE) & (steps == np.floor(steps))).all():
        raise RowError("One of its tables has invalid steps.")
    if (np.diff(steps) <= 0).any():
        raise RowError("The steps in one of its tables are not in order.")
    return steps.astype(int)


def _text(record: Mapping[str, Any], name: str, *, most: int | None = None) -> str:
    if not isinstance(record[name], str):
        raise RowError(f"Its {name} is {quoted(record[name])}, which is not a text.")
    if most is not None and len(record[name]) > most:
        raise RowError(f"Its {name} has more than {most:,} letters.")
    return record[name]


def _whole(record: Mapping[str, Any], name: str) -> int:
    if type(record[name]) is not int or not 0 <= record[name] <= _MOST_WHOLE:
        bounds = f"a whole number from 0 to {_MOST_WHOLE:,}"
        raise RowError(f"Its {name} is {quoted(record[name])}, which is not {bounds}.")
    return record[name]


def _number(
    record: Mapping[str, Any], name: str, *, least: float = 0, most: float = _MOST_NUMBER
) -> float:
    if type(record[name]) not in (int, float) or not least <= record[name] <= most:
        bounds = f"a number from {least:.2g} to {most:.2g}"
        raise RowError(f"Its {name} is {quoted(record[name])}, which is not {bounds}.")
    return float(record[name])


def _date(record: Mapping[str, Any], name: str) -> datetime:
    text = _text(record, name)
    date = datetime.fromisoformat(text)
    if date.tzinfo is None:
        raise RowError(f"Its {name} is {quoted(text)}, which is not in UTC.")
    if date.year not in _YEARS:
        raise RowError(
            f"Its date is {quoted(text)}, which is not from {_YEARS[0]} to {_YEARS[-1]}."
        )
    return date.astimezone(UTC)


def _pack(table: Any, *, columns: int) -> str:
    """Return a table of numbers, column by column, as compressed little-endian 64-bit floats."""
    table = np.asarray(table, dtype="<f8").reshape(-1, columns)
    return base64.b64encode(zlib.compress(table.T.tobytes())).decode()


def _unpack(text: str, *, columns: int, most: int) -> np.ndarray:
    """Return the table that `_pack` wrote; raise an error for more than `most` rows, unread."""
    size = columns * most * 8
    reader = zlib.decompressobj()
    plain = reader.decompress(base64.b64decode(text, validate=True), size + 1)
    if not reader.eof or reader.unused_data or len(plain) > size or len(plain) % (columns * 8):
        raise RowError(f"One of its tables is damaged or has more than {most:,} rows.")
    return np.frombuffer(plain, dtype="<f8").reshape(columns, -1).T
