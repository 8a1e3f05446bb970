"""Run files and libraries of earlier versions of attnlab open, and their runs continue."""

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from attnlab.models import parameter_count
from attnlab.runs.library import Library, Query
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.steps import advance
from tests.unit.kept_results import Clock
from tests.unit.run_file_edits import arrays_of, joined, parts_of

FOLDER = Path(__file__).parents[1] / "data"
# Written by an attnlab whose layers without an MLP had a second normalisation, which no model read:
# the losses of the four steps in the file and of two more, and the last test, all by that attnlab.
WITH_UNREAD = {
    "version_2_transformer.run": (
        [1.1161690950, 1.0305403471, 1.3537038565, 1.1153622866, 1.2298730612, 1.2491848469],
        1.2655358213,
    ),
    "version_2_encoder-decoder.run": (
        [3.7503402233, 3.5225677490, 3.4256389141, 3.2802731991, 3.5233097076, 3.4705262184],
        3.3873487663,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", WITH_UNREAD)
def test_a_file_with_a_normalisation_that_no_model_reads_opens_and_continues(name, version):
    losses, nll = WITH_UNREAD[name]
    data = (FOLDER / name).read_bytes()
    if version == 1:
        _, header, payload = parts_of(data)
        header["arrays"] = arrays_of(header)
        data = joined(1, header, payload)
    run = from_bytes(data)
    experiment, setup = run.experiment, prepare(run.experiment)
    np.testing.assert_allclose(run.history.losses, losses[:4], rtol=1e-7)
    # Every weight is in its place: the models give the numbers of the tests.
    for step, model in run.history.checkpoints:
        found = evaluate(model, setup.test, readout="last")
        np.testing.assert_allclose(found[:4], dict(run.history.tests)[step][:4], rtol=1e-6)
    state, more = advance(run.state, setup.source, experiment.training, key=setup.key, steps=2)
    np.testing.assert_allclose(more.nll, losses[4:], rtol=1e-6)
    assert evaluate(state.model, setup.test, readout="last").nll == pytest.approx(nll, rel=1e-6)
    kept = from_bytes(to_bytes(run))
    assert parameter_count(kept.state.model) == parameter_count(setup.state.model)


# Written by the last attnlab with run files of version 2, in the fifth version of its tables.
NAMES = {1: "with a model", 2: "", 4: "numbers alone"}


def test_a_library_of_an_earlier_version_opens_with_all_its_runs(tmp_path):
    shutil.copytree(FOLDER / "library_5", tmp_path / "library")
    # Its bin is emptied after a month.
    library = Library(tmp_path / "library", clock=Clock())
    entries = {entry.number: entry for entry in library.entries()}
    assert {number: entry.name for number, entry in entries.items()} == NAMES
    assert (entries[1].tags, entries[1].changes) == (("a b", "c"), 1)
    assert (entries[2].note, entries[2].result.reason) == ("two\nlines", "not finite")
    (gone,) = library.entries(Query(deleted=True))
    assert (gone.name, gone.result.exact_match) == ("gone", 0.75)
    run = library.run_of(1)
    assert run.history.changes[0].step == 30
    assert all((np.asarray(leaf) == 0.5).all() for leaf in jax.tree.leaves(run.state.model))
    assert entries[4].result.curve.values[-1] == 1.0
    library.close()


def test_a_file_of_runs_of_an_earlier_version_is_taken_in():
    library = Library(None)
    taken = library.take_in((FOLDER / "archive_1.runs").read_bytes())
    assert (taken.added, taken.refused) == ((1, 2, 3), ())
    assert {entry.name for entry in library.entries()} == set(NAMES.values())
    assert int(library.run_of(1).state.step) == 60
    library.close()
