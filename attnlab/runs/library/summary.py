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
from types import MappingProxyType
from typing import Any

import numpy as np

from attnlab.configuration.options import OptionError, quoted
from attnlab.configuration.visible_text import visible
from attnlab.runs.history import MOST_TESTS, Curve, Versions, current_versions, versions_of
from attnlab.runs.run_file_header import Header, RunFileError
from attnlab.runs.run_summary import NOTE_LAYOUT, RunSummary
from attnlab.runs.storage import header_of
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json, to_json

# What a summary has, beside the `file` of its model and when it was `deleted`.
COLUMNS = (
    "experiment", "state", "reason", "steps", "seconds", "parameters", "nll", "nll_stderr",
    "accuracy", "accuracy_stderr", "changes", "attnlab", "jax", "date", "name", "tags", "note",
)  # fmt: skip
TABLES = ("tests", "curve")
# Newer columns: a summary may lack them.
LATER = MappingProxyType(
    {"exact_match": None, "jaxlib": "", "platform": "", "excess": None, "excess_stderr": None}
)
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
        **{name: _real(figure) for name, figure in zip(_FIGURES, figures, strict=False)},
        "exact_match": _real(run.exact_match),
        "changes": run.changes,
        **(run.versions or current_versions())._asdict(),
        "date": moment(run.date),
        "name": run.name,
        "tags": "\n".join(run.tags),
        "note": run.note,
        "tests": _packed([[step, *test[:4]] for step, test in run.tests], columns=5),
        "curve": _packed(np.column_stack([run.curve.steps, run.curve.values]), columns=2),
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
    if missing := [name for name in (*COLUMNS, *TABLES) if name not in record]:
        raise RowError(f"It lacks a part, `{missing[0]}`.")
    row = {**LATER, "file": None, "deleted": None, **record}
    try:
        tests = _unpacked(_text(row, "tests"), columns=5, most=MOST_TESTS)
        curve = _unpacked(_text(row, "curve"), columns=2, most=MOST_CURVE_POINTS)
        # NaN is not less than anything: a run that diverged may have it.
        if (tests < 0).any() or (tests[:, 3] > 1).any() or (curve < 0).any():
            raise RowError("One of its tables has impossible numbers.")
        return RunSummary(
            number=number,
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
            exact_match=None if row["exact_match"] is None else _share(row, "exact_match"),
            versions=_versions(row),
            date=_date(row, "date"),
            changes=_whole(row, "changes"),
            has_model=row["file"] is not None,
            deleted=None if row["deleted"] is None else _date(row, "deleted"),
            **texts_in(row),
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


def _versions(row: Mapping[str, Any]) -> Versions:
    try:
        return versions_of([row[name] for name in Versions._fields])
    except ValueError as error:
        raise RowError(str(error)) from None


def texts_in(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's texts about the run, with question marks for invisible characters.

    Older versions of attnlab accepted them, and other programs may write them.
    """
    tags = _text(row, "tags").split("\n") if row["tags"] else ()
    return {
        "name": visible(_text(row, "name")),
        "tags": tuple(map(visible, tags)),
        "note": visible(_text(row, "note"), keep=NOTE_LAYOUT),
    }


def _evaluation(row: Mapping[str, Any]) -> Evaluation | None:
    # An accuracy is a share of sequences, so it is a number whenever there was a test.
    if row["accuracy"] is None:
        return None
    _share(row, "accuracy")
    names, of_excess = _FIGURES[:4], _FIGURES[4:]
    figures: Any = [math.nan if row[name] is None else _number(row, name) for name in names]
    found = Evaluation(*figures)
    # An excess may be below 0, by chance; runs of earlier versions have none.
    excess, stderr = (row[name] for name in of_excess)
    if excess is not None and not (type(excess) in (int, float) and abs(excess) <= _MOST_NUMBER):
        raise RowError(f"Its excess is {quoted(excess)}, which is not a number.")
    stderr = None if stderr is None else _number(row, "excess_stderr")
    if excess is None or stderr is None:
        return found
    return found._replace(excess=float(excess), excess_stderr=stderr)


def _steps(table: np.ndarray) -> np.ndarray:
    steps = table[:, 0]
    if not ((steps >= 0) & (steps <= _MOST_WHOLE) & (steps == np.floor(steps))).all():
        raise RowError("One of its tables has invalid steps.")
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


def _packed(table: Any, *, columns: int) -> str:
    """Return a table of numbers, column by column, as compressed little-endian 64-bit floats."""
    table = np.asarray(table, dtype="<f8").reshape(-1, columns)
    return base64.b64encode(zlib.compress(table.T.tobytes())).decode()


def _unpacked(text: str, *, columns: int, most: int) -> np.ndarray:
    """Return the table that `_packed` wrote; raise an error for more than `most` rows, unread."""
    size = columns * most * 8
    reader = zlib.decompressobj()
    plain = reader.decompress(base64.b64decode(text, validate=True), size + 1)
    if not reader.eof or reader.unused_data or len(plain) > size or len(plain) % (columns * 8):
        raise RowError(f"One of its tables is damaged or has more than {most:,} rows.")
    return np.frombuffer(plain, dtype="<f8").reshape(columns, -1).T
