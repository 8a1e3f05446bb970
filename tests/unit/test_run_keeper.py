"""The rows that a session's runs are kept in."""

import dataclasses
import math

import numpy as np
import pytest

from attnlab.runs.library import Library, LibraryError
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.evaluation import Evaluation
from attnlab.ui.core.outside import FAULT
from attnlab.ui.core.session_library import RunKeeper
from tests.unit.kept_results import Clock, result_of, run_of


@pytest.fixture
def library():
    return Library(None, clock=Clock())


def _numbers(library):
    return [entry.number for entry in library.entries()]


def test_a_run_stays_in_its_row(library):
    keeper = RunKeeper(library, only_ended=False)
    first = keeper(result_of(state="interrupted", steps=20), None)
    second = keeper(result_of(run=run_of()), first)
    assert first.number == second.number == 1
    assert _numbers(library) == [1]
    assert library.entry(1).state == "done"


def test_a_row_that_somebody_else_wrote_is_left_to_them(library):
    one, other = (RunKeeper(library, only_ended=False) for _ in range(2))
    begun = one(result_of(state="interrupted", steps=20), None)
    one(result_of(steps=60), begun)
    assert other(result_of(state="interrupted", steps=30), begun).number == 2
    assert [library.entry(number).steps for number in (1, 2)] == [60, 30]


def test_a_name_that_was_given_meanwhile_is_no_other_run(library):
    keeper = RunKeeper(library, only_ended=False)
    begun = keeper(result_of(state="interrupted", steps=20), None)
    library.describe(1, name="mine", tags=["new"])
    assert keeper(result_of(), begun).number == 1
    assert library.entry(1).name == "mine"


def test_a_row_that_is_gone_becomes_a_new_one(library):
    keeper = RunKeeper(library, only_ended=False)
    begun = keeper(result_of(state="interrupted", steps=20), None)
    library.delete([1])
    library.empty_bin()
    assert keeper(result_of(), begun).number == 2


def test_another_library_begins_another_row(library):
    keeper = RunKeeper(Library(None), only_ended=False)
    begun = keeper(result_of(state="interrupted", steps=20), None)
    keeper.library = library
    library.keep(result_of(seed=3))
    assert keeper(result_of(), begun).number == 2
    assert library.entry(1).experiment.seed == 3


def test_a_run_that_repeats_a_finished_one_has_its_row(library):
    keeper = RunKeeper(library, only_ended=False)
    done = keeper(result_of(run=run_of()), None)
    library.describe(1, name="mine")
    again = keeper(result_of(state="interrupted", run=run_of(), steps=20), None)
    assert keeper(result_of(run=run_of()), again).number == done.number == again.number
    assert _numbers(library) == [1]
    assert library.entry(1).name == "mine"
    # Changed on the way, it is another run.
    assert keeper(result_of(run=run_of(changed=True)), again).number == 2
    assert library.entry(1).changes == 0
    library.delete([1])
    assert keeper(result_of(run=run_of()), None).number == 3


def test_only_what_has_ended_where_that_is_wanted(library):
    keeper = RunKeeper(library, only_ended=True)
    assert keeper(result_of(state="interrupted", steps=20), None) is None
    assert keeper(result_of(), None).number == 1
    assert keeper(result_of(state="failed", reason="it diverged"), None).number == 2


def test_why_nothing_was_kept_is_known_until_something_is(library, monkeypatch):
    keeper = RunKeeper(library, only_ended=False)
    begun = keeper(result_of(state="interrupted", steps=20), None)

    def full(*arguments, **options):
        raise LibraryError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(Library, "keep", full)
        assert keeper(result_of(), begun) == begun
    assert keeper.problem == "The disk is full."
    assert keeper(result_of(), begun).number == 1
    assert keeper.problem == ""


def test_a_run_whose_numbers_are_not_finite_is_saved(library):
    test = Evaluation(math.inf, math.nan, 0.5, 0.02, math.nan, math.nan)
    run = run_of()
    run = run._replace(history=dataclasses.replace(run.history, tests=((60, test),)))
    keeper = RunKeeper(library, only_ended=False)
    kept = keeper(result_of(run=run, evaluation=test, tests=((60, test),)), None)
    assert (keeper.problem, kept.has_model, kept.evaluation.accuracy) == ("", True, 0.5)
    ((step, again),) = from_bytes(to_bytes(run)).history.tests
    assert step == 60
    np.testing.assert_array_equal(again[:6], [math.nan, math.nan, 0.5, 0.02, math.nan, math.nan])


def test_an_internal_error_is_a_fault_and_no_message(library, monkeypatch):
    keeper = RunKeeper(library, only_ended=False)

    def broken(*arguments, **options):
        raise ValueError("cannot reshape array of size 0")

    monkeypatch.setattr(Library, "keep", broken)
    with pytest.raises(ValueError, match="reshape"):
        keeper(result_of(), None)
    assert keeper.problem == FAULT
