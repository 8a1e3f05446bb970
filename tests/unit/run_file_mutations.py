"""Run files by an attacker who knows the format, read with little memory and time.

`python -m tests.unit.run_file_mutations FILE` reads mutations of a run file. It names each before
reading it, and ends by a signal or an error at the first that is neither a run nor refused as it
ought to be.
"""

import json
import random
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attnlab.configuration.records import to_record
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.positions import POSITIONS
from attnlab.runs.storage import MOST_HEADER_BYTES, RunFileError, from_bytes, to_bytes
from tests.unit.run_file_edits import REMEDIES, joined, parts_of

MEMORY = 200_000_000
SECONDS = 2.0
LONGEST_REFUSAL = 400
PAIRS = 40
# Of every registered part.
VARIED = 5

NUMBERS = (
    *(0, 1, -1, 2**31 - 1, 2**31, 2**63, 2**70, 10**400),
    *(0.5, 1e308, 5e-324, -0.0, float("nan"), float("inf"), True),
)
NAMES = (
    *("", "x" * 201, "x" * 100_000, "\0\n\x1b[2J", "**[a](https://example.org)** `", "<b>"),
    *("state 0", "losses", "sha256", "__class__", "markov", "a b \ud800", "\u202egnp.nur"),
)
KINDS = (None, [], {}, "", 0, [[]], [{}], {"name": "markov"}, json.loads("[" * 900 + "]" * 900))


class Mutation(NamedTuple):
    """A part of the header, by its path, and what becomes of it.

    `value` stands there instead, or `times` times in a list or as the keys of an object, behind
    what is there already; `key` renames it.
    """

    path: tuple[Any, ...]
    value: Any = None
    times: int | None = None
    key: str | None = None
    remove: bool = False


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, part in items:
        yield from places_in(part, (*path, key))


def at(header: Any, path: tuple[Any, ...]) -> Any:
    """The part of the header at that path."""
    for key in path:
        header = header[key]
    return header


def _telling(header: Any, path: tuple[Any, ...]) -> bool:
    """Whether a place is not one of many alike: of a list the ends stand for all."""
    return all(
        not isinstance(key, int) or key in (0, len(at(header, path[:i])) - 1)
        for i, key in enumerate(path)
    )


def mutations_of(header: dict[str, Any]) -> Iterator[Mutation]:
    """Every part in every odd way, alone."""
    room = MOST_HEADER_BYTES - len(json.dumps(header))
    for path in places_in(header):
        if not path or not _telling(header, path):
            continue
        old = at(header, path)
        yield Mutation(path, remove=True)
        yield from (Mutation(path, kind) for kind in KINDS)
        if isinstance(path[-1], str):
            yield from (Mutation(path, key=name) for name in NAMES)
        if isinstance(old, str):
            yield from (Mutation(path, name) for name in NAMES)
            yield Mutation(path, "x", room - 10)
        elif isinstance(old, int | float):
            yield from (Mutation(path, number) for number in NUMBERS)
        elif isinstance(old, dict):
            yield Mutation(path, 0, room // 20)
        else:
            for entry in (*old[:1], 0, [], {}):
                most = room // (len(json.dumps(entry)) + 2)
                yield from (Mutation(path, entry, n) for n in (1, 100, most))
            yield Mutation(path, 0, 200_000)


def changed(header: dict[str, Any], *mutations: Mutation) -> dict[str, Any]:
    """The header with these mutations, in turn; one whose place is gone is left out."""
    header = json.loads(json.dumps(header))
    for mutation in mutations:
        *before, last = mutation.path
        try:
            parent = at(header, before)
            old = parent[last]
        except (KeyError, IndexError, TypeError):
            continue
        if not isinstance(parent, dict | list):
            continue
        if mutation.remove or mutation.key is not None:
            del parent[last]
        if mutation.key is not None:
            parent[mutation.key] = old
        elif mutation.times is not None:
            parent[last] = _lengthened(old, mutation.value, mutation.times)
        elif not mutation.remove:
            parent[last] = mutation.value
    return header


def _lengthened(old: Any, value: Any, times: int) -> Any:
    if isinstance(old, dict):
        return {**old, **{f"key {i}": value for i in range(times)}}
    if isinstance(old, str):
        return value * times
    return [*(old if isinstance(old, list) else ()), *[value] * times]


def variants_of(header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The header with every registered part in its place; its arrays fit all the generators."""
    for kind in GENERATORS.values():
        yield changed(header, Mutation(("experiment", "generator"), to_record(kind())))
    for kind in POSITIONS.values():
        yield changed(header, Mutation(("experiment", "model", "position"), to_record(kind())))
    for kind in MODELS.values():
        yield changed(header, Mutation(("experiment", "model"), to_record(kind())))


def files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The mutated files, each with its name."""
    chance = random.Random(0)
    header, payload = parts_of(data)
    alone = list(mutations_of(header))
    cases = [(header, (mutation,)) for mutation in alone]
    cases += [(header, chance.sample(alone, 2)) for _ in range(PAIRS)]
    for variant in variants_of(header):
        parts = (("generator",), ("model",))
        varied = [m for m in mutations_of(variant) if m.path[1:2] in parts]
        cases += [(variant, (mutation,)) for mutation in chance.sample(varied, VARIED)]
    for start, mutations in cases:
        text = json.dumps(changed(start, *mutations)).replace("Infinity", "1e999")
        yield "; ".join(f"{m.path} {repr(m)[-80:]}" for m in mutations), joined(text, payload)


def check(file: bytes) -> bool:
    """Whether the file is a run; raises unless it is a whole one or refused with a remedy."""
    try:
        run = from_bytes(file)
    except RunFileError as error:
        message = str(error)
        assert message.endswith(REMEDIES), message
        assert len(message) <= LONGEST_REFUSAL, message
        assert message.isprintable(), message
        return False
    saved = to_bytes(run)
    again = from_bytes(saved)
    assert to_bytes(again) == saved
    assert again.experiment == run.experiment
    assert again.history.tests == run.history.tests
    assert again.history.changes == run.history.changes
    return True


def main(path: str) -> None:
    """Read all mutations of the file with limited memory, each in limited time."""
    data = Path(path).read_bytes()
    assert check(data)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    size = int(status.split("VmSize:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    runs = refused = 0
    for name, file in files(data):
        print(name, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if check(file):
            runs += 1
        else:
            refused += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps({"runs": runs, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1])
