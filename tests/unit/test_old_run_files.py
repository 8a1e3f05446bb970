"""Run files of earlier versions of attnlab open, and their runs go on."""

from pathlib import Path

import numpy as np
import pytest

from attnlab.models import parameter_count
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.steps import advance
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
def test_a_file_with_a_normalisation_that_no_model_reads_opens_and_goes_on(name, version):
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
