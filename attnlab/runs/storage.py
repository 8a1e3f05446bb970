"""Runs in files: arrays and a header, in the format safetensors. Never pickle.

The entry `attnlab` of the file's metadata is JSON: the version of this format, a SHA-256 of the
file (with zeros in its place), and everything in a run except its arrays. An array is named by its
place in the tree, such as `state.model.tokens`; `losses` are those of all steps, and `checkpoints…`
has a leading axis for the checkpoints. `by_position.losses` are the losses and standard errors of
the tests at `by_position.steps`: first of the mean, then of each of `by_position.positions`. They
are present if the tests have losses by position.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from attnlab.configuration.options import AttnlabError, OptionError, quoted
from attnlab.configuration.records import UnregisteredError
from attnlab.runs.history import (
    MOST_CHANGES,
    MOST_CHECKPOINTS,
    MOST_TESTS,
    History,
    Versions,
    current_versions,
    versions_of,
)
from attnlab.runs.run import Run
from attnlab.runs.whole_file import read_bytes, save_bytes
from attnlab.training.changes import Change, before_changes
from attnlab.training.evaluation import Evaluation, LossByPosition
from attnlab.training.experiment import Experiment, abstract_state, from_json_record, to_json
from attnlab.training.steps import AMENDABLE, TrainState

VERSION = 3
# The largest files that attnlab writes have some tens of megabytes.
MOST_FILE_BYTES = 1_000_000_000
# The largest header that attnlab writes, with the most changes, has about half of it.
MOST_HEADER_BYTES = 256_000
# Names, types and shapes of the largest model's arrays take a quarter of it.
_MOST_NAMES_BYTES = 1_000_000
_MOST_ENTRIES = {"tests": MOST_TESTS, "checkpoints": MOST_CHECKPOINTS, "changes": MOST_CHANGES}
_OLD = b"attnlab run "
_BEGINS = b'{"__metadata__":{"attnlab":'
_ENTRY = "attnlab"
_NO_CHECKSUM = "0" * 64
_SIZE_BYTES = 8
_REMEDY = "Choose a file that attnlab saved."


class RunFileError(AttnlabError, ValueError):
    """Bytes that cannot be opened as a run; the message states the problem and the remedy."""

    def __init__(self, problem: str, remedy: str = _REMEDY):
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


def to_bytes(run: Run) -> bytes:
    """Return the run as the bytes of a file."""
    history = run.history
    header = {
        "version": VERSION,
        "sha256": _NO_CHECKSUM,
        "experiment": json.loads(to_json(run.experiment)),
        "tests": [
            # JSON has no infinite numbers and no NaN.
            [step, *(n if math.isfinite(n) else None for n in test[:6] if n is not None)]
            for step, test in history.tests
        ],
        "checkpoints": [step for step, _ in history.checkpoints],
        "changes": [[change.step, *change.options] for change in history.changes],
        "versions": history.versions or current_versions(),
    }
    arrays = {
        **_arrays_by_path("state", run.state),
        "losses": history.losses,
        **_losses_as_arrays(history.tests),
    }
    models = [_arrays_by_path("checkpoints", model) for _, model in history.checkpoints]
    for name in models[0] if models else ():
        arrays[name] = np.stack([model[name] for model in models])
    data = safetensors.numpy.save(
        {name: np.array(array, order="C") for name, array in arrays.items()},
        {_ENTRY: json.dumps(header, allow_nan=False)},
    )
    zeros, checksum = _NO_CHECKSUM.encode(), hashlib.sha256(data).hexdigest().encode()
    return data.replace(zeros, checksum, 1)


def from_bytes(data: bytes) -> Run:
    """Return the run that `to_bytes` wrote.

    Raises:
        RunFileError: If the bytes are not a run file, cut off or damaged, if header or arrays are
            not those of a run, or if a class is not registered.
    """
    with _errors_described():
        header, arrays = _read_parts(data)
        return _make_run(header, abstract_state(header.experiment), arrays)


def header_of(data: bytes) -> Header:
    """Return the header, without reading the arrays.

    Raises:
        RunFileError: As in `from_bytes`.
    """
    with _errors_described():
        return _read_parts(data)[0]


def is_run_file(beginning: bytes) -> bool:
    """Return whether a file that starts with these bytes may be a run file."""
    return beginning.startswith(_OLD) or beginning[_SIZE_BYTES:].startswith(_BEGINS)


def save_run(run: Run, path: Path) -> None:
    """Write the run, like `save_bytes`: the file is complete, or as it was before."""
    save_bytes(to_bytes(run), Path(path))


def load_run(path: Path) -> Run:
    """Return the run that `save_run` wrote.

    Raises:
        OSError: If the path is not a regular file or cannot be read.
        RunFileError: As in `from_bytes`.
    """
    return from_bytes(read_bytes(Path(path), is_right=is_run_file, most=MOST_FILE_BYTES))


@contextmanager
def _errors_described() -> Iterator[None]:
    """Turn any error of reading a file inside the block into a `RunFileError`."""
    try:
        yield
    except RunFileError:
        raise
    except UnregisteredError as error:
        raise RunFileError(
            f"This run file needs the {error.name} {quoted(error.value)}, which is not registered "
            "here.",
            "Import the module that registers it (`@attnlab.register`), or choose another file.",
        ) from error
    except OptionError as error:
        raise RunFileError(f"The experiment in this run file is not valid. {error}") from error
    # These messages are for programmers, and may quote the file at length.
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
        safetensors.SafetensorError,
    ) as error:
        raise RunFileError("The parts of this run file contradict each other.") from error


def _read_parts(data: bytes) -> tuple[Header, dict[str, np.ndarray]]:
    """Check the bytes, and read the header."""
    if data.startswith(_OLD):
        problem = "This run file is older than the first release of attnlab."
        raise RunFileError(problem, "Train the run again.")
    if not is_run_file(data):
        raise RunFileError("This is not a run file of attnlab.")
    size = int.from_bytes(data[:_SIZE_BYTES], "little")
    start = _SIZE_BYTES + size
    if size > 2 * MOST_HEADER_BYTES + _MOST_NAMES_BYTES or start > len(data):
        raise RunFileError("The header of this run file is cut off or too long.")
    text = json.loads(data[_SIZE_BYTES:start])["__metadata__"][_ENTRY]
    if len(text) > MOST_HEADER_BYTES:
        raise RunFileError("The header of this run file is cut off or too long.")
    record = json.loads(text)
    written = record.pop("sha256").encode()
    checksum = hashlib.sha256(data[:start].replace(written, _NO_CHECKSUM.encode(), 1))
    checksum.update(memoryview(data)[start:])
    if checksum.hexdigest().encode() != written:
        raise RunFileError("This run file is damaged or cut off.")
    if (version := record.pop("version")) != VERSION:
        problem = f"This run file has the version {quoted(version)}, not one up to {VERSION}."
        raise RunFileError(problem, f"Update attnlab. {_REMEDY}")
    arrays = safetensors.numpy.load(data)
    return _read_header(record, *arrays["losses"].shape), arrays


def _read_header(record: Any, steps: Any) -> Header:
    """Read the header of a run of `steps` steps; lists are counted before entries are read."""
    if not isinstance(record, dict) or record.keys() != {"experiment", "versions", *_MOST_ENTRIES}:
        raise RunFileError("The header of this run file does not have the right parts.")
    for name, most in _MOST_ENTRIES.items():
        if not isinstance(record[name], list) or len(record[name]) > most:
            raise RunFileError(f"This run file has no list of at most {most:,} {name}.")
    experiment = from_json_record(record["experiment"])
    if type(steps) is not int or not 0 <= steps <= experiment.training.steps:
        raise RunFileError(
            f"This run file has {quoted(steps)} losses, which is not a possible number of steps."
        )
    tests = tuple((step, _evaluation(numbers)) for step, *numbers in record["tests"])
    if any(len(options) > len(AMENDABLE) for _, *options in record["changes"]):
        raise RunFileError("A change in this run file has more options than a run may change.")
    changes = tuple(
        Change(step, tuple((name, old, new) for name, old, new in options))
        for step, *options in record["changes"]
    )
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


_BY_POSITION = ("by_position.steps", "by_position.positions", "by_position.losses")
_Tests = tuple[tuple[int, Evaluation], ...]


def _losses_as_arrays(tests: _Tests) -> dict[str, np.ndarray]:
    """Return the losses by position as arrays, or nothing if no test has them."""
    known = [(step, test.by_position) for step, test in tests if test.by_position is not None]
    if not known:
        return {}
    losses = [((of.mean, *of.nll), (of.mean_stderr, *of.nll_stderr)) for _, of in known]
    steps, positions = np.array([step for step, _ in known]), np.array(known[0][1].positions)
    return dict(zip(_BY_POSITION, (steps, positions, np.array(losses)), strict=True))


def _add_losses(
    header: Header, steps: np.ndarray, positions: np.ndarray, losses: np.ndarray
) -> _Tests:
    """Return the tests with the arrays of `_losses_as_arrays`, after checking these."""
    tests, rows = dict(header.tests), positions.tolist()
    fits = (
        (steps.dtype, positions.dtype, losses.dtype) == (np.int64, np.int64, np.float64)
        and losses.shape == (steps.size, 2, positions.size + 1)
        and tests.keys() >= set(steps.tolist())
        and rows == sorted(set(rows))
        and set(rows) <= set(range(1, header.experiment.length + 1))
        # A position that counts in one sequence alone has no standard error.
        and np.isfinite(losses[:, 0]).all()
        and not (np.isinf(losses) | (losses < 0)).any()
    )
    if not fits:
        raise RunFileError("The losses by position in this run file are not those of its tests.")
    for step, ((mean, *nll), (mean_stderr, *stderr)) in zip(
        steps.tolist(), losses.tolist(), strict=True
    ):
        found = LossByPosition(tuple(rows), tuple(nll), tuple(stderr), mean, mean_stderr)
        tests[step] = tests[step]._replace(by_position=found)
    return tuple(tests.items())


def _make_run(header: Header, shapes: TrainState, arrays: Mapping[str, np.ndarray]) -> Run:
    """Put the arrays into their places, after checking their names, types and shapes."""
    if _BY_POSITION[0] in arrays:
        arrays = dict(arrays)
        tests = _add_losses(header, *(arrays.pop(name) for name in _BY_POSITION))
        header = header._replace(tests=tests)
    count = len(header.checkpoints)
    expected = {
        **_arrays_by_path("state", shapes),
        "losses": jax.ShapeDtypeStruct((header.steps,), np.float32),
    }
    for name, leaf in _arrays_by_path("checkpoints", shapes.model).items() if count else ():
        expected[name] = jax.ShapeDtypeStruct((count, *leaf.shape), leaf.dtype)
    if {name: (array.dtype, array.shape) for name, array in arrays.items()} != {
        name: (np.dtype(leaf.dtype), leaf.shape) for name, leaf in expected.items()
    }:
        raise RunFileError("The arrays in this run file belong to another model.")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise RunFileError("The numbers in this run file are not finite.")
    state = _fill(shapes, [arrays[name] for name in _arrays_by_path("state", shapes)])
    if int(state.step) != header.steps:
        raise RunFileError("The steps in this run file do not add up.")
    kept = [arrays[name] for name in _arrays_by_path("checkpoints", shapes.model)] if count else []
    checkpoints = tuple(
        (step, _fill(shapes.model, [array[place] for array in kept]))
        for place, step in enumerate(header.checkpoints)
    )
    losses = arrays["losses"]
    losses.setflags(write=False)
    history = History(losses, header.tests, checkpoints, header.changes, header.versions)
    return Run(header.experiment, state, history)


def _arrays_by_path(name: str, tree: PyTree) -> dict[str, Any]:
    """Return the arrays of a tree, or their shapes, keyed by `name` and their path in the tree."""
    leaves = jax.tree_util.tree_leaves_with_path(_only_arrays(tree))
    return {name + jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _fill(shapes: PyTree, leaves: list[np.ndarray]) -> PyTree:
    """Return the tree of this structure with these leaves, in order."""
    structure = jax.tree.structure(_only_arrays(shapes))
    filled = jax.tree.unflatten(structure, jax.device_put(leaves))
    return eqx.combine(filled, _only_arrays(shapes, inverse=True))


def _only_arrays(tree: PyTree, *, inverse: bool = False) -> PyTree:
    return eqx.filter(tree, lambda leaf: hasattr(leaf, "dtype"), inverse=inverse)
