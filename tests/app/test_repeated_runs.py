"""Runs of the same settings with other seeds: their mean on the film, and how they are stopped."""

import time

import pytest

from tests.app.lessons import film

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
    """The names of the curves of the loss."""
    return [curve["name"] for curve in film(app)["curves"]]


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
