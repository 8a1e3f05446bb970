"""Errors arrive whole from another process."""

import pickle

import pytest

from attnlab.comparisons.processes import WorkersError
from attnlab.configuration.cancellation import Stopped
from attnlab.configuration.options import AttnlabError, OptionError
from attnlab.configuration.records import UnregisteredError
from attnlab.optimum.law import TooManyPastsError
from attnlab.optimum.levels import TooManyBeliefsError
from attnlab.result_card import CardError
from attnlab.runs.library import ArchiveError, LibraryError
from attnlab.runs.library.summary import RowError
from attnlab.runs.storage import RunFileError
from attnlab.training.experiment import starting_state
from attnlab.training.loop import NotFiniteError
from tests.unit.small_experiments import SMALL
from tests.unit.test_doctests import modules

MADE = {
    AttnlabError: lambda: AttnlabError("a `problem`"),
    ArchiveError: lambda: ArchiveError("It is cut off."),
    CardError: lambda: CardError("It is empty."),
    LibraryError: lambda: LibraryError("The disk is full.", 28),
    NotFiniteError: lambda: NotFiniteError(3, starting_state(SMALL), SMALL.training),
    OptionError: lambda: OptionError("length", 99, "too long", "Choose less"),
    RowError: lambda: RowError("It is not a row."),
    RunFileError: lambda: RunFileError("It is empty.", "Choose another."),
    Stopped: Stopped,
    TooManyBeliefsError: TooManyBeliefsError,
    TooManyPastsError: lambda: TooManyPastsError(11, 177_147),
    UnregisteredError: lambda: UnregisteredError("model", "mine", "unknown", "Register it"),
    WorkersError: lambda: WorkersError("They cannot start."),
}


def classes_of_errors():
    return {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseException)
        and value.__module__.startswith("attnlab.")
    }  # fmt: skip


def test_every_class_of_errors_is_tested_here():
    assert classes_of_errors() == MADE.keys()


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_an_error_that_was_pickled_is_the_same(kind):
    error = MADE[kind]()
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.args) == (str(error), error.args)
    for name in ("name", "value", "problem", "errno"):
        assert getattr(again, name, None) == getattr(error, name, None)
