"""Runs in files: a checksum, a line of JSON, then the arrays it lists. Never pickle.

The file begins with `attnlab run 2` and a line with the SHA-256 of all that follows it. Then comes
the header, one line of JSON: the experiment, the tests, the steps of the checkpoints, the changes,
the versions that made it, which older files lack, and name, type and shape of every array of the
state and of the losses. The bytes of these follow in that order, little-endian, and those of the
model of every checkpoint, whose arrays are as the first of the state.

In files of version 1, which are still read, the header itself lists the arrays of checkpoints too,
and has the SHA-256, of the arrays alone.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from attnlab.configuration.options import OptionError, quoted
from attnlab.configuration.records import UnregisteredError
from attnlab.models.transformer.layer import TransformerLayer
from attnlab.runs.history import History, Versions, current_versions
from attnlab.runs.run_file_header import MOST_HEADER_BYTES, Header, RunFileError, read_header
from attnlab.runs.whole_file import read_bytes, save_bytes
from attnlab.training.experiment import Experiment, starting_form, to_json
from attnlab.training.steps import TrainState

# Of all versions; the largest that attnlab writes have some tens of megabytes.
MOST_FILE_BYTES = 1_000_000_000
BEGINS = b"attnlab run "
_MAGIC = BEGINS + b"2\n"
_MAGIC_OF_VERSION_1 = BEGINS + b"1\n"
_CHECKSUM_BYTES = len(f"{hashlib.sha256().hexdigest()}\n")


class Run(NamedTuple):
    """A run that can be looked at and continued."""

    experiment: Experiment
    state: TrainState
    history: History


def to_bytes(run: Run) -> bytes:
    """The run as the bytes of a file."""
    state, history = run.state, run.history
    header = {
        "experiment": json.loads(to_json(run.experiment)),
        "tests": [
            [step, *(figure for figure in test if figure is not None)]
            for step, test in history.tests
        ],
        "checkpoints": [step for step, _ in history.checkpoints],
        "changes": [[change.step, *change.options] for change in history.changes],
        "versions": history.versions or current_versions(),
        "arrays": _listed(_arrays(state, history.losses)),
    }
    line = json.dumps(header, allow_nan=False).encode()
    arrays = _arrays(state, history.losses, history.checkpoints).values()
    payload = (np.asarray(array, dtype=_little_endian(array)).tobytes() for array in arrays)
    rest = b"".join([line, b"\n", *payload])
    return _MAGIC + _checksum(rest) + rest


def from_bytes(data: bytes) -> Run:
    """The run that `to_bytes` wrote.

    Refused, with a `RunFileError` that says what is wrong: foreign or truncated bytes, anything
    damaged, a header or arrays that are not those of a run, and a class that is not registered. No
    array is made before the header is known to be right.
    """
    with _described():
        header, payload = _opened(data)
        return _assemble(header, payload, lists_checkpoints=data.startswith(_MAGIC_OF_VERSION_1))


def header_of(data: bytes) -> Header:
    """What `from_bytes` reads first, without looking at the arrays. Refused: as there."""
    with _described():
        return _opened(data)[0]


def _opened(data: bytes) -> tuple[Header, bytes]:
    """The header, and the bytes after it, which are those that were written."""
    old = data.startswith(_MAGIC_OF_VERSION_1)
    if not old and not data.startswith(_MAGIC):
        raise RunFileError("This is not a run file of attnlab.")
    start = len(_MAGIC) + (0 if old else _CHECKSUM_BYTES)
    end = data.find(b"\n", start, start + MOST_HEADER_BYTES + 1)
    if end < 0:
        raise RunFileError("The header of this run file is cut off or too long.")
    signed = memoryview(data)[end + 1 if old else start :]
    record = json.loads(data[start:end])
    checksum = f"{record.pop('sha256')}\n".encode() if old else data[len(_MAGIC) : start]
    if checksum != _checksum(signed):
        raise RunFileError("This run file is damaged or cut off.")
    # Parts that came later.
    missing = {"changes": []} if old else {}
    return read_header({"versions": Versions(), **missing, **record}), data[end + 1 :]


@contextmanager
def _described() -> Iterator[None]:
    """Let whatever is wrong with a file that is read inside be a `RunFileError`."""
    try:
        yield
    except RunFileError:
        raise
    except UnregisteredError as error:
        raise RunFileError(
            f"This run file needs the {error.name} {quoted(error.value)}, which is not registered "
            "here.",
            "Register its class, as CONTRIBUTING.md says, or choose another file.",
        ) from error
    except OptionError as error:
        raise RunFileError(f"The experiment in this run file does not fit. {error}") from error
    # The texts of these are for programmers, and may quote the file at length.
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise RunFileError("This run file does not fit together.") from error


def _checksum(data: bytes | memoryview) -> bytes:
    """The line that a file of version 2 has for the data after it."""
    return f"{hashlib.sha256(data).hexdigest()}\n".encode()


def save_run(run: Run, path: Path) -> None:
    """Write the run, as `save_bytes` does: the file is whole, or as it was before."""
    save_bytes(to_bytes(run), Path(path))


def load_run(path: Path) -> Run:
    """The run that `save_run` wrote.

    Refused: with an `OSError`, what is not a regular file or cannot be read; with a `RunFileError`,
    what `from_bytes` refuses.
    """
    return from_bytes(read_bytes(Path(path), begins=BEGINS, most=MOST_FILE_BYTES))


def _arrays(
    state: TrainState, losses: Any, checkpoints: Iterable[tuple[int, PyTree]] = ()
) -> dict[str, Any]:
    """The arrays of a run, or their forms, by name and in the order they have in a file."""
    arrays = {**_leaves("state", state), "losses": losses}
    for step, model in checkpoints:
        arrays |= _leaves(f"checkpoint {step}", model)
    return arrays


def _leaves(name: str, tree: PyTree) -> dict[str, Any]:
    """The arrays of a tree, or their forms, numbered in its order."""
    return {f"{name} {i}": leaf for i, leaf in enumerate(jax.tree.leaves(_only_arrays(tree)))}


def _only_arrays(tree: PyTree, *, inverse: bool = False) -> PyTree:
    return eqx.filter(tree, lambda leaf: hasattr(leaf, "dtype"), inverse=inverse)


def _listed(arrays: dict[str, Any]) -> list[list[Any]]:
    """Name, type and shape of every array, as the header has them."""
    return [[name, _little_endian(a).str, list(a.shape)] for name, a in arrays.items()]


def _little_endian(array: Any) -> np.dtype:
    return np.dtype(array.dtype).newbyteorder("<")


def _assemble(header: Header, payload: bytes, *, lists_checkpoints: bool) -> Run:
    # Shapes and types of all arrays, without computing any of them.
    now = starting_form(header.experiment)
    losses = jax.ShapeDtypeStruct((header.steps,), np.float32)
    # As texts, in which 1, 1.0 and true differ.
    listed = json.dumps(header.arrays)
    for form in (now, _with_normalisations(now, 2)):
        forms = _arrays(form, losses, [(step, form.model) for step in header.checkpoints])
        shown = forms if lists_checkpoints else _arrays(form, losses)
        if json.dumps(_listed(shown)) == listed:
            break
    else:
        raise RunFileError("The arrays in this run file are of another model.")
    arrays, offset = {}, 0
    for name, one in forms.items():
        kind, size = _little_endian(one), math.prod(one.shape)
        if offset + size * kind.itemsize > len(payload):
            raise RunFileError("This run file has fewer arrays than its header says.")
        flat = np.frombuffer(payload, dtype=kind, count=size, offset=offset)
        arrays[name] = flat.reshape(one.shape)
        offset += flat.nbytes
    if offset != len(payload):
        raise RunFileError("This run file has bytes that nothing names.")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise RunFileError("The numbers in this run file are not finite.")
    state = _with_normalisations(_fill(form, "state", arrays), 1)
    if int(state.step) != header.steps:
        raise RunFileError("The steps in this run file do not add up.")
    checkpoints = tuple(
        (step, _with_normalisations(_fill(form.model, f"checkpoint {step}", arrays), 1))
        for step in header.checkpoints
    )
    rest = header.tests, checkpoints, header.changes, header.versions
    history = History(arrays["losses"], *rest)
    return Run(header.experiment, state, history)


def _with_normalisations(tree: PyTree, count: int) -> PyTree:
    """The tree with this many normalisations in every transformer layer without an MLP.

    Older files have a second one there, which no model reads.
    """

    def is_layer(node: Any) -> bool:
        return isinstance(node, TransformerLayer)

    def changed(node: Any) -> Any:
        if not is_layer(node) or node.mlp is not None or node.normalisations is None:
            return node
        return dataclasses.replace(node, normalisations=(node.normalisations * 2)[:count])

    return jax.tree.map(changed, tree, is_leaf=is_layer)


def _fill(form: PyTree, name: str, arrays: dict[str, np.ndarray]) -> PyTree:
    """The tree of this form with the arrays of that name in the places of its leaves."""
    structure = jax.tree.structure(_only_arrays(form))
    found = [arrays[f"{name} {i}"] for i in range(structure.num_leaves)]
    filled = jax.tree.unflatten(structure, jax.device_put(found))
    return eqx.combine(filled, _only_arrays(form, inverse=True))
