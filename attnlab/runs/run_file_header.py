"""The header of a run file: everything except the arrays."""

import math
from typing import Any, NamedTuple

from attnlab.configuration.options import AttnlabError, quoted
from attnlab.runs.history import MOST_CHANGES, MOST_CHECKPOINTS, MOST_TESTS, Versions, versions_of
from attnlab.training.changes import Change, before_changes
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json_record
from attnlab.training.steps import AMENDABLE

# The largest header that attnlab writes, with the most changes, has about half of it.
MOST_HEADER_BYTES = 256_000
REMEDY = "Choose a file that attnlab saved."
_MOST_ENTRIES = (
    ("tests", MOST_TESTS),
    ("checkpoints", MOST_CHECKPOINTS),
    ("changes", MOST_CHANGES),
)
_PARTS = {"experiment", "versions", *(name for name, _ in _MOST_ENTRIES)}


class RunFileError(AttnlabError, ValueError):
    """Bytes that cannot be opened as a run; the message states the problem and the remedy."""

    def __init__(self, problem: str, remedy: str = REMEDY):
        self.problem = problem
        super().__init__(f"{problem} {remedy}")


class Header(NamedTuple):
    """Everything in a run except its arrays, checked for consistency.

    `steps` is the number of steps made, and `checkpoints` are the steps of kept models.
    """

    experiment: Experiment
    steps: int
    tests: tuple[tuple[int, Evaluation], ...]
    checkpoints: tuple[int, ...]
    changes: tuple[Change, ...]
    versions: Versions


def read_header(record: Any, steps: Any) -> Header:
    """Read the header from a JSON value; lists are counted before their entries are read.

    Raises:
        ValueError, TypeError, KeyError: If the value is not the header of a run of `steps` steps.
    """
    if not isinstance(record, dict) or record.keys() != _PARTS:
        raise RunFileError("The header of this run file does not have the right parts.")
    for name, most in _MOST_ENTRIES:
        if not isinstance(record[name], list) or len(record[name]) > most:
            raise RunFileError(f"This run file has no list of at most {most:,} {name}.")
    experiment = from_json_record(record["experiment"])
    if type(steps) is not int or not 0 <= steps <= experiment.training.steps:
        raise RunFileError(
            f"This run file has {quoted(steps)} losses, which is not a possible number of steps."
        )
    tests = tuple((step, _evaluation(numbers)) for step, *numbers in record["tests"])
    changes = tuple(_change(*entry) for entry in record["changes"])
    _check_steps([step for step, _ in tests], steps)
    _check_steps(record["checkpoints"], steps)
    _check_steps([change.step for change in changes], steps, repeat=True)
    try:
        before_changes(experiment.training, changes)
    except ValueError as error:
        raise RunFileError(f"The changes in this run file are not valid. {error}") from None
    checkpoints, versions = tuple(record["checkpoints"]), versions_of(record["versions"])
    return Header(experiment, steps, tests, checkpoints, changes, versions)


def _check_steps(entries: list[Any], made: int, *, repeat: bool = False) -> None:
    """Raise an error for steps that are not integers, not in order, or not made."""
    for step in entries:
        if type(step) is not int or not 0 <= step <= made:
            raise RunFileError(
                f"This run file has {quoted(step)} instead of a step from 0 to {made}."
            )
    if sorted(entries if repeat else set(entries)) != entries:
        raise RunFileError("The steps in this run file are not in order.")


def _change(step: Any, *options: Any) -> Change:
    if len(options) > len(AMENDABLE):
        raise RunFileError("A change in this run file has more options than a run may change.")
    return Change(step, tuple((name, old, new) for name, old, new in options))


def _evaluation(numbers: list[Any]) -> Evaluation:
    for number in numbers:
        # None is a number that was infinite or NaN.
        if number is not None and (type(number) not in (int, float) or not math.isfinite(number)):
            raise RunFileError(
                f"A test in this run file has {quoted(number)} instead of a finite number."
            )
    # At most six numbers, which is checked below.
    figures: Any = [math.nan if n is None else float(n) for n in numbers]
    evaluation = Evaluation(*figures)
    # An excess may be below 0, by chance. NaN is not less than anything.
    is_negative = any(n < 0 for n in (*evaluation[:4], evaluation.excess_stderr or 0.0))
    if len(numbers) not in (4, 6) or is_negative or evaluation.accuracy > 1:
        raise RunFileError("A test in this run file has impossible numbers.")
    return evaluation
