"""Runs in files: a line of JSON, then the arrays it lists. Never pickle.

The file begins with `attnlab run 1`, then one line of JSON: the experiment, the step, the tests,
and for every array its name, type, shape. The arrays' bytes follow in that order, little-endian,
and the header holds their SHA-256.
"""

import hashlib
import json
import math
import os
import secrets
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from attnlab.changes import Change, before_changes
from attnlab.experiment import Experiment, from_json_record, starting_form, to_json
from attnlab.history import History
from attnlab.training import Evaluation, TrainState

_MAGIC = b"attnlab run 1\n"
_MOST_HEADER_BYTES = 4_000_000
_REMEDY = "Choose a file that attnlab saved."


class Run(NamedTuple):
    """A run that can be looked at and continued."""

    experiment: Experiment
    state: TrainState
    history: History


class RunFileError(ValueError):
    """Bytes that are not a whole run file."""


def to_bytes(run: Run) -> bytes:
    """The run as the bytes of a file."""
    arrays = _arrays(run)
    payload = b"".join(array.tobytes() for array in arrays.values())
    header = {
        "experiment": json.loads(to_json(run.experiment)),
        "tests": [[step, *evaluation] for step, evaluation in run.history.tests],
        "checkpoints": [step for step, _ in run.history.checkpoints],
        "arrays": [[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()],
        "changes": [[change.step, *change.options] for change in run.history.changes],
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    return _MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n" + payload


def from_bytes(data: bytes) -> Run:
    """The run that `to_bytes` wrote.

    Refused, with a `RunFileError` that says what is wrong: foreign or truncated bytes, a damaged
    payload, and arrays that do not fit the experiment.
    """
    if not data.startswith(_MAGIC):
        raise RunFileError(f"This is not a run file of attnlab. {_REMEDY}")
    line, newline, payload = data[len(_MAGIC) :].partition(b"\n")
    if not newline or len(line) > _MOST_HEADER_BYTES:
        raise RunFileError(f"This run file is cut off within its header. {_REMEDY}")
    try:
        header = json.loads(line)
        experiment = from_json_record(header["experiment"])
        arrays = _read_arrays(header, payload)
        return _assemble(header, experiment, arrays)
    except RunFileError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise RunFileError(f"This run file does not fit together: {error} {_REMEDY}") from error


def save_run(run: Run, path: Path) -> None:
    """Write the run; the file is either whole or, if anything fails, as it was before.

    A disk that is full, a folder that may not be written and the like raise an `OSError` that
    names the file. A process that is killed meanwhile leaves the old file, and a part of the new
    one beside it under a name that ends in `.part`.
    """
    path = Path(path)
    # Not by `tempfile`, whose files nobody else may read even after they are renamed.
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            file.write(to_bytes(run))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        problem = f"the run was not saved, and the file is as it was: {error.strerror or error}"
        raise OSError(error.errno, problem, str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def load_run(path: Path) -> Run:
    """The run that `save_run` wrote."""
    return from_bytes(Path(path).read_bytes())


def _arrays(run: Run) -> dict[str, np.ndarray]:
    """Every array of a run by name; leaves of a tree are numbered in its order."""
    arrays = {**_leaves("state", run.state), "losses": run.history.losses}
    for step, model in run.history.checkpoints:
        arrays |= _leaves(f"checkpoint {step}", model)
    return {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        for name, array in arrays.items()
    }


def _leaves(name: str, tree: PyTree) -> dict[str, np.ndarray]:
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    return {f"{name} {i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def _read_arrays(header: dict[str, Any], payload: bytes) -> dict[str, np.ndarray]:
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise RunFileError(f"This run file is damaged or cut off. {_REMEDY}")
    arrays, offset = {}, 0
    for name, kind, shape in header["arrays"]:
        if kind not in ("<f4", "<i4"):
            raise RunFileError(f"This run file has an array of type {kind!r}. {_REMEDY}")
        if not all(type(size) is int and size >= 0 for size in shape):
            raise RunFileError(f"This run file has an array of shape {shape!r}. {_REMEDY}")
        array = np.frombuffer(payload, dtype=kind, count=math.prod(shape), offset=offset)
        arrays[name] = array.reshape(shape)
        offset += array.nbytes
    if offset != len(payload):
        raise RunFileError(f"This run file has bytes that nothing names. {_REMEDY}")
    return arrays


def _assemble(header: dict[str, Any], experiment: Experiment, arrays: dict[str, np.ndarray]) -> Run:
    # Shapes and types of all arrays, without computing any of them.
    form = starting_form(experiment)
    state = _fill(form, "state", arrays)
    checkpoints = tuple(
        (step, _fill(form.model, f"checkpoint {step}", arrays)) for step in header["checkpoints"]
    )
    tests = tuple((step, _evaluation(figures)) for step, *figures in header["tests"])
    losses, made = arrays["losses"], int(state.step)
    if losses.shape != (made,) or losses.dtype != np.float32 or made > experiment.training.steps:
        raise RunFileError(f"The steps in this run file do not add up. {_REMEDY}")
    for steps in ([step for step, _ in tests], [step for step, _ in checkpoints]):
        whole = all(type(step) is int and 0 <= step <= made for step in steps)
        if not whole or sorted(set(steps)) != steps:
            raise RunFileError(f"The steps in this run file do not add up. {_REMEDY}")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise RunFileError(f"The numbers in this run file are not finite. {_REMEDY}")
    changes = _read_changes(header, experiment, made)
    return Run(experiment, state, History(losses, tests, checkpoints, changes))


def _read_changes(header: dict[str, Any], experiment: Experiment, made: int) -> tuple[Change, ...]:
    changes = tuple(
        Change(step, tuple((name, old, new) for name, old, new in options))
        for step, *options in header.get("changes", ())
    )
    steps = [change.step for change in changes]
    if not all(type(step) is int and 0 <= step <= made for step in steps) or sorted(steps) != steps:
        raise RunFileError(f"The steps in this run file do not add up. {_REMEDY}")
    try:
        before_changes(experiment.training, changes)
    except ValueError as error:
        raise RunFileError(f"The changes in this run file do not fit. {error} {_REMEDY}") from None
    return changes


def _fill(form: PyTree, name: str, arrays: dict[str, np.ndarray]) -> PyTree:
    """The tree of this form with the arrays of that name in the places of its leaves."""
    leaves, structure = jax.tree.flatten(eqx.filter(form, _is_form))
    found = [arrays[f"{name} {i}"] for i in range(len(leaves))]
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(leaves, found, strict=True)):
        raise RunFileError(f"The arrays in this run file are of another model. {_REMEDY}")
    filled = jax.tree.unflatten(structure, [jnp.asarray(array) for array in found])
    return eqx.combine(filled, eqx.filter(form, _is_form, inverse=True))


def _is_form(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _evaluation(figures: list[Any]) -> Evaluation:
    if not all(type(figure) in (int, float) for figure in figures):
        raise RunFileError(f"A test in this run file is not of numbers. {_REMEDY}")
    evaluation = Evaluation(*(float(figure) for figure in figures))
    if not all(math.isfinite(figure) for figure in evaluation):
        raise RunFileError(f"A test in this run file is not finite. {_REMEDY}")
    if min(evaluation) < 0 or evaluation.accuracy > 1:
        raise RunFileError(f"A test in this run file has figures that no test has. {_REMEDY}")
    return evaluation
