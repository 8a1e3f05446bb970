"""Runs in one file: what was exported is taken in, anything else is refused in little memory."""

import base64
import contextlib
import dataclasses
import io
import itertools
import json
import os
import re
import struct
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.library import ArchiveError, Library, LibraryError, Query
from attnlab.runs.storage import to_bytes
from tests.unit.kept_results import Clock, assert_same, result_of, run_of
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, small

# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


@pytest.fixture
def library():
    return Library(None, clock=Clock())


@pytest.fixture(scope="module")
def source():
    library = Library(None, clock=Clock())
    first = result_of(SMALL, run=run_of(SMALL), exact_match=0.75)
    library.keep(first, name="first", tags=("a b", "c"))
    library.keep(result_of(seed=1, state="failed", reason="not finite"))
    library.keep(result_of(seed=2, run=run_of(seed=2, changed=True)))
    library.describe(2, note="two\nlines")
    return library


@pytest.fixture(scope="module")
def data(source):
    return source.export([1, 2, 3])


def parts_of(data):
    """The summaries in a file, each with its model."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        found = {name: file.read(name) for name in file.namelist()}
    models = (found.get(f"{place}.run", b"") for place in itertools.count(1))
    records = [json.loads(data) for name, data in found.items() if name.endswith(".json")]
    return [(record, model) for record, model in zip(records, models, strict=False)]


def joined(parts):
    """The file of these summaries and models."""
    files = []
    for place, (record, model) in enumerate(parts, start=1):
        files.append((f"{place}.json", json.dumps(record)))
        files += [(f"{place}.run", model)] * bool(model)
    return zipped(files)


def zipped(files, **options):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **options) as file:
        for name, content in files:
            file.writestr(name, content)
    return data.getvalue()


def edited(data, number=0, **changes):
    """The file with other values in a record, resealed."""
    parts = parts_of(data)
    record, model = parts[number]
    parts[number] = ({**record, **changes}, model)
    return joined(parts)


def packed(values):
    return base64.b64encode(zlib.compress(np.asarray(values, "<f8").tobytes())).decode()


def test_what_was_exported_is_taken_in(source, data, library):
    assert library.keep(result_of(seed=9)) == 1
    taken = library.take_in(data)
    assert taken == ((2, 3, 4), 0, ())
    for old, new in zip((1, 2, 3), taken.added, strict=True):
        one, other = source.entry(old), library.entry(new)
        assert_same(one, other)
        for field in ("name", "tags", "note", "date", "changes", "has_model"):
            assert getattr(one, field) == getattr(other, field), field
        if one.has_model:
            assert to_bytes(source.run_of(old)) == to_bytes(library.run_of(new))
    assert library.find(result_of(SMALL).experiment).number == 2
    assert [entry.number for entry in library.entries(Query(text="FIRST"))] == [2]
    # And out again as it came.
    assert library.export([2, 3, 4]) == data


def test_what_is_there_is_not_added_again(data, library):
    library.take_in(data)
    assert library.take_in(data) == ((), 3, ())
    assert library.count() == 3
    library.delete([2])
    assert library.take_in(data) == ((2,), 2, ())
    assert library.count() == 3
    assert library.run_of(1) is not None


def test_the_same_run_twice_in_a_file_is_one(data, library):
    assert library.take_in(joined(parts_of(data) * 2)) == ((1, 2, 3), 3, ())


def test_a_model_that_comes_second_in_a_file_finds_its_run(data, library):
    (record, model), *_ = parts_of(data)
    twice = [(record, b""), (record, model), (record, model)]
    assert library.take_in(joined(twice)) == ((1, 1), 1, ())
    assert library.entry(1).has_model


def test_a_model_that_comes_later_finds_its_run(source, library):
    small = source.export([1], models=False)
    assert len(small) < len(source.export([1]))
    assert library.take_in(small) == ((1,), 0, ())
    assert library.run_of(1) is None
    assert library.take_in(source.export([1])) == ((1,), 0, ())
    assert to_bytes(library.run_of(1)) == to_bytes(source.run_of(1))


def test_a_selection_may_be_empty_or_name_nobody(source, library):
    assert library.take_in(source.export([])) == ((), 0, ())
    assert library.take_in(source.export([77, 2])) == ((1,), 0, ())


@pytest.mark.slow
def test_files_that_are_cut_off_or_changed_are_refused_whole(data):
    def taken(changed):
        library = Library(None)
        with contextlib.suppress(ArchiveError):
            library.take_in(changed)
        # In a zip file there are dates and flags that mean nothing.
        return library.export([1, 2, 3]) if library.count() else None

    for length in {*range(0, len(data), 499), *range(20), len(data) - 1}:
        assert taken(data[:length]) is None
    for place in {*range(0, len(data), 397), *range(60), *range(len(data) - 200, len(data), 3)}:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert taken(changed) in (None, data), place


@pytest.mark.parametrize("data", [b"", zipped([("word/document.xml", "<w/>")]), b"\x80\x04."])
def test_other_files_are_refused(library, data):
    with pytest.raises(ArchiveError, match="not an attnlab file of runs"):
        library.take_in(data)


def test_zip_files_that_attnlab_does_not_write_are_refused_in_little_memory(data, library):
    record, model = parts_of(data)[0]
    summary = json.dumps(record).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        files = {
            "or cut off": zipped([("1.json", summary)], compression=zipfile.ZIP_DEFLATED),
            "a bomb": zipped([("1.json", bytes(50_000_000))], compression=zipfile.ZIP_DEFLATED),
            "damaged": b"PK\x03\x04" + bytes(99),
            "too long": zipped([("1.json", bytes(1_000_001))]),
            "not an attnlab file of runs": zipped([("../1.json", summary)]),
            "is damaged": zipped([("2.run", model)]),
        }
    # One part, listed many times.
    at = (one := zipped([("1.json", summary)])).index(b"PK\x01\x02")
    entry, end = one[at:-22], one[-22:]
    many = [entry.replace(b"1.json", f"{n}.json".encode()) for n in range(1, 10)]
    count = (9).to_bytes(2, "little") * 2 + (9 * len(entry)).to_bytes(4, "little")
    files["file of runs is damaged"] = one[:at] + b"".join(many) + end[:8] + count + end[16:]
    tracemalloc.start()
    for why, hostile in files.items():
        with pytest.raises(ArchiveError, match="damaged" if why == "a bomb" else why):
            library.take_in(hostile)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000
    assert library.count() == 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"experiment": "{}"}, "`version` is None"),
        ({"experiment": None}, "experiment is None, which is not a text"),
        ({"experiment": "[" * 100_000}, "not those of a run"),
        (
            {"experiment": '{"version": 1, "name": "experiment", "model": {"name": "os.system"}}'},
            "`model` is 'os.system': unknown",
        ),
        ({"state": "dead"}, "not those of a run"),
        ({"steps": -1}, "steps is -1"),
        ({"seconds": -1.0}, "seconds is -1.0"),
        ({"date": "2026-01-01"}, "not in UTC"),
        ({"date": "9999-12-31T23:59:59-14:00"}, "not from 2000 to 2199"),
        ({"reason": "x" * 3_000}, "more than 2,000 letters"),
        ({"jax": "x" * 60}, "not at most 50 letters"),
        ({"name": "x" * 300}, "more than 200 letters"),
        ({"tags": ["a"]}, "not a text"),
        ({"curve": "§"}, "Run 1 of this file was left out"),
        ({"curve": base64.b64encode(b"junk").decode()}, "not those of a run"),
        ({"curve": packed([0.5, 1.0])}, "invalid steps"),
        ({"curve": packed([np.nan, 1.0])}, "invalid steps"),
        ({"curve": packed([1.0])}, "damaged"),
        ({"curve": packed(np.zeros(2_002))}, "more than 1,000 rows"),
        ({"tests": packed(np.zeros(5 * 1_025))}, "more than 1,024 rows"),
    ],
)
def test_a_run_that_is_none_is_left_out_and_the_others_are_added(data, library, changes, why):
    taken = library.take_in(edited(data, **changes))
    assert len(taken.added) == 2
    (refusal,) = taken.refused
    assert refusal.startswith("Run 1 of this file was left out.")
    assert re.search(why, refusal), refusal


def test_invisible_letters_of_words_come_in_as_question_marks(data, library):
    hostile = "\x9b31m\u202eevil\u200b\u2066"
    words = {"name": hostile, "tags": f"a\n{hostile}", "note": f"{hostile}\n\tb\ud800"}
    taken = library.take_in(edited(data, **words, reason=hostile))
    assert (len(taken.added), taken.refused) == (3, ())
    entry = library.entry(1)
    assert (entry.name, entry.reason) == ("?31m?evil??", "?31m?evil??")
    assert entry.tags == ("?31m?evil??", "a")
    assert entry.note == "?31m?evil??\n\tb?"


def test_a_run_without_one_of_its_parts_is_left_out(data, library):
    parts = parts_of(data)
    for name in parts[0][0].keys() - {"deleted", "file"}:
        record = {key: value for key, value in parts[0][0].items() if key != name}
        taken = library.take_in(joined([(record, parts[0][1])]))
        why = f"Run 1 of this file was left out. It lacks a part, `{name}`."
        assert taken == ((), 0, (why,))


def test_models_of_other_runs_and_damaged_ones_are_left_out(data, library):
    (one, _), (two, _), (three, other) = parts_of(data)
    taken = library.take_in(joined([(one, other), (two, b""), (three, other[:-9])]))
    # The rest of these runs comes in.
    assert taken.added == (1, 2, 3)
    assert [library.entry(number).has_model for number in taken.added] == [False] * 3
    assert library.entry(1).name == "first"
    assert "The model of run 1 of this file was left out." in taken.refused[0]
    assert "belongs to another experiment" in taken.refused[0]
    assert "damaged or cut off" in taken.refused[1]


def test_a_run_that_went_on_may_have_its_model_of_before(library):
    """Such as one that diverged after its learning rate was changed."""
    source = Library(None)
    number = source.keep(result_of(state="interrupted", run=run_of()))
    changed = dataclasses.replace(
        result_of(), experiment=small(SMALL_LINEAR, learning_rate=0.3), state="failed"
    )
    source.keep(changed, number=number)
    assert library.take_in(source.export([number])) == ((1,), 0, ())
    assert library.entry(1).experiment.training.learning_rate == 0.3
    assert to_bytes(library.run_of(1)) == to_bytes(run_of())


def test_names_of_files_and_of_tables_have_no_meaning(data, library, tmp_path):
    folder = tmp_path / "in" / "library"
    opened = Library(folder)
    changes = {"file": "../../evil.run", "number": 1, "deleted": "x", "settings": "'); DROP TABLE"}
    assert opened.take_in(edited(data, **changes)).refused == ()
    assert {path.name for path in tmp_path.iterdir()} == {"in"}
    assert {path.parent.name for path in tmp_path.rglob("*.run")} == {"runs"}
    assert opened.find(result_of(SMALL).experiment).number == 1


def test_what_unpacks_to_much_is_refused_in_little_memory(data, library):
    bomb = base64.b64encode(zlib.compress(bytes(200_000_000), 9)).decode()
    (one, model), (two, _), *_ = parts_of(data)
    hostile = joined([({**one, "curve": bomb}, model), ({**two, "tests": bomb}, b"")])
    tracemalloc.start()
    taken = library.take_in(hostile)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(taken.refused) == 2
    assert most < 20_000_000


def test_more_runs_than_a_file_may_have_are_refused(source, data, library, monkeypatch):
    monkeypatch.setattr("attnlab.runs.library.archive.MOST_RUNS", 2)
    with pytest.raises(ArchiveError, match="more than 2 runs"):
        library.take_in(data)
    assert library.count() == 0
    with pytest.raises(OptionError, match=r"more than 2 runs\. Export them in several files"):
        source.export([1, 2, 3])


def test_a_zip_of_many_entries_is_refused_in_little_memory(library):
    names = (b"%d.json" % number for number in range(1, 200_002))
    entries = b"".join(b"PK\1\2" + struct.pack("<24xH16x", len(name)) + name for name in names)
    data = entries + b"PK\5\6" + struct.pack("<6xHIIxx", 0xFFFF, len(entries), 0)
    tracemalloc.start()
    with pytest.raises(ArchiveError, match="more than 100,000 runs"):
        library.take_in(data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000_000


@pytest.mark.parametrize("models", [True, False])
def test_a_library_that_is_full_takes_in_all_or_nothing(source, library, models):
    data = source.export([1, 2, 3], models=models)
    # Room for the rows of some of them.
    small_one = Library(None, most_bytes=library.size() + len(data) // 2)
    with pytest.raises(LibraryError, match="is full"):
        small_one.take_in(data)
    assert small_one.count() == 0
    assert small_one.size() == library.size()
    larger = Library(None, most_bytes=library.size() + len(data) * 2)
    assert len(larger.take_in(data).added) == 3


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "a bit flipped": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x01"),
    "a link": lambda path: path.replace(path.with_name("x")).parent and path.symlink_to("x"),
    "a fifo": lambda path: path.unlink() or os.mkfifo(path),
}


@pytest.mark.skipif(os.name != "posix", reason="FIFOs of POSIX")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_whose_model_is_damaged_is_exported_without_it(tmp_path, library, damage):
    opened = Library(str(tmp_path))
    kept = result_of(run=run_of())
    opened.keep(kept)
    (path,) = tmp_path.rglob("*.run")
    DAMAGES[damage](path)
    data = opened.export([1])
    assert "Run 1 is exported without its model." in opened.problems()[0].text
    assert b"__metadata__" not in data
    assert library.take_in(data) == ((1,), 0, ())
    assert_same(dataclasses.replace(kept, run=None), library.entry(1))
    assert not library.entry(1).has_model
