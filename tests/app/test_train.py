"""The Train page without a browser: every choice of the sidebar gives the experiment it shows."""

import pytest

from attnlab.configuration.options import options_of
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.positions import POSITIONS
from attnlab.runs.links import control_key
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from tests.app.lessons import code
from tests.unit.scripts import experiment_of


def _experiment_of(app) -> Experiment:
    """The experiment that a reset takes from the controls, as “In code” shows it."""
    app.button(key="run_reset").click().run()
    return experiment_of(code(app))


def test_the_page_opens_on_the_default_experiment(app):
    assert [title.value for title in app.title] == ["Train"]
    assert app.selectbox(key="preset").value == "corrected-markov"
    assert _experiment_of(app) == Experiment()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fills_the_controls(app, name):
    app.selectbox(key="preset").select(name).run()
    assert not app.exception
    assert not app.error
    assert _experiment_of(app) == PRESETS[name].experiment


def test_presets_leave_nothing_behind(app):
    for name in (*PRESETS, *reversed(PRESETS)):
        app.selectbox(key="preset").select(name).run()
        assert _experiment_of(app) == PRESETS[name].experiment


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("model", MODELS)
def test_every_generator_with_every_model(app, generator, model):
    app.selectbox(key="generator").select(generator).run()
    app.selectbox(key="model").select(model).run()
    experiment = _experiment_of(app)
    assert (experiment.generator.name, experiment.model.name) == (generator, model)
    assert experiment.generator == GENERATORS[generator]().at_length(experiment.length)
    if "position" not in options_of(experiment.model):
        return
    for position in POSITIONS:
        app.selectbox(key=control_key(MODELS[model], "position")).select(position).run()
        assert _experiment_of(app).model.position == POSITIONS[position]()


@pytest.mark.parametrize("key", ["mask", "scale", "initialisation", "embedding", "batch_mode"])
def test_every_choice_reaches_the_experiment(app, key):
    for choice in app.selectbox(key=key).options:
        app.selectbox(key=key).select(choice).run()
        experiment = _experiment_of(app)
        owner = experiment.training if key in options_of(experiment.training) else experiment.model
        assert getattr(owner, key) == choice


def test_the_run_at_hand_keeps_its_settings(app):
    app.button(key="run_step").click().run()
    run = app.session_state["live_run"]
    assert run.wait(120.0)
    app.slider(key="length").set_value(7).run()
    assert any("Settings changed" in info.value for info in app.info)
    assert run.experiment.length == 10
    assert _experiment_of(app).length == 7
    assert run.experiment.length == 7
