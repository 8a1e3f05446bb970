"""The runs that pages open with are of their presets, and their numbers are their models'."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.inspection import final_probs
from attnlab.inspection.predictions import probs_by_query
from attnlab.inspection.targets import check_targets
from attnlab.lessons.examples import shipped_run
from attnlab.optimum import optimum
from attnlab.training.experiment import prepare
from attnlab.training.presets import FIRST_PRESET, PRESETS


@pytest.mark.slow
def test_its_test_is_that_of_its_model():
    run = shipped_run("recall")
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "preset", "first"), [("mess3", "mess3-belief", 10), ("induction", "induction", 17)]
)
def test_the_other_examples_are_finished_runs_of_their_presets(name, preset, first):
    run = shipped_run(name)
    experiment = run.experiment
    assert experiment == PRESETS[preset].experiment
    step, test = run.history.tests[-1]
    assert step == int(run.state.step) == experiment.training.steps
    kept = [step for step, _ in run.history.checkpoints]
    assert kept[0] == 0
    assert len(kept) > 4
    # The tested tokens are those from the position `first` on.
    sequences = np.asarray(prepare(experiment).test)
    probs = probs_by_query(run.state.model, sequences[:, :-1])
    losses = -np.log(np.take_along_axis(probs, sequences[:, 1:, None], axis=2)[..., 0])
    assert losses[:, first - 1 :].mean() == pytest.approx(test.nll, abs=1e-4)
    # Nearly all that can be learned.
    best = optimum(experiment.generator, experiment.length).final
    assert best.nll - 3 * test.nll_stderr < test.nll < best.nll + 0.02


@pytest.mark.slow
def test_the_model_of_cards_sorts_nearly_all_hands_of_its_test():
    run = shipped_run("cards")
    assert run.experiment == PRESETS["cards-encoder-decoder"].experiment
    found = check_targets(
        run.experiment.generator, run.state.model, jnp.asarray(prepare(run.experiment).test)
    )
    assert found.exact_match.value > 0.99
    _, test = run.history.tests[-1]
    assert found.tokens.nll.mean() == pytest.approx(test.nll, abs=1e-4)
    assert run.history.checkpoints[0][0] == 0
