"""A replay, whatever the browser sends late or twice."""

import time

import pytest


@pytest.fixture
def finished(app):
    """The page after a short run."""
    return _after_run(app, 6)


def _after_run(app, steps):
    app.number_input(key="steps").set_value(steps).run()
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    assert _shown(app) == "now"
    return app


def _shown(app):
    return app.select_slider(key="shown_step").value


def _label(app):
    (label,) = (button.label for button in app.button if button.label in ("Replay", "Stop"))
    return label


def _press(app, label):
    button = next(button for button in app.button if button.label == label)
    button.click().run()
    return button


@pytest.mark.slow
def test_a_click_that_arrives_twice_is_one(app):
    # Results that arrive meanwhile advance the replay, too.
    finished = _after_run(app, 60)
    replay = _press(finished, "Replay")
    at = _shown(finished)
    replay.click().run()
    assert _label(finished) == "Stop"
    # It goes on, and does not begin again.
    assert _shown(finished) > at
    stop = _press(finished, "Stop")
    at = _shown(finished)
    stop.click().run()
    assert (_label(finished), _shown(finished)) == ("Replay", at)


@pytest.mark.slow
def test_a_browser_that_is_late_does_not_hold_up_its_end(finished):
    _press(finished, "Replay")
    for _ in range(20):
        finished.run()
        if _shown(finished) == "now":
            break
    # What it sends is where the slider stood a moment ago.
    finished.session_state["shown_step"] = 4
    finished.run()
    assert _shown(finished) == "now"
    finished.run()
    assert (_label(finished), _shown(finished)) == ("Replay", "now")


@pytest.mark.slow
def test_the_status_names_the_step_that_is_shown(finished):
    """Not that of the run, beside numbers of another step."""
    states = [word.value for word in finished.markdown]
    assert any("`step 6` of 6" in word for word in states)
    finished.select_slider(key="shown_step").set_value(2).run()
    states = [word.value for word in finished.markdown]
    assert any("`showing step 2` of 6" in word for word in states)
    assert not any("`step 6`" in word for word in states)


PATIENCE = 120.0
SMALL = {"steps": 20, "train_size": 200, "test_size": 100, "batch": 20}


@pytest.fixture
def small(app):
    app.slider(key="length").set_value(4)
    for name, value in SMALL.items():
        app.number_input(key=name).set_value(value)
    app.run()
    assert not app.exception
    return app


def captions(app):
    return " ".join(caption.value for caption in app.caption)


def legend(app):
    """The series of the loss chart, which is the first."""
    return app.get("vega_lite_chart")[0].proto.spec


def until(app, words):
    deadline = time.monotonic() + PATIENCE
    while words not in captions(app):
        assert time.monotonic() < deadline, captions(app)
        time.sleep(0.2)
        app.run()


@pytest.mark.slow
def test_five_seeds_give_a_mean_with_its_interval_and_are_kept(small):
    small.button(key="run_repeat").click().run()
    until(small, "accuracy over 5 seeds")
    assert not small.exception
    assert small.toggle(key="curve_over_seeds").value
    assert "mean over seeds" in legend(small)
    small.toggle(key="curve_over_seeds").set_value(False).run()
    assert "mean over seeds" not in legend(small)
    # With the same settings nothing is left to train: the figures are those of before.
    before = captions(small)
    small.button(key="run_repeat").click().run()
    until(small, "accuracy over 5 seeds")
    assert captions(small) == before
    # Other settings have figures of their own, or none.
    small.number_input(key="steps").set_value(30).run()
    small.button(key="run_reset").click().run()
    assert "accuracy over 5 seeds" not in captions(small)


def test_a_repetition_that_is_stopped_leaves_nothing_at_work(small, monkeypatch):
    monkeypatch.setattr("attnlab.ui.train.repeat.run_all", lambda *_, **__: iter(slow()))
    small.button(key="run_repeat").click().run()
    assert "of 5 seeds" in captions(small)
    small.button(key="repeat_stop").click().run()
    assert "of 5 seeds" not in captions(small)
    assert small.button(key="run_repeat")


def slow():
    while True:
        time.sleep(0.05)
        yield None
