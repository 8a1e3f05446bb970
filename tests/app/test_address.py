"""The address and the controls: who of the two is right, and clicks that were on their way."""

import pytest

from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS


def _address(app) -> dict[str, str]:
    given = app.query_params.items()
    return {key: value if isinstance(value, str) else value[-1] for key, value in given}


def _go_to(app, address: dict[str, str]):
    app.query_params.clear()
    app.query_params.update(address)
    return app.run()


def _heard(app) -> str:
    return app.text_input(key="receipt").value


def test_the_address_follows_the_controls_there_and_back(app):
    assert _address(app) == {"v": "2"}
    app.number_input(key="steps").set_value(700).run()
    assert _address(app) == {"v": "2", "steps": "700"}
    app.number_input(key="steps").set_value(500).run()
    assert _address(app) == {"v": "2"}


def test_an_address_that_the_browser_went_back_to_sets_the_controls(app):
    before = _address(app)
    app.number_input(key="steps").set_value(700).run()
    _go_to(app, before)
    assert app.number_input(key="steps").value == 500
    assert _address(app) == before


def test_an_address_from_before_the_browser_heard_sets_nothing(app):
    before, heard = _address(app), _heard(app)
    app.number_input(key="steps").set_value(700).run()
    app.text_input(key="receipt").set_value(heard)
    _go_to(app, before)
    assert app.number_input(key="steps").value == 700
    assert _address(app) == {"v": "2", "steps": "700"}


@pytest.mark.slow
@pytest.mark.parametrize("own_reruns", [0, 1])
def test_a_click_on_the_heels_of_a_preset_leaves_it(app, own_reruns):
    before = {key: app.number_input(key=key).value for key in ("steps", "learning_rate")}
    address, heard = _address(app), _heard(app)
    app.selectbox(key="preset").select("corrected-recall").run()
    for _ in range(own_reruns):
        app.run()
    preset = PRESETS["corrected-recall"].experiment
    for key, value in before.items():
        app.number_input(key=key).set_value(value)
    app.selectbox(key="generator").select("markov")
    app.text_input(key="receipt").set_value(heard)
    _go_to(app, address)
    assert app.number_input(key="steps").value == preset.training.steps
    assert app.number_input(key="learning_rate").value == preset.training.learning_rate
    assert _address(app) == to_query(preset)


def test_a_preset_that_the_browser_has_heard_of_can_be_changed_back(app):
    app.selectbox(key="preset").select("corrected-recall").run()
    app.number_input(key="steps").set_value(500).run()
    assert app.number_input(key="steps").value == 500


def test_a_link_that_cannot_run_here_can_be_mended(app, monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "1")
    _go_to(app, to_query(Experiment(length=100)))
    assert app.error
    app.slider(key="length").set_value(12).run()
    assert app.slider(key="length").value == 12
    assert not app.error
    assert _address(app)["length"] == "12"
