"""The Train page without a browser: every choice of the sidebar gives the experiment it shows."""

import pytest

from attnlab.configuration.options import options_of
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.positions import POSITIONS
from attnlab.runs.links import control_key
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from tests.unit.scripts import experiment_of


def _experiment_of(app) -> Experiment:
    """The experiment that a reset takes from the controls, as “In code” shows it."""
    # Once it is open, “In code” is drawn with the rest.
    app.session_state["in_code"] = True
    app.button(key="run_reset").click().run()
    assert not app.exception
    return experiment_of(app.code[-1].value)


def test_the_page_opens_on_the_default_experiment(app):
    assert [title.value for title in app.title] == ["Train"]
    assert app.selectbox(key="preset").value == "corrected-markov"
    assert _experiment_of(app) == Experiment()


def test_presets_fill_the_controls_and_leave_nothing_behind(app):
    for name in (*PRESETS, *reversed(PRESETS)):
        app.selectbox(key="preset").select(name).run()
        assert not app.exception
        assert not app.error
        assert _experiment_of(app) == PRESETS[name].experiment


@pytest.mark.parametrize("model", MODELS)
def test_every_model_with_every_generator_and_every_position(app, model):
    app.selectbox(key="model").select(model).run()
    for generator in GENERATORS:
        app.selectbox(key="generator").select(generator).run()
        experiment = _experiment_of(app)
        assert (experiment.generator.name, experiment.model.name) == (generator, model)
        assert experiment.generator == GENERATORS[generator]().at_length(experiment.length)
    if "position" not in options_of(experiment.model):
        return
    for position in POSITIONS:
        app.selectbox(key=control_key(MODELS[model], "position")).select(position).run()
        assert _experiment_of(app).model.position == POSITIONS[position]()


def test_every_choice_reaches_the_experiment(app):
    for key in ("mask", "scale", "initialisation", "embedding", "batch_mode"):
        for choice in app.selectbox(key=key).options:
            app.selectbox(key=key).select(choice).run()
            experiment = _experiment_of(app)
            of_training = key in options_of(experiment.training)
            owner = experiment.training if of_training else experiment.model
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
