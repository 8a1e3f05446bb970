"""Run files taken apart, and ways to spoil one of `STEPS` steps."""

import hashlib
import json

import numpy as np

from attnlab.runs.history import MOST_CHANGES, MOST_CHECKPOINTS, MOST_TESTS

STEPS = 3
# The second where a name is none of a registry.
REMEDIES = ("Choose a file that attnlab saved.", "or choose another file.")
_KINDS = {"F32": "<f4", "I32": "<i4"}


def parts_of(data):
    """The header of a run file with the list of arrays, and its payload.

    The header has where each of the `arrays` is in the payload, as `offsets`.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:start])
    header = json.loads(entries.pop("__metadata__")["attnlab"])
    assert header.pop("version") == 3
    assert len(header.pop("sha256")) == 64
    header["arrays"] = [[n, _KINDS[e["dtype"]], e["shape"]] for n, e in entries.items()]
    header["offsets"] = [entry["data_offsets"] for entry in entries.values()]
    return header, data[start:]


def joined(header, payload):
    """The run file of these parts, with the checksum that they have; `header` may be a text."""
    if isinstance(header, str):
        try:
            header = json.loads(header)
        except (ValueError, RecursionError):
            return _sealed(header, {}, payload)
    if not isinstance(header, dict):
        return _sealed(json.dumps(header), {}, payload)
    header = {"version": 3, "sha256": "0" * 64, **header}
    entries, arrays, offsets = {}, header.pop("arrays", None), header.pop("offsets", None)
    try:
        for (name, kind, shape), place in zip(arrays, offsets, strict=True):
            kind = next((k for k, v in _KINDS.items() if v == kind), "F64")
            entries[str(name)] = {"dtype": kind, "shape": shape, "data_offsets": place}
    except (TypeError, ValueError):
        entries = {"losses": [arrays, offsets]}
    return _sealed(json.dumps(header).replace("Infinity", "1e999"), entries, payload)


def _sealed(text, entries, payload):
    head = json.dumps({"__metadata__": {"attnlab": text}, **entries}, separators=(",", ":"))
    head = head.replace("Infinity", "1e999").encode()
    data = len(head).to_bytes(8, "little") + head + payload
    checksum = hashlib.sha256(data).hexdigest().encode()
    return data.replace(b"0" * 64, checksum, 1)


def _entry(header, name):
    """The place of an array: of the losses, or as a number among those whose names begin so."""
    kind, _, number = name.partition(" ")
    names = [entry[0] for entry in header["arrays"]]
    return [place for place, each in enumerate(names) if each.startswith(kind)][int(number or 0)]


def edited(change):
    def edit(header, payload):
        change(header)
        return header, payload

    return edit


def resized(name, shape):
    return edited(lambda header: header["arrays"][_entry(header, name)].__setitem__(2, shape))


def overwritten(name, value):
    """The payload with every number of one array in place of its own."""

    def edit(header, payload):
        place, found = _entry(header, name), bytearray(payload)
        begin, end = header["offsets"][place]
        kind = header["arrays"][place][1]
        found[begin:end] = np.full((end - begin) // int(kind[-1]), value, dtype=kind).tobytes()
        return header, bytes(found)

    return edit


def field(name, value):
    return edited(lambda header: header.update({name: value}))


EDITS = {
    "no experiment": edited(lambda header: header.pop("experiment")),
    "no arrays": edited(lambda header: header.pop("arrays")),
    "arrays not a list": field("arrays", 5),
    "array kind is objects": edited(lambda h: h["arrays"][0].__setitem__(1, "|O")),
    "array kind is doubles": edited(lambda h: h["arrays"][0].__setitem__(1, "<f8")),
    "weights transposed": edited(lambda h: h["arrays"][0][2].reverse() or h["arrays"][0][2]
                                 .append(1)),
    "shape not a list": resized("state 1", "ab"),
    "shape huge": resized("state 1", [2**40, 2**40]),
    "losses of two axes": resized("losses", [STEPS, 1]),
    "losses of whole numbers": edited(
        lambda h: [entry.__setitem__(1, "<i4") for entry in h["arrays"] if entry[0] == "losses"]
    ),
    "losses nan": overwritten("losses", np.nan),
    "weights nan": overwritten("state 1", np.nan),
    "checkpoint nan": overwritten("checkpoint 1", np.nan),
    "optimiser nan": overwritten("state 9", np.nan),
    "other model": edited(lambda h: h["experiment"].update(model={"name": "linear"})),
    "wider model": edited(lambda h: h["experiment"]["model"].update(d_attn=3)),
    "other length": edited(lambda h: h["experiment"].update(length=5)),
    "experiment a list": field("experiment", []),
    "d_attn above its cap": edited(lambda h: h["experiment"]["model"].update(d_attn=10**9)),
    "fewer steps than made": edited(lambda h: h["experiment"]["training"].update(steps=2)),
    "tests not a list": field("tests", 3),
    "tests of numbers": field("tests", [1, 2]),
    "test loss below zero": field("tests", [[0, -1.0, 0.1, 0.5, 0.1]]),
    "test error below zero": field("tests", [[0, 1.0, -0.1, 0.5, 0.1]]),
    "test accuracy above one": field("tests", [[0, 1.0, 0.1, 1.5, 0.1]]),
    "tests nan": field("tests", [[0, float("nan"), 0.1, 0.5, 0.1]]),
    "tests beyond the run": field("tests", [[STEPS + 1, 1.0, 0.1, 0.5, 0.1]]),
    "tests out of order": field("tests", [[2, 1.0, 0.1, 0.5, 0.1], [1, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoints not a list": field("checkpoints", 7),
    "checkpoints that are not there": field("checkpoints", [0, 99]),
    "checkpoint steps out of order": field("checkpoints", [STEPS, 0]),
    "changes not a list": field("changes", 3),
    "change of another option": field("changes", [[1, ["train_size", 100, 200]]]),
    "change to other settings": field("changes", [[1, ["batch", 5, 19]]]),
    "change from impossible settings": field("changes", [[1, ["batch", -5, 20]]]),
    "change beyond the run": field("changes", [[STEPS + 1, ["batch", 5, 20]]]),
    "change at half a step": field("changes", [[0.5, ["batch", 5, 20]]]),
    "changes out of order": field("changes", [[2, ["batch", 5, 20]], [1, ["batch", 6, 5]]]),
    "another part": field("colour", 1),
    "step true": field("tests", [[True, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoint false": field("checkpoints", [False, STEPS]),
    "tests twice at a step": field("tests", [[1, 1.0, 0.1, 0.5, 0.1], [1, 1.0, 0.1, 0.5, 0.1]]),
    "checkpoints twice at a step": field("checkpoints", [0, 0]),
    "change to true": field("changes", [[1, ["batch", 1, True]], [1, ["batch", True, 20]]]),
    "change to a fraction that is whole": field("changes", [[1, ["batch", 5, 20.0]]]),
    "change of an option twice": field("changes", [[1, ["batch", 5, 20], ["batch", 6, 20]]]),
    "change of many options": field("changes", [[1, *[["batch", 20, 20]] * 4]]),
    "too many tests": field("tests", [[0, 1.0, 0.1, 0.5, 0.1]] * (MOST_TESTS + 1)),
    "too many checkpoints": field("checkpoints", [0] * (MOST_CHECKPOINTS + 1)),
    "too many changes": field("changes", [[0]] * (MOST_CHANGES + 1)),
}  # fmt: skip
