"""The run that Inspect opens with is that of the first preset, and its numbers are its model's."""

import numpy as np
import pytest

from attnlab.inspection import final_probs
from attnlab.lessons.examples import shipped_run
from attnlab.optimum import optimum
from attnlab.training.experiment import prepare
from attnlab.training.presets import FIRST_PRESET, PRESETS


@pytest.mark.slow
def test_its_test_is_that_of_its_model():
    run = shipped_run()
    experiment = run.experiment
    assert experiment == PRESETS[FIRST_PRESET].experiment
    step, test = run.history.tests[-1]
    assert step == int(run.state.step) == experiment.training.steps
    assert len(run.history.checkpoints) > 5
    sequences = np.asarray(prepare(experiment).test)
    probs = final_probs(run.state.model, sequences[:, :-1], experiment.training.readout)
    of_final = probs[np.arange(len(sequences)), sequences[:, -1]]
    assert -np.log(of_final).mean() == pytest.approx(test.nll, abs=1e-4)
    right = probs.argmax(axis=1) == sequences[:, -1]
    assert right.mean() == pytest.approx(test.accuracy, abs=1e-3)
    # It has found nearly all that can be learned: the heads attend to the days that matter.
    best = optimum(experiment.generator, experiment.length).final
    assert best.nll - 3 * test.nll_stderr < test.nll < best.nll + 0.02
