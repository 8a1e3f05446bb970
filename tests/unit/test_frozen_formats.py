"""Run files, libraries and archives as they were first published open, and their runs continue."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from attnlab.runs.library import Library, Query
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.steps import advance
from tests.unit.kept_results import Clock

FOLDER = Path(__file__).parents[1] / "data" / "frozen"
# Losses of the four steps in each file and of two more, and the last test, from when it was made.
FACTS = json.loads((FOLDER / "facts.json").read_text())
NAMES = {1: "with a model", 2: "", 3: "numbers"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTS)
def test_a_run_file_opens_and_continues(name):
    data, facts = (FOLDER / f"{name}.run").read_bytes(), FACTS[name]
    run = from_bytes(data)
    assert to_bytes(run) == data
    training, setup = run.experiment.training, prepare(run.experiment)
    np.testing.assert_allclose(run.history.losses, facts["losses"], rtol=1e-7)
    state, more = advance(run.state, setup.source, training, key=setup.key, steps=2)
    np.testing.assert_allclose(more.nll, facts["more"], rtol=1e-6)
    found = evaluate(state.model, setup.test, readout=training.readout)
    assert (found.nll, found.accuracy) == pytest.approx((facts["nll"], facts["accuracy"]), rel=1e-6)


def test_a_library_opens_with_all_its_runs(tmp_path):
    shutil.copytree(FOLDER / "library", tmp_path / "library")
    # Its bin is emptied after a month.
    library = Library(tmp_path / "library", clock=Clock())
    entries = {entry.number: entry for entry in library.entries()}
    assert {number: entry.name for number, entry in entries.items()} == NAMES
    assert entries[1].tags == ("a b", "c")
    (gone,) = library.entries(Query(deleted=True))
    assert (gone.number, gone.name, gone.reason) == (4, "gone", "not finite")
    for name, facts in FACTS.items():
        run = library.run_of(facts["number"])
        assert to_bytes(run) == (FOLDER / f"{name}.run").read_bytes()


def test_an_archive_is_imported():
    library = Library(None)
    taken = library.take_in((FOLDER / "archive.runs").read_bytes())
    assert (taken.added, taken.refused) == ((1, 2, 3), ())
    assert {entry.name for entry in library.entries()} == set(NAMES.values())
    assert int(library.run_of(1).state.step) == 4


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (from_bytes, b"attnlab run 1\n{}"),
        (from_bytes, b"attnlab run 2\n{}"),
        (Library(None).take_in, b"attnlab runs 1\n{}"),
    ],
)
def test_files_from_before_the_first_release_are_refused_in_one_sentence(read, data):
    with pytest.raises(ValueError, match=r"older than the first release.*Train the runs? again"):
        read(data)
