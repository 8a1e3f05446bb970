"""Beliefs without a browser: a small run, its probes beside their controls, and steering."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.inspection import TARGETS, BeliefGap
from attnlab.runs.links import LINK_VERSION
from attnlab.training.presets import PRESETS
from attnlab.ui.beliefs import what_it_knows
from attnlab.ui.core.example_run import example_run
from tests.app.conftest import APP
from tests.app.lessons import film

PAGE, FORMER = "pages/look_inside.py", "pages/beliefs.py"
SETTINGS = {
    "view": "beliefs", "generator": "mess3", "length": 4, "model": "transformer",
    "transformer_heads": 1,
    "transformer_d_model": 8, "transformer_mlp_width": 8, "loss": "next", "steps": 2,
    "batch": 20, "test_size": 100, "data": "fresh",
}  # fmt: skip


def opened(app, **more):
    app.switch_page(PAGE)
    for name, value in ({"v": LINK_VERSION} | SETTINGS | more).items():
        app.query_params[name] = str(value)
    app.run()
    assert not app.exception
    return app


def trained(app, **more):
    opened(app, **more).button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    return settled(app.run())


def settled(app):
    while "Computing the exact beliefs" in texts(app):
        app.run()
    assert not app.exception
    return app


def texts(app):
    return " ".join(each.value for each in (*app.markdown, *app.caption))


def test_who_has_chosen_nothing_sees_mess3():
    example_run.clear()
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page(FORMER)
    app.query_params.clear()
    app.run()
    assert not app.exception
    assert app.selectbox(key="preset").value == "mess3-belief"
    assert app.selectbox(key="generator").value == "mess3"
    # The finished film of the preset, until the run that comes with attnlab is loaded.
    shown = film(app)
    assert shown["key"] == "shipped"
    assert shown["frames"][-1]["step"] == PRESETS["mess3-belief"].experiment.training.steps
    assert "This run comes with attnlab. **Start** (key S) trains it here." in texts(app)
    assert "The model beats the best linear predictor" in texts(app)
    assert not app.metric
    # Other settings have none.
    app.number_input(key="seed").set_value(1).run()
    assert not app.get("bidi_component")


@pytest.mark.slow
def test_the_run_that_comes_with_attnlab_is_probed_without_a_press_of_start():
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page(FORMER)
    app.query_params.clear()
    app.run()
    assert example_run("mess3").wait(120.0)
    settled(app.run())
    assert app.session_state["session"].run.snapshot().state == "idle"
    assert texts(app).count("This run comes with attnlab.") == 1
    assert "readout at the output recovers the beliefs nearly exactly:** R² 0.99" in texts(app)
    assert any("not found by the probe" in each.label for each in app.metric)
    # The truth and the floor stay while an own run has none of its own yet.
    shown = film(app)
    assert shown["subject"]["title"] == "truth: exact beliefs"
    assert [name for name, *_ in shown["levels"]][-1] == "best possible"


@pytest.mark.slow
def test_a_run_is_probed_at_every_site_and_steered(app):
    # One layer of attention, so that theory says how it attends.
    app = trained(app, transformer_mlp_width=0)
    assert "attention proportional to (1 − 3x)^distance = 0.85^distance" in texts(app)
    assert "At step 2 the deviation from theory is" in texts(app)
    sites = ["embedding", "attention 1", "output"]
    assert app.segmented_control(key="belief_site").options == sites
    assert "affine function of the next-token distribution" in texts(app)
    assert re.search(
        r"readout at the output recovers the beliefs [a-z ]+:\*\* R² 0\.\d+ ±", texts(app)
    )
    (controls,) = (each.value for each in app.caption if "R² without the" in each.value)
    assert "; last three tokens 0." in controls
    assert "; shuffled target " in controls
    (fitted,) = (each for each in app.caption if "Probes are fitted on 1,000" in each.value)
    # Three sites of width 8, at four positions of 2,000 sequences.
    assert "take 0.8 MB" in fitted.proto.help
    together = (
        r"A probe of all activations together reaches R² 0[^;]+; before training, it reaches 0"
    )
    assert re.search(together, texts(app))
    assert "% of the pasts in these were also fitted." in texts(app)
    values = {each.label: float(each.value.split()[0]) for each in app.metric}
    parts = values["not found by the probe (nats)"] + values["known, but not used (nats)"]
    assert values["gap to the floor (nats)"] == pytest.approx(parts, abs=2e-4)
    (steered,) = [each.value for each in app.table if "to exact belief" in each.value]
    assert "to exact belief, evenly spaced" in steered
    assert steered["prediction"].tolist()[0] == "after steering"
    # Without steering, no chosen belief changes the prediction.
    assert "±" not in steered["to exact belief"].iloc[2]
    before = texts(app)
    app.segmented_control(key="belief_site").set_value("embedding")
    app.select_slider(key="belief_position").set_value(4).run()
    assert not app.exception
    assert texts(app) != before
    # The picture has the R² of the sentence, at that position.
    said = float(re.search(r"At token 4.*?R² (−?[\d.]+)", texts(app))[1].replace("−", "-"))
    title = film(app)["measured"][-1]["title"]
    drawn = float(re.search(r"R² (−?[\d.]+)", title)[1].replace("−", "-"))
    assert drawn == pytest.approx(said, abs=0.006)
    app.session_state["shown_step"] = 1
    app.run()
    assert "At step 1 the deviation from theory is" in texts(app)
    # At rest, the film has the beliefs of every kept model, at the chosen site and position.
    shown = film(app)
    assert shown["at"] == 1
    assert [each["step"] for each in shown["measured"]] == [0, 1, 2]
    assert all(each["title"].startswith("model, after embedding: R²") for each in shown["measured"])
    # Three bytes for each, in base 64.
    assert len(shown["subject"]["colours"]) <= 4 * 3**4
    # A choice that another model lacks is dropped.
    app = trained(app, model="gru", gru_hidden_size=4)
    assert app.segmented_control(key="belief_site").options == ["state"]
    assert "deviation from theory" not in texts(app)
    # The library has the first run.
    beside = app.selectbox(key="beliefs_beside_1")
    beside.set_value(beside.options[0]).run()
    assert not app.exception
    assert any("R², transformer" in each.value for each in app.table)


@pytest.mark.slow
def test_five_states_with_noise_and_every_target(app, monkeypatch):
    # A model that predicts better than the belief that the probe finds.
    better = BeliefGap(0.5, 0.01, 0.001, 0.03, 0.001, -0.02, 0.001)
    monkeypatch.setattr(what_it_knows, "belief_gap", lambda *_: better)
    app.session_state["belief_position"] = 9
    app = trained(app, generator="rrxor", rrxor_noise=0.1, model="gru", gru_hidden_size=4)
    assert app.select_slider(key="belief_position").value == "all"
    assert app.session_state["session"].run.snapshot().experiment.generator.noise == 0.1
    values = {each.label: each.value for each in app.metric if "(nats)" in each.label}
    assert "gap to the floor (nats)" in values
    assert values["used, but not found (nats)"].startswith("0.02")
    assert "known, but not used (nats)" not in values
    assert "The model predicts better than the belief that the probe finds." in texts(app)
    assert "of 5 dimensions" in film(app)["subject"]["words"]
    corners = app.multiselect(key="belief_corners")
    corners.set_value(corners.options[:3])
    app.select_slider(key="belief_position").set_value(2).run()
    assert "The other 2 corners are at the centre" in film(app)["subject"]["words"]
    # A place among five states is no single belief, so that there is no grid of them.
    (steered,) = [each.value for each in app.table if "to exact belief" in each.value]
    assert "to exact belief, evenly spaced" not in steered
    assert "over the beliefs after 4 sequences." in texts(app)
    target = app.selectbox(key="belief_target")
    assert target.options == [*TARGETS]
    for name, noun in (
        ("next token", "next-token distributions"),
        ("last token", "last tokens"),
        ("hidden state", "hidden states"),
    ):
        settled(app.selectbox(key="belief_target").select(name).run())
        assert film(app)["subject"]["title"] == f"truth: exact {noun}"
        # The gap and steering are about the belief.
        assert not any("floor" in each.label for each in app.metric)
    assert "No probe can beat the exact belief" in texts(app)


@pytest.mark.slow
def test_a_process_without_hidden_states_offers_the_named_ones(app):
    app.selectbox(key="generator").select("dotmod").run()
    app.switch_page(FORMER).run()
    app.button(key="choose_rrxor-belief").click().run()
    assert not app.exception
    assert app.selectbox(key="generator").value == "rrxor"


@pytest.mark.slow
def test_a_model_without_sites_cannot_be_probed(app):
    app = trained(app, model="linear", loss="last")
    assert "its activations cannot be read" in texts(app)


@pytest.mark.slow
def test_the_three_steps(app):
    app = opened(app)
    app.session_state["belief_steps"] = True
    app.run()
    assert not app.exception
    (table,) = [each.value for each in app.dataframe if "state A" in each.value.columns]
    assert table.index.tolist() == ["start", "A", "A", "B", "A"]
    assert table.loc["start"].tolist() == [pytest.approx(1 / 3, abs=1e-3)] * 3
    app.text_input(key="belief_past").set_value("A?").run()
    assert any("after 1 symbols" in each.value for each in app.error)
    app.slider(key="belief_tokens").set_value(5).run()
    assert not app.exception


def test_one_hidden_state_has_no_belief_to_show(app):
    opened(
        app,
        generator="hidden-chain",
        **{"hidden-chain_initial": "1", "hidden-chain_table": "0.5 0.5"},
    )
    assert app.button(key="choose_mess3-belief")
