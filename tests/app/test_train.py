"""The Train page without a browser: every choice of the sidebar gives the experiment it shows."""

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.configuration.options import options_of
from attnlab.generators import GENERATORS
from attnlab.models import MODELS
from attnlab.positions import POSITIONS
from attnlab.result_card import card_of_run
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.controls.form_state import OWN_SETTINGS
from tests.app.conftest import APP
from tests.unit.scripts import experiment_of


def _experiment_of(app) -> Experiment:
    """The experiment of the controls, which a run that has not begun follows, by “In code”."""
    if not app.code:
        # Once it is open, it is drawn with the rest.
        app.session_state["in_code"] = True
        app.run()
    assert not app.exception
    return experiment_of(app.code[-1].value)


def test_the_page_opens_on_the_first_preset():
    first = AppTest.from_file(APP, default_timeout=60).run()
    assert [title.value for title in first.title] == ["Train"]
    assert first.selectbox(key="preset").value == FIRST_PRESET
    assert _experiment_of(first) == PRESETS[FIRST_PRESET].experiment


def test_a_link_without_settings_opens_those_of_its_version_and_names_their_preset(app):
    assert app.selectbox(key="preset").value == "corrected-markov"
    assert _experiment_of(app) == Experiment()


@pytest.mark.slow
def test_presets_fill_the_controls_and_leave_nothing_behind(app):
    for name in PRESETS:
        app.selectbox(key="preset").select(name).run()
        assert not app.error
        assert _experiment_of(app) == PRESETS[name].experiment


def test_a_preset_that_was_changed_is_no_longer_called_so_and_can_be_chosen_again(app):
    app.selectbox(key="preset").select("corrected-recall").run()
    # Another seed is another draw of the same.
    app.number_input(key="seed").set_value(3).run()
    assert app.selectbox(key="preset").value == "corrected-recall"
    app.selectbox(key="mask").select("none").run()
    assert app.selectbox(key="preset").value == OWN_SETTINGS
    app.selectbox(key="preset").select("corrected-recall").run()
    assert app.selectbox(key="preset").value == "corrected-recall"
    assert _experiment_of(app) == PRESETS["corrected-recall"].experiment


@pytest.mark.slow
def test_every_generator(app):
    for generator in GENERATORS:
        app.selectbox(key="generator").select(generator).run()
        experiment = _experiment_of(app)
        assert experiment.generator == GENERATORS[generator]().at_length(experiment.length)


@pytest.mark.slow
def test_every_model_and_every_position(app):
    for model in MODELS:
        app.selectbox(key="model").select(model).run()
        assert _experiment_of(app).model.name == model
    app.selectbox(key="model").select("transformer").run()
    for position in POSITIONS:
        app.selectbox(key="transformer_position").select(position).run()
        assert _experiment_of(app).model.position == POSITIONS[position]()


@pytest.mark.slow
def test_every_choice_reaches_the_experiment(app):
    for key in ("mask", "scale", "initialisation", "embedding", "batch_mode"):
        for choice in app.selectbox(key=key).options:
            app.selectbox(key=key).select(choice).run()
            experiment = _experiment_of(app)
            of_training = key in options_of(experiment.training)
            owner = experiment.training if of_training else experiment.model
            assert getattr(owner, key) == choice


@pytest.mark.slow
def test_the_run_at_hand_keeps_its_settings(app):
    app.button(key="run_step").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    app.slider(key="length").set_value(7).run()
    assert app.button(key="run_start").label == "Train with changes: length 10 → 7"
    assert run.experiment.length == 10
    app.button(key="run_reset").click().run()
    assert _experiment_of(app).length == 7
    assert run.experiment.length == 7


def test_a_run_that_has_not_begun_follows_the_controls(app):
    app.slider(key="length").set_value(7).run()
    assert app.button(key="run_start").label == "Start"
    assert app.session_state["session"].run.snapshot().experiment.length == 7


def test_few_controls_are_seen_at_once(app):
    seen = {"preset", "generator", "length", "seed", "model", "d_attn", "position"}
    (more,) = [panel for panel in app.sidebar.expander if panel.label == "more"]
    kinds = ("selectbox", "slider", "number_input", "text_input", "text_area")
    inside = {widget.key for kind in kinds for widget in getattr(more, kind)}
    everything = {widget.key for kind in kinds for widget in getattr(app.sidebar, kind)}
    assert everything - inside == seen
    assert inside


def test_a_number_field_that_is_emptied_shows_again_what_it_had(app):
    app.number_input(key="steps").set_value(700).run()
    # The browser puts the default into it, and sends that.
    assert {field.key: field.proto.default for field in app.number_input} == {
        field.key: field.value for field in app.number_input
    }
    assert app.number_input(key="steps").proto.default == 700


def _place_of(block, label):
    """Which child of which child has the label, from the outermost on."""
    for number, child in block.children.items():
        if getattr(child, "label", None) == label:
            return (number,)
        if hasattr(child, "children") and (place := _place_of(child, label)):
            return (number, *place)
    return ()


@pytest.mark.slow
def test_more_keeps_its_place_whatever_stands_above_it(app):
    """Elsewhere the browser would draw it again, closed."""
    place = _place_of(app.sidebar, "more")
    assert place
    for model in MODELS:
        app.selectbox(key="model").set_value(model).run()
        assert _place_of(app.sidebar, "more") == place


@pytest.mark.slow
def test_a_finished_run_has_a_card(app):
    def labels():
        return [file.label for file in app.get("download_button") if "Card" in file.label]

    for name, value in {"v": "2", "steps": "5", "train_size": "100", "test_size": "100"}.items():
        app.query_params[name] = value
    app.session_state["files"] = True
    app.run()
    assert labels() == []
    app.button(key="run_start").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    app.run()
    assert not app.exception
    assert labels() == ["Card, PNG", "Card, SVG", "Card, JSON"]
    assert card_of_run(run.stored()).settings[0].experiment == run.experiment


@pytest.mark.slow
def test_start_trains_a_finished_run_again_and_keeps_the_one_before(app):
    app.number_input(key="steps").set_value(3).run()
    assert app.button(key="run_start").label == "Start"
    for kept in range(2):
        app.button(key="run_start").click().run()
        run = app.session_state["session"].run
        assert run.wait(120.0)
        assert (run.snapshot().state, run.snapshot().step) == ("done", 3)
        assert len(app.session_state["session"].past_runs) == kept
        app.run()
        assert app.button(key="run_start").label == "Train again"
        assert not app.button(key="run_start").disabled
