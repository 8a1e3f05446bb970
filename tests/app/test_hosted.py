"""The app on a server that strangers share: lower caps, one queue, calm errors."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.live.jobs import WorkQueue
from attnlab.live.live_run import LiveRun
from attnlab.models import AttentionOptions
from attnlab.runs.history import empty_history
from attnlab.runs.storage import Run, to_bytes
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import HOSTED, OPEN
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training, advance
from attnlab.ui.core import server

_APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.fixture
def hosted(monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "1")
    monkeypatch.delenv("ATTNLAB_TRAININGS", raising=False)
    server.work_queue.clear()
    yield
    server.work_queue.clear()


@pytest.fixture
def hosted_app(hosted):
    app = AppTest.from_file(_APP, default_timeout=60).run()
    assert not app.exception
    yield app
    app.session_state["session"].run.pause()
    assert app.session_state["session"].run.wait(120.0)


def _errors(app) -> str:
    assert not app.exception
    return "\n".join(error.value for error in app.error)


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("TRUE", True), ("0", False),
                                                ("", False), ("off", False)])  # fmt: skip
def test_the_environment_says_whether_strangers_share_the_server(monkeypatch, text, expected):
    monkeypatch.setenv("ATTNLAB_HOSTED", text)
    assert server.hosted() is expected
    assert server.limits().caps == (HOSTED if expected else OPEN).caps


def test_without_the_variable_the_machine_is_ones_own(monkeypatch):
    monkeypatch.delenv("ATTNLAB_HOSTED", raising=False)
    assert server.hosted() is False


def test_an_answer_that_is_neither_is_refused(monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "maybe")
    with pytest.raises(ValueError, match="`ATTNLAB_HOSTED` is 'maybe'"):
        server.hosted()


@pytest.mark.parametrize(
    ("cores", "trainings", "places"),
    [(1, None, 1), (2, None, 1), (8, None, 7), (None, None, 1), (8, "3", 3), (2, "1", 1)],
)
def test_a_shared_server_keeps_a_core_for_its_pages(hosted, monkeypatch, cores, trainings, places):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    if trainings is not None:
        monkeypatch.setenv("ATTNLAB_TRAININGS", trainings)
    queue = server.work_queue()
    assert (queue.places, queue.seconds, queue.patience) == (
        places,
        HOSTED.seconds,
        HOSTED.patience,
    )
    assert server.work_queue() is queue


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", " "])
def test_a_number_of_trainings_that_is_none_is_refused(hosted, monkeypatch, text):
    monkeypatch.setenv("ATTNLAB_TRAININGS", text)
    with pytest.raises(ValueError, match="`ATTNLAB_TRAININGS` is"):
        server.work_queue()


def test_a_preset_is_allowed(hosted_app):
    # All of them are held against the caps by the test of limits.
    (*_, last) = PRESETS
    hosted_app.selectbox(key="preset").select(last).run()
    assert _errors(hosted_app) == ""
    assert not hosted_app.button(key="run_start").disabled


@pytest.mark.slow
def test_a_number_or_slider_above_its_cap_cannot_start(hosted_app):
    hosted_app.selectbox(key="model").select("attention").run()
    hosted_app.selectbox(key="data").select("fixed").run()
    numbers = ("steps", "batch", "train_size", "test_size")
    for name in (*numbers, "length", "d_attn", "d_model"):
        kind = hosted_app.number_input if name in numbers else hosted_app.slider
        cap, before = HOSTED.caps[name], kind(key=name).value
        # The words of the control's label, without its unit.
        label = kind(key=name).label.partition(" (")[0]
        kind(key=name).set_value(cap + 1).run()
        assert f"`{label}` is {cap + 1}: more than the cap of {cap:,}" in _errors(hosted_app)
        for button in ("run_start", "run_step", "run_reset", "run_new_seed"):
            assert hosted_app.button(key=button).disabled
        kind(key=name).set_value(cap if name in numbers else before).run()
        assert _errors(hosted_app) == ""
        assert not hosted_app.button(key="run_start").disabled
        # As it was, from the next run of the page on.
        kind(key=name).set_value(before)


def test_a_length_above_its_cap_is_not_worked_out_either(hosted_app):
    # Outside a browser the values of controls come one run after the page.
    hosted_app.switch_page("pages/generators.py").run().run()
    assert _errors(hosted_app) == ""
    hosted_app.slider(key="length").set_value(HOSTED.caps["length"] + 1).run()
    assert "`length` is 65: more than the cap of 64" in _errors(hosted_app)
    assert "last valid settings" in " ".join(info.value for info in hosted_app.info)


def _untrained(d_attn: int) -> Run:
    """A run before its first step that nobody has tested."""
    training = Training(steps=5, train_size=100, test_size=100)
    experiment = Experiment(model=AttentionOptions(d_attn=d_attn), training=training)
    return Run(experiment, prepare(experiment).state, empty_history())


@pytest.mark.slow
def test_a_run_file_above_a_cap_is_refused_and_one_below_is_taken(hosted_app):
    hosted_app.session_state["files"] = True
    hosted_app.run()
    wide, good = (to_bytes(_untrained(d_attn)) for d_attn in (65, 6))
    hosted_app.file_uploader(key="run_file").set_value(("wide.run", wide, "")).run()
    assert re.search(r"'wide\.run': `d_attn` is 65: more than the cap of 64", _errors(hosted_app))
    assert hosted_app.session_state["session"].run.snapshot().state == "idle"
    hosted_app.file_uploader(key="run_file").set_value(("good.run", good, "")).run()
    assert _errors(hosted_app) == ""
    assert hosted_app.session_state["session"].run.wait(120.0)
    assert hosted_app.session_state["session"].run.snapshot().state == "paused"
    assert hosted_app.session_state["session"].run.experiment.training.steps == 5


@pytest.mark.slow
def test_a_run_that_was_never_tested_can_be_looked_at(app):
    experiment = _untrained(6).experiment
    setup, training = prepare(experiment), experiment.training
    state, losses = advance(setup.state, setup.source, training, key=setup.key, steps=3)
    history = empty_history().with_losses(losses.nll)
    app.session_state["session"].run.resume(Run(experiment, state, history))
    assert app.session_state["session"].run.wait(120.0)
    app.session_state["session"].run.step()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    assert not app.exception
    labels = [metric.label for metric in app.metric]
    assert "test loss (nats)" in labels
    assert "test loss at step 0" not in labels


@pytest.mark.slow
def test_who_waits_reads_their_place_and_can_pause(hosted_app, monkeypatch):
    queue = WorkQueue(1)
    other = queue.join()
    hosted_app.session_state["session"].run = LiveRun(Experiment(), queue=queue)
    for size, number in {"steps": 3, "train_size": 200, "test_size": 100}.items():
        hosted_app.session_state[size] = number
    hosted_app.button(key="run_start").click().run()
    run = hosted_app.session_state["session"].run
    status = " ".join(text.value for text in hosted_app.markdown)
    assert "waiting: place 1 in the queue, 1 computation at a time" in status
    assert "Waiting in the queue" in status
    assert "compiling" not in status
    hosted_app.button(key="run_pause").click().run()
    assert run.wait(120.0)
    assert not hosted_app.run().exception
    assert run.snapshot().state == "paused"
    assert "Paused before the first step" in " ".join(text.value for text in hosted_app.markdown)
    assert hosted_app.button(key="run_start").label == "Continue"
    other.leave()
    hosted_app.button(key="run_start").click().run()
    assert run.wait(120.0)
    assert run.snapshot().state == "done"
