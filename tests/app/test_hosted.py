"""The app on a server that strangers share: lower caps, one queue, calm errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.models import AttentionOptions
from attnlab.runs.history import empty_history
from attnlab.runs.run import Run
from attnlab.runs.storage import to_bytes
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import HOSTED, OPEN
from attnlab.training.steps import Training, advance
from attnlab.ui.core import server
from attnlab.ui.core.server import switch_on_cache

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


@pytest.mark.slow
def test_a_run_that_a_visitor_has_trained_is_there_for_the_next(hosted_app):
    def train(app):
        app.selectbox(key="model").select("linear").run()
        app.number_input(key="steps").set_value(7).run()
        app.button(key="run_start").click().run()
        run = app.session_state["session"].run
        assert run.wait(120.0)
        assert not app.run().exception
        return run

    first = train(hosted_app)
    other = AppTest.from_file(_APP, default_timeout=60).run()
    second = train(other)
    assert first is not second
    # The same weights, which training again would only have equalled.
    assert second.stored().state is first.stored().state
    # What the second does with it is its own.
    other.button(key="run_reset").click().run()
    assert (first.snapshot().state, second.snapshot().state) == ("done", "idle")


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
    """A run before its first step that has no test."""
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


_ROOT = Path(__file__).resolve().parents[2]
_NOBODY = "~nobody-of-this-name/x"


def test_what_no_page_can_do_without_is_said_on_every_page(monkeypatch):
    monkeypatch.setenv("ATTNLAB_TRAININGS", "perhaps")
    app = AppTest.from_file(_ROOT / "app.py", default_timeout=60).run()
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith("`ATTNLAB_TRAININGS` is 'perhaps'")


@pytest.mark.slow
def test_a_server_that_may_be_shared_or_not_does_not_start():
    environment = {**os.environ, "ATTNLAB_HOSTED": "perhaps"}
    command = [sys.executable, "-c", "import app"]
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert (
        done.stderr.decode().splitlines()[-1].startswith("attnlab: `ATTNLAB_HOSTED` is 'perhaps'")
    )


@pytest.mark.slow
def test_without_its_folder_the_library_is_in_memory_and_says_why(monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", _NOBODY)
    app = AppTest.from_file(_ROOT / "app.py", default_timeout=60).run()
    assert not app.exception
    assert not app.error
    app.switch_page("pages/library.py").run()
    assert not app.exception
    (line,) = [each.value for each in app.caption if "ATTNLAB_LIBRARY" in each.value]
    assert "this user has no home folder" in line


def test_a_cache_without_its_folder_is_off_and_logged(monkeypatch, caplog):
    monkeypatch.setenv("ATTNLAB_CACHE", _NOBODY)
    assert switch_on_cache() is None
    assert f"`ATTNLAB_CACHE` is '{_NOBODY}'" in caplog.text


@pytest.mark.parametrize("text", ["off", "FALSE", "no", "0"])
def test_a_cache_is_switched_off_by_every_word_for_it(monkeypatch, tmp_path, text):
    monkeypatch.setenv("ATTNLAB_CACHE", text)
    monkeypatch.chdir(tmp_path)
    assert switch_on_cache() is None
    assert not list(tmp_path.iterdir())
