"""Hostile values in every field of an archive and of a library's summaries.

What is read is either right or refused by name, the other runs are there, and nothing that was
accepted can be drawn on no page or printed by no command.
"""

import contextlib
import json
import math
import shutil
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.library import SORTS, Library, LibraryError, Query
from attnlab.runs.library.summary import RowError
from attnlab.runs.storage import RunFileError
from tests.unit.kept_results import Clock, result_of, run_of
from tests.unit.test_library_file import joined, parts_of

# Without the type checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")

HOSTILE = [
    None, True, -1, 7.5, 2**53 + 1, 2**63, 10**400, 1e308, math.nan, math.inf, -math.inf,
    "", "x", "1", "a" * 100_000, "\0", "\ud800", "\x1b[2J\u202e",
    "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00", "2026-01-01T00:00:00+23:59",
    "../../x.run", "[" * 100_000, [], {}, [None] * 9, [1e400], ["x"] * 4,
]  # fmt: skip
# The ends of the day.
ZONES = [ZoneInfo("Etc/GMT-14"), ZoneInfo("Etc/GMT+12"), UTC]


def source():
    library = Library(None, clock=Clock())
    library.keep(result_of(run=run_of(), exact_match=0.5), name="hostile", tags=("a",))
    library.keep(result_of(seed=1), name="good")
    return library


def whole_archive():
    library = source()
    return library.export([1, 2])


ARCHIVE = whole_archive()
(RECORD, MODEL), GOOD = parts_of(ARCHIVE)


def assert_can_be_shown(entry):
    """Every number of an entry is finite and possible, and its date is one in every zone."""
    result = entry
    for zone in ZONES:
        assert datetime.fromisoformat(entry.kept_at(zone)).tzinfo
    for whole in (result.steps, result.parameters, entry.changes, entry.number):
        assert 0 <= whole <= 2**53
    assert 0 <= result.seconds < math.inf
    for evaluation in filter(None, (result.evaluation, *(test for _, test in result.tests))):
        assert all(math.isnan(each) or each >= 0 for each in evaluation[:4])
        assert evaluation.excess is None or math.isfinite(evaluation.excess)
        assert not evaluation.accuracy > 1
    if result.evaluation is not None:
        assert all(each < math.inf or math.isnan(each) for each in result.evaluation[:4])
    for text in (entry.name, *entry.tags, result.reason, *result.versions):
        assert text == "" or text.isprintable()


@pytest.mark.slow
@pytest.mark.parametrize("field", sorted(RECORD.keys()))
def test_a_hostile_field_of_an_archive_is_refused_by_name_and_the_others_come_in(field):
    for value in HOSTILE:
        library = Library(None)
        taken = library.take_in(joined([({**RECORD, field: value}, MODEL), GOOD]))
        finally_named = {entry.name for entry in library.entries()}
        assert "good" in finally_named, value
        assert library.problems() == ()
        assert len(taken.added) == 2 or "Run 1 of this file was left out." in taken.refused[0], (
            value
        )
        for entry in library.entries():
            assert_can_be_shown(entry)
        again = Library(None)
        assert len(again.take_in(library.export(taken.added)).added) == len(taken.added)


RUNS = 12


def filled(folder):
    """A library of a run that stays good and one for every hostile value, each with a model."""
    library = Library(folder, clock=Clock())
    library.keep(result_of(seed=1), name="good", tags=("a",))
    for seed in range(2, RUNS + 2):
        library.keep(result_of(seed=seed, run=run_of(seed=seed)), name="hostile", tags=("b",))
    return folder


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("pristine"))


def use_all(folder):
    """Do all that pages and commands do; the names of the runs that can be listed."""
    library = Library(folder, clock=Clock())

    def attempt(action):
        with contextlib.suppress(LibraryError, OptionError, RunFileError, RowError):
            action()

    for query in (Query(), Query(deleted=True), Query(text="x"), Query(tag="b"),
                  *(Query(sort=sort) for sort in SORTS)):  # fmt: skip
        attempt(lambda query=query: library.count(query))
        for entry in library.entries(query):
            assert_can_be_shown(entry)
    for choice in library.choices():
        assert all(isinstance(each, str) for each in choice)
    assert 0 <= library.size() < 2**63
    numbers = range(1, RUNS + 2)
    for number in numbers:
        attempt(lambda number=number: library.find(result_of(seed=number).experiment))
        attempt(lambda number=number: library.run_of(number))
        attempt(lambda number=number: library.describe(number, note="new"))
    taken_in = Library(None)
    assert taken_in.take_in(library.export(numbers)).refused == ()
    attempt(lambda: library.take_in(ARCHIVE))
    attempt(lambda: library.keep(result_of(seed=2), number=2))
    named = {entry.name for entry in library.entries(most=1_000)}
    library.delete(numbers[1:])
    library.restore([2])
    library.empty_bin()
    return named


@pytest.mark.slow
@pytest.mark.parametrize("place", range(6))
def test_hostile_fields_of_summaries_poison_nothing(pristine, tmp_path, place):
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    for number in range(2, RUNS + 2):
        path = tmp_path / "runs" / f"{number}.json"
        record = json.loads(path.read_text())
        # Every field of a summary in turn, with several values.
        field = sorted(record)[(number + place * RUNS) % len(record)]
        value = HOSTILE[(7 * number + place) % len(HOSTILE)]
        path.write_text(json.dumps(record | {field: value}))
    assert "good" in use_all(tmp_path)
