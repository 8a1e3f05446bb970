"""Controls that stand in the address: good values, bad ones, and changes afterwards."""

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.generators import NDays
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import OWN_SETTINGS
from tests.app.conftest import APP
from tests.app.lessons import open_page
from tests.pages import PAGES


def _page():
    import streamlit as st

    from attnlab.ui.controls.address_controls import linked

    linked(st.slider, "rows", 1, 9, 4, key="rows")
    linked(st.number_input, "base", 2.0, 100.0, 10.0, key="base")
    linked(st.selectbox, "kind", ["one", "two"], key="kind")
    linked(st.toggle, "on", key="on")


def _opened(**parameters) -> AppTest:
    page = AppTest.from_function(_page, default_timeout=30)
    for name, text in parameters.items():
        page.query_params[name] = text
    page.run()
    assert not page.exception
    return page


def _values(page) -> dict:
    return {key: page.session_state[key] for key in ("rows", "base", "kind", "on")}


_DEFAULTS = {"rows": 4, "base": 10.0, "kind": "one", "on": False}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [("rows", "7", 7), ("rows", "4", 4), ("base", "2.5", 2.5), ("base", "10", 10.0),
     ("kind", "two", "two"), ("kind", "one", "one"), ("on", "true", True), ("on", "False", False)],
)  # fmt: skip
def test_a_good_value_is_taken(key, text, value):
    page = _opened(**{key: text})
    assert _values(page) == {**_DEFAULTS, key: value}
    assert not page.warning


@pytest.mark.parametrize(
    ("key", "text"),
    [("rows", "abc"), ("rows", "10"), ("rows", "nan"), ("rows", "1e999"), ("rows", ""),
     ("base", "-1"), ("base", "inf"), ("base", "x" * 500), ("kind", "three"), ("on", "maybe")],
)  # fmt: skip
def test_a_bad_value_leaves_the_default_and_is_told(key, text):
    page = _opened(**{key: text})
    assert _values(page) == _DEFAULTS
    (warning,) = page.warning
    assert f"`{key}`" in warning.value
    assert len(warning.value) < 200


def test_the_notice_goes_when_the_control_is_changed():
    page = _opened(rows="abc")
    page.toggle(key="on").set_value(True).run()
    assert len(page.warning) == 1
    page.slider(key="rows").set_value(5).run()
    assert not page.warning
    page.slider(key="rows").set_value(4).run()
    assert not page.warning


def test_a_change_after_a_good_value_is_no_fault():
    page = _opened(rows="7")
    page.slider(key="rows").set_value(2).run()
    assert _values(page)["rows"] == 2
    assert not page.warning


def _address(app) -> dict[str, str]:
    given = app.query_params.items()
    return {key: value if isinstance(value, str) else value[-1] for key, value in given}


def _go_to(app, address: dict[str, str]):
    app.query_params.clear()
    app.query_params.update(address)
    return app.run()


def _heard(app) -> str:
    return app.text_input(key="receipt").value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "parameters", "words"),
    [
        ("generators", {"generators_section": "xyz"}, "has no choice 'xyz'"),
        ("generators", {"generators_section": "What matters"}, None),
        ("generators", {"v": "2", "generators_sections": "xyz"}, "sections'"),
        ("positional_encodings", {"pe_views": "path"}, "views', but"),
        ("positional_encodings", {"v": "2", "pe_view": "path"}, None),
        ("train", {"colour": "red"}, "'colour', but"),
    ],
)
def test_what_the_address_asks_of_a_page_in_vain_is_told(page, parameters, words):
    page = open_page(f"pages/{page}.py", parameters)
    assert [warning.value for warning in page.warning if words and words in warning.value] or (
        words is None and not page.warning
    )


@pytest.mark.slow
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


def test_going_back_before_the_page_is_drawn_again_counts(app):
    before, preset = _address(app), app.selectbox(key="preset").value
    app.number_input(key="steps").set_value(700).run()
    # As after a run of the script that ended before it drew the menu of presets.
    app.session_state["preset"] = preset
    _go_to(app, before)
    assert app.number_input(key="steps").value == 500


def test_an_address_from_before_the_browser_heard_sets_nothing(app):
    before, heard = _address(app), _heard(app)
    app.number_input(key="steps").set_value(700).run()
    app.text_input(key="receipt").set_value(heard)
    _go_to(app, before)
    assert app.number_input(key="steps").value == 700
    assert _address(app) == {"v": "2", "steps": "700"}


def test_a_click_directly_after_a_change_does_not_choose_the_previous_preset_again(app):
    preset, heard = app.selectbox(key="preset").value, _heard(app)
    assert preset in PRESETS
    app.number_input(key="steps").set_value(700).run()
    assert app.selectbox(key="preset").value == OWN_SETTINGS
    app.selectbox(key="preset").select(preset)
    app.text_input(key="receipt").set_value(heard)
    app.run()
    assert app.number_input(key="steps").value == 700
    assert app.selectbox(key="preset").value == OWN_SETTINGS
    # Chosen by the user, it counts.
    app.selectbox(key="preset").select(preset).run()
    assert app.number_input(key="steps").value == 500


@pytest.mark.slow
@pytest.mark.parametrize("own_reruns", [0, 1])
def test_a_click_on_the_heels_of_a_preset_leaves_it(app, own_reruns):
    before = {key: app.number_input(key=key).value for key in ("steps", "learning_rate")}
    before_preset = app.selectbox(key="preset").value
    address, heard = _address(app), _heard(app)
    app.selectbox(key="preset").select("corrected-recall").run()
    for _ in range(own_reruns):
        app.run()
    preset = PRESETS["corrected-recall"].experiment
    for key, value in before.items():
        app.number_input(key=key).set_value(value)
    app.selectbox(key="generator").select("markov")
    app.selectbox(key="preset").select(before_preset)
    app.text_input(key="receipt").set_value(heard)
    _go_to(app, address)
    assert app.selectbox(key="preset").value == "corrected-recall"
    assert app.number_input(key="steps").value == preset.training.steps
    assert app.number_input(key="learning_rate").value == preset.training.learning_rate
    assert _address(app) == to_query(preset)


def test_a_preset_that_the_browser_has_heard_of_can_be_changed_back(app):
    app.selectbox(key="preset").select("corrected-recall").run()
    app.number_input(key="steps").set_value(500).run()
    assert app.number_input(key="steps").value == 500


def test_a_bad_link_is_explained_until_the_notice_is_dismissed():
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params.update({"v": "2", "d_attn": "1000", "mask": "all", "seed": "5"})
    (notice,) = (warning.value for warning in app.run().warning)
    for words in ("d_attn", "more than the cap of 128", "mask"):
        assert words in notice
    assert (app.selectbox(key="mask").value, app.number_input(key="seed").value) == ("causal", 5)
    app.button(key="link_dismiss").click().run()
    assert not app.warning


@pytest.mark.slow
def test_a_link_that_cannot_run_here_can_be_mended(app, monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "1")
    _go_to(app, to_query(Experiment(length=100)))
    assert app.error
    app.slider(key="length").set_value(12).run()
    assert app.slider(key="length").value == 12
    assert not app.error
    assert _address(app)["length"] == "12"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_link_without_version_is_read_like_the_newest_on_every_page(page):
    asked = {"generator": "ndays", "length": "20", "d_attn": "1000"}
    app = AppTest.from_file(APP, default_timeout=120)
    app.query_params.update(asked)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert [app.session_state[key] for key in asked] == ["ndays", 20, 6]
    assert to_query(Experiment(NDays(), length=20)).items() <= _address(app).items()
    assert "d_attn" not in _address(app)
    assert any("`d_attn` is 1000" in warning.value for warning in app.warning)
