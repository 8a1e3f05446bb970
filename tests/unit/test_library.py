"""The library of runs: what was kept is there, found, in order, and gone only when it shall be."""

import dataclasses
import math
import threading
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Markov
from attnlab.runs.history import Curve
from attnlab.runs.library import (
    BIN_DAYS,
    Library,
    LibraryError,
    Query,
    library_folder,
)
from attnlab.runs.storage import to_bytes
from attnlab.training.evaluation import Evaluation
from tests.unit.kept_results import Clock, assert_same, result_of, run_of
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, small


@pytest.fixture(params=["folder", "memory"])
def folder(request, tmp_path):
    return tmp_path / "library" if request.param == "folder" else None


@pytest.fixture
def library(folder):
    return Library(folder, clock=Clock())


def numbers(library, query=None, **page):
    return [entry.number for entry in library.entries(query or Query(), **page)]


def run_files(folder):
    return sorted(path.name for path in folder.rglob("*.run*"))


@pytest.mark.parametrize(
    "result",
    [
        result_of(exact_match=0.75),
        result_of(evaluation=Evaluation(1.0, 0.1, 0.4, 0.02, -0.003, 0.001)),
        result_of(SMALL, seed=7, state="interrupted", steps=20, tests=()),
        result_of(
            state="failed",
            reason="not finite at step 12: “lower” it\nnow",
            evaluation=Evaluation(math.nan, math.nan, 0.25, 0.0),
            curve=Curve(np.arange(3), np.array([1.0, math.inf, math.nan])),
        ),
        dataclasses.replace(result_of(), evaluation=None, curve=result_of().curve, tests=()),
    ],
)
def test_what_was_kept_is_there_when_the_library_is_opened_again(tmp_path, result):
    clock = Clock()
    Library(tmp_path, clock=clock).keep(result, name="näme", tags=("b", "a"))
    entry = Library(tmp_path, clock=clock).entry(1)
    assert_same(entry, dataclasses.replace(result, reason=result.reason.replace("\n", " ")))
    assert (entry.name, entry.tags, entry.note) == ("näme", ("a", "b"), "")
    assert (entry.has_model, entry.changes, entry.deleted) == (False, 0, None)
    assert all(entry.versions)
    assert timedelta(0) < clock.now - entry.date < timedelta(seconds=9)


def test_a_model_is_kept_bit_for_bit(library):
    run = run_of(SMALL)
    number = library.keep(result_of(SMALL, run=run))
    assert library.entry(number).has_model
    assert library.entry(number).run is None
    assert to_bytes(library.run_of(number)) == to_bytes(run)
    assert library.run_of(library.keep(result_of())) is None
    assert library.run_of(99) is None


def test_a_run_that_goes_on_stays_in_its_row(library, folder):
    first = library.keep(result_of(state="interrupted", steps=20, run=run_of(fill=0.1)), name="it")
    library.describe(first, note="mine")
    assert library.keep(result_of(run=run_of(fill=0.2)), number=first) == first
    entry = library.entry(first)
    assert (entry.state, entry.steps) == ("done", 60)
    assert (entry.name, entry.note) == ("it", "mine")
    assert to_bytes(library.run_of(first)) == to_bytes(run_of(fill=0.2))
    assert folder is None or len(run_files(folder)) == 1
    # What failed at last has no model, and its last good one is kept.
    library.keep(result_of(state="failed", reason="not finite"), number=first)
    assert to_bytes(library.run_of(first)) == to_bytes(run_of(fill=0.2))
    assert library.entry(first).reason == "not finite"
    assert numbers(library, Query(text="FINITE it")) == [first]


def test_a_number_is_never_given_twice(library):
    first = library.keep(result_of(state="interrupted"))
    library.delete([first])
    library.empty_bin()
    second = library.keep(result_of(seed=2))
    third = library.keep(result_of(seed=1), number=first)
    assert len({first, second, third}) == 3
    assert library.entry(third).experiment.seed == 1


def test_only_a_finished_run_of_the_same_settings_and_seed_is_found(library):
    wanted = small(SMALL_LINEAR, seed=3)
    for result in (
        result_of(seed=4),
        result_of(SMALL, seed=3),
        result_of(seed=3, state="interrupted"),
        result_of(seed=3, state="failed"),
        result_of(seed=3, run=run_of(seed=3, changed=True)),
    ):
        library.keep(result)
    assert library.find(wanted) is None
    older, newer = library.keep(result_of(seed=3)), library.keep(result_of(seed=3))
    assert library.find(wanted).number == newer
    library.delete([newer])
    assert library.find(wanted).number == older


def test_a_class_that_is_not_registered_is_refused_and_not_mistaken(library):
    @dataclasses.dataclass(frozen=True)
    class Mine(Markov):
        name: ClassVar[str] = "mine"

    class MyMarkov(Markov):
        pass

    library.keep(result_of())
    for kind in (Mine, MyMarkov):
        own = dataclasses.replace(SMALL_LINEAR, generator=kind())
        with pytest.raises(
            OptionError, match=rf"`generator` is '{kind.__name__}'.*attnlab\.register"
        ):
            library.keep(result_of(own))
        assert library.find(own) is None
    assert library.count() == 1


def test_words_can_be_changed_one_by_one(library):
    number = library.keep(result_of(), name="old", tags=("a b", "c"))
    library.describe(number, note="two\nlines\tand a tab")
    library.describe(number, name=" new ")
    entry = library.entry(number)
    assert (entry.name, entry.tags) == ("new", ("a b", "c"))
    assert entry.note == "two\nlines\tand a tab"
    library.describe(number, tags=["d", "d"])
    assert library.entry(number).tags == ("d",)
    assert numbers(library, Query(text="new lines d")) == [number]
    assert not numbers(library, Query(text="old"))
    assert library.choices() == (("markov",), ("linear",), ("d",))
    library.describe(99, name="nobody")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"name": "x" * 201}, "`name` is 'xxx.*more than 200 letters"),
        ({"tags": ("",)}, "`tags` is .*one is empty"),
        ({"tags": [str(i) for i in range(21)]}, "`tags` is .*more than 20"),
        ({"note": "x" * 10_001}, "`note` is .*more than 10,000 letters"),
    ],
)
def test_words_that_cannot_be_shown_are_refused(library, words, message):
    number = library.keep(result_of(), name="kept")
    with pytest.raises(OptionError, match=message):
        library.describe(number, **words)
    assert library.entry(number).name == "kept"


def test_what_is_deleted_can_come_back_until_the_bin_is_emptied(library, folder):
    first = library.keep(result_of(run=run_of()), name="first")
    second = library.keep(result_of(seed=1, run=run_of(seed=1)), tags=("x",))
    library.delete([first, second])
    assert not numbers(library)
    assert not library.choices().tags
    assert numbers(library, Query(deleted=True, sort="number")) == [second, first]
    assert library.entry(first).deleted
    library.restore([first])
    assert numbers(library) == [first]
    assert library.entry(first).name == "first"
    library.empty_bin()
    assert not library.count(Query(deleted=True))
    assert library.entry(second) is None
    assert library.run_of(first) is not None
    assert folder is None or len(run_files(folder)) == 1


def test_the_bin_empties_itself_after_a_month(tmp_path):
    clock = Clock()
    library = Library(tmp_path, clock=clock)
    for seed in range(2):
        library.keep(result_of(seed=seed, run=run_of(seed=seed)))
    library.delete([1])
    clock.now += timedelta(days=BIN_DAYS - 1)
    library.delete([2])
    assert Library(tmp_path, clock=clock).count(Query(deleted=True)) == 2
    clock.now += timedelta(days=2)
    again = Library(tmp_path, clock=clock)
    assert numbers(again, Query(deleted=True)) == [2]
    assert again.run_of(2) is not None
    assert len(run_files(tmp_path)) == 1


def test_a_run_in_the_bin_that_goes_on_stays_there(library):
    number = library.keep(result_of(state="interrupted"))
    library.delete([number])
    library.keep(result_of(), number=number)
    assert library.count() == 0
    library.restore([number])
    assert library.entry(number).state == "done"


def test_threads_can_keep_at_once(library):
    sizes = []

    def work(seed):
        for _ in range(5):
            library.keep(result_of(seed=seed))
            library.entries(most=2)
            sizes.append(library.size())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seeds = [entry.experiment.seed for entry in library.entries(Query(sort="seed"))]
    assert sorted(seeds) == sorted([*range(4)] * 5)
    assert len(sizes) == 20


def test_a_library_has_the_size_of_its_models_and_rows(library, folder):
    empty = library.size()
    data = len(to_bytes(run_of(SMALL)))
    number = library.keep(result_of(SMALL, run=run_of(SMALL)))
    full = library.size()
    assert full >= empty + data
    if folder is not None:
        assert full == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    library.delete([number])
    library.empty_bin()
    if folder is None:
        assert library.size() <= full - data
    else:
        assert not run_files(folder)


def test_a_library_that_is_full_keeps_nothing_more(folder):
    library = Library(folder)
    most = library.size() + 200_000
    library = Library(folder, most_bytes=most)
    results = (result_of(SMALL, seed=seed, run=run_of(SMALL, seed=seed)) for seed in range(200))
    with pytest.raises(LibraryError, match=r"is full: its limit is .* MB\. Delete runs"):
        list(map(library.keep, results))
    kept = library.count()
    assert library.run_of(kept) is not None
    # The rows of the index are not counted.
    assert library.size() < most + 20_000
    assert folder is None or len(run_files(folder)) == kept


def test_a_library_in_memory_has_no_file(monkeypatch, tmp_path):
    def refused(*_, **__):
        raise AssertionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.open", refused)
    monkeypatch.setattr(Path, "mkdir", refused)
    library = Library(None)
    library.keep(result_of(run=run_of()))
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_experiment_is_refused(library):
    with pytest.raises(ValueError, match="belongs to another experiment"):
        library.keep(result_of(seed=1, run=run_of(seed=2)))
    assert library.count() == 0


def test_a_curve_that_is_too_long_is_refused(library):
    curve = Curve(np.arange(1_001), np.zeros(1_001))
    with pytest.raises(ValueError, match="1,000 points"):
        library.keep(result_of(curve=curve))


def test_the_folder_is_named_by_the_environment():
    assert library_folder({"ATTNLAB_LIBRARY": "/some/where"}) == Path("/some/where")
    assert library_folder({"ATTNLAB_LIBRARY": "~/runs"}) == Path.home() / "runs"
    assert library_folder({"ATTNLAB_LIBRARY": "OFF"}) is None
    own = library_folder({})
    assert own.is_absolute()
    assert "attnlab" in str(own)
    assert library_folder({"ATTNLAB_LIBRARY": ""}) == own
