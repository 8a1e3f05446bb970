"""Train and Inspect on a model that reads a task as one row of tokens, without a browser."""

import dataclasses

import pytest

from attnlab.generators import Reverse
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.app.test_inspect_page import _open, _resume, _starting
from tests.unit.live_runs import trained
from tests.unit.small_experiments import SMALL

pytestmark = pytest.mark.slow

# The readout has no part in a task: all of its target tokens are tested.
_TASK = Experiment(
    generator=Reverse(3, 6),
    model=SMALL.model,
    training=Training(loss="next", readout="first", steps=2, data="fresh", batch=8, test_size=100),
)


@pytest.fixture
def of_a_task(app):
    _resume(app, _starting(_TASK))
    return app


def _sentence(page):
    (sentence,) = (text.value for text in page.markdown if "history_edu" in text.value)
    return sentence


def _panels(page):
    return {panel.label for panel in page.expander}


def test_train_speaks_of_no_single_row_and_has_no_days_after_the_last(of_a_task):
    page = of_a_task.run()
    while not any("history_edu" in text.value for text in page.markdown):
        page.run()
    assert not page.exception
    assert "of the attention" not in _sentence(page)
    assert "Runs so far" in _panels(page)
    assert "Samples from the model and from the process" not in _panels(page)


def test_inspect_begins_with_the_prediction_of_the_last_target_token(of_a_task):
    of_a_task.session_state["cell_panel"] = True
    page = _open(of_a_task)
    assert any(text.value.startswith("**Query token 5, key token") for text in page.markdown)


@pytest.mark.parametrize(("loss", "diverges"), [("next", True), ("last", False)])
def test_a_loss_that_was_not_trained_does_not_diverge(app, loss, diverges):
    steep = dataclasses.replace(_TASK.training, loss=loss, steps=60, learning_rate=5.0)
    stored = trained(dataclasses.replace(_TASK, training=steep))
    tests = stored.history.tests
    assert tests[-1][1].nll > 2 * tests[0][1].nll
    _resume(app, stored)
    page = app.run()
    assert any("the run diverges" in text.value for text in page.warning) == diverges
