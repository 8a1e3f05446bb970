"""Run files of both versions taken apart, and ways to spoil one of `STEPS` steps."""

import hashlib
import json

import numpy as np

from attnlab.runs.history import MOST_CHANGES, MOST_CHECKPOINTS, MOST_TESTS

STEPS = 3
VERSIONS = (1, 2)
# The second where a name is none of a registry.
REMEDIES = ("Choose a file that attnlab saved.", "or choose another file.")


def parts_of(data):
    """The version of a run file, its header and its payload."""
    if data.startswith(b"attnlab run 1\n"):
        _, line, payload = data.split(b"\n", 2)
        return 1, json.loads(line), payload
    magic, _, line, payload = data.split(b"\n", 3)
    assert magic == b"attnlab run 2"
    return 2, json.loads(line), payload


def joined(version, header, payload):
    """The run file of these parts, with the checksum that they have; `header` may be a text."""
    if version == 1 and isinstance(header, dict):
        header = {**header, "sha256": hashlib.sha256(payload).hexdigest()}
    text = header if isinstance(header, str) else json.dumps(header)
    rest = text.encode() + b"\n" + payload
    if version == 1:
        return b"attnlab run 1\n" + rest
    return b"attnlab run 2\n" + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def arrays_of(header):
    """Name, type and shape of every array in the payload, in order; of either version."""
    arrays = list(header["arrays"])
    if any(name.startswith("checkpoint") for name, _, _ in arrays):
        return arrays
    # Adam's state has the arrays of the model thrice, and two counts.
    leaves = (len(arrays) - 1 - 2) // 3
    for step in header["checkpoints"]:
        model = enumerate(arrays[:leaves])
        arrays += [[f"checkpoint {step} {i}", kind, shape] for i, (_, kind, shape) in model]
    return arrays


def in_version(version, data):
    """A run file of version 2 in another version."""
    _, header, payload = parts_of(data)
    if version == 1:
        header["arrays"] = arrays_of(header)
    return joined(version, header, payload)


def edited(change):
    def edit(header, payload):
        change(header)
        return header, payload

    return edit


def resized(name, shape):
    def change(header):
        for entry in header["arrays"]:
            if entry[0] == name:
                entry[2] = shape

    return edited(change)


def overwritten(name, value):
    """The payload with every number of one array in place of its own."""

    def edit(header, payload):
        offset, found = 0, bytearray(payload)
        for entry, kind, shape in arrays_of(header):
            size = int(np.prod(shape)) * int(kind[-1])
            if entry == name:
                found[offset : offset + size] = np.full(shape, value, dtype=kind).tobytes()
            offset += size
        return header, bytes(found)

    return edit


def field(name, value):
    return edited(lambda header: header.update({name: value}))


EDITS = {
    "no experiment": edited(lambda header: header.pop("experiment")),
    "no arrays": edited(lambda header: header.pop("arrays")),
    "arrays empty": field("arrays", []),
    "arrays not a list": field("arrays", 5),
    "arrays text": field("arrays", "abc"),
    "array names not text": edited(lambda h: h["arrays"][0].__setitem__(0, ["state 0"])),
    "array kind is objects": edited(lambda h: h["arrays"][0].__setitem__(1, "|O")),
    "array kind is a list": edited(lambda h: h["arrays"][0].__setitem__(1, ["<f4"])),
    "array kind is doubles": edited(lambda h: h["arrays"][0].__setitem__(1, "<f8")),
    "weights transposed": edited(lambda h: h["arrays"][0][2].reverse() or h["arrays"][0][2]
                                 .append(1)),
    "shape not a list": resized("state 1", "ab"),
    "shape a number": resized("state 1", 6),
    "shape negative": resized("state 1", [-1]),
    "shape of fractions": resized("state 1", [1.5, 2]),
    "shape of nothing": resized("state 1", None),
    "shape huge": resized("state 1", [2**40, 2**40]),
    "shape beyond 64 bits": resized("state 1", [2**70]),
    "shape infinite": resized("state 1", [float("inf")]),
    "losses of two axes": resized("losses", [STEPS, 1]),
    "losses of whole numbers": edited(
        lambda h: [entry.__setitem__(1, "<i4") for entry in h["arrays"] if entry[0] == "losses"]
    ),
    "losses nan": overwritten("losses", np.nan),
    "weights nan": overwritten("state 1", np.nan),
    "weights infinite": overwritten("state 1", np.inf),
    "checkpoint nan": overwritten(f"checkpoint {STEPS} 1", np.nan),
    "optimiser nan": overwritten("state 9", np.nan),
    "other model": edited(lambda h: h["experiment"].update(model={"name": "linear"})),
    "wider model": edited(lambda h: h["experiment"]["model"].update(d_attn=3)),
    "other length": edited(lambda h: h["experiment"].update(length=5)),
    "experiment a list": field("experiment", []),
    "d_attn above its cap": edited(lambda h: h["experiment"]["model"].update(d_attn=10**9)),
    "d_attn enormous": edited(lambda h: h["experiment"]["model"].update(d_attn=10**400)),
    "fewer steps than made": edited(lambda h: h["experiment"]["training"].update(steps=2)),
    "tests not a list": field("tests", 3),
    "tests nothing": field("tests", None),
    "tests of numbers": field("tests", [1, 2]),
    "tests too short": field("tests", [[0, 1.0]]),
    "tests of words": field("tests", [["a", "b", "c", "d", "e"]]),
    "test figures of text": field("tests", [[0, "1.0", 0.1, 0.5, 0.1]]),
    "test loss below zero": field("tests", [[0, -1.0, 0.1, 0.5, 0.1]]),
    "test error below zero": field("tests", [[0, 1.0, -0.1, 0.5, 0.1]]),
    "test accuracy above one": field("tests", [[0, 1.0, 0.1, 1.5, 0.1]]),
    "tests nan": field("tests", [[0, float("nan"), 0.1, 0.5, 0.1]]),
    "test steps infinite": field("tests", [[float("inf"), 1.0, 0.1, 0.5, 0.1]]),
    "test figures too large": field("tests", [[0, 10**400, 0.1, 0.5, 0.1]]),
    "tests beyond the run": field("tests", [[STEPS + 1, 1.0, 0.1, 0.5, 0.1]]),
    "tests out of order": field("tests", [[2, 1.0, 0.1, 0.5, 0.1], [1, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoints not a list": field("checkpoints", 7),
    "checkpoints of nothing": field("checkpoints", [None]),
    "checkpoints that are not there": field("checkpoints", [0, 99]),
    "checkpoint steps of text": field("checkpoints", ["0", str(STEPS)]),
    "checkpoint steps out of order": field("checkpoints", [STEPS, 0]),
    "changes not a list": field("changes", 3),
    "changes of text": field("changes", ["abc"]),
    "change without a step": field("changes", [[]]),
    "change of text": field("changes", [[1, "learning rate 0.1 → 0.2"]]),
    "change of another option": field("changes", [[1, ["train_size", 100, 200]]]),
    "change of no option": field("changes", [[1, [["batch"], 5, 20]]]),
    "change to other settings": field("changes", [[1, ["batch", 5, 19]]]),
    "change from impossible settings": field("changes", [[1, ["batch", -5, 20]]]),
    "change from text": field("changes", [[1, ["batch", "5", 20]]]),
    "change beyond the run": field("changes", [[STEPS + 1, ["batch", 5, 20]]]),
    "change at half a step": field("changes", [[0.5, ["batch", 5, 20]]]),
    "changes out of order": field("changes", [[2, ["batch", 5, 20]], [1, ["batch", 6, 5]]]),
    "another part": field("colour", 1),
    "step true": field("tests", [[True, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoint false": field("checkpoints", [False, STEPS]),
    "tests twice at a step": field("tests", [[1, 1.0, 0.1, 0.5, 0.1], [1, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoints twice at a step": field("checkpoints", [0, 0]),
    "a shape of truths": edited(lambda h: h["arrays"][-1].__setitem__(2, [True])),
    "a shape of fractions that are whole": resized("losses", [float(STEPS)]),
    "change to true": field("changes", [[1, ["batch", 1, True]], [1, ["batch", True, 20]]]),
    "change to a fraction that is whole": field("changes", [[1, ["batch", 5, 20.0]]]),
    "change of an option twice": field("changes", [[1, ["batch", 5, 20], ["batch", 6, 20]]]),
    "change of many options": field("changes", [[1, *[["batch", 20, 20]] * 4]]),
    "too many tests": field("tests", [[0, 1.0, 0.1, 0.5, 0.1]] * (MOST_TESTS + 1)),
    "too many checkpoints": field("checkpoints", [0] * (MOST_CHECKPOINTS + 1)),
    "too many changes": field("changes", [[0]] * (MOST_CHANGES + 1)),
}  # fmt: skip
