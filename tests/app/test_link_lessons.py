"""Lessons in links: shown on every page, edited, and left."""

import time
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.generators import Recall
from attnlab.runs.links import Lesson, all_but, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.app.conftest import APP

_EXPERIMENT = Experiment(training=Training(steps=70))
_LESSON = Lesson("Which *mask*?", "Find it.\n\n- one\n- two", ("preset", "d_attn"))


@pytest.fixture
def builder(app):
    """A page with the panel of links and lessons open."""
    app.session_state["link_panel"] = True
    return app.run()


def _open(app, lesson: Lesson, experiment: Experiment = _EXPERIMENT):
    app.query_params.clear()
    app.query_params.update(to_query(experiment, lesson))
    return app.run()


def _strip(app) -> str:
    return "".join(each.proto.body for each in app.get("html"))


def _keys(app) -> set[str]:
    return {each.key for kind in ("selectbox", "number_input", "slider") for each in app.get(kind)}


def _builder(app) -> Lesson:
    app.session_state["link_panel"] = True
    app.run()
    hidden = tuple(app.multiselect(key="lesson_hidden").value)
    if app.radio(key="lesson_hiding").value == "show only":
        hidden = all_but(hidden)
    title, text = app.text_input(key="lesson_title").value, app.text_area(key="lesson_text").value
    no_hints, large = (
        app.checkbox(key=f"lesson_{name}").value for name in ("no_hints", "large_type")
    )
    return Lesson(title, text, hidden, not no_hints, large)


def _link(app) -> str:
    return app.code[1].value


@pytest.mark.slow
def test_its_words_stand_on_every_page(app):
    _open(app, _LESSON)
    for page in ("words", "generators", "softmax_scaling"):
        app.switch_page(f"pages/{page}.py").run()
        assert "<h2>Which <em>mask</em>?</h2>" in _strip(app)
        assert "<li>one</li>" in _strip(app)


def test_the_controls_that_a_lesson_names_are_in_no_panel(app):
    assert "<h2>" not in _strip(app)
    assert "lesson_leave" not in {button.key for button in app.button}
    assert "more" in {panel.label for panel in app.sidebar.expander}
    _open(app, Lesson("Steps", hidden=all_but(("steps", "mask"))))
    assert not app.sidebar.expander
    assert _keys(app) & {"steps", "mask", "loss", "heads"} == {"steps", "mask"}


@pytest.mark.slow
def test_the_builder_holds_the_lesson_that_is_open(app):
    few = Lesson("Steps", hidden=all_but(("steps",)))
    assert _builder(_open(app, few)) == few
    assert "hide=all&show=steps" in _link(app)
    assert _builder(_open(app, _LESSON)) == _LESSON
    app.text_input(key="lesson_title").set_value("Another").run()
    assert "title=Another" in _link(app)
    assert "hide=preset%2Cd_attn" in _link(app)


@pytest.mark.slow
def test_the_builder_hides_all_but_a_few(builder):
    builder.multiselect(key="lesson_hidden").select("mask").run()
    assert "hide=mask" in _link(builder)
    builder.radio(key="lesson_hiding").set_value("show only").run()
    assert "hide=all&show=mask" in _link(builder)


@pytest.mark.slow
def test_controls_of_another_process_leave_the_builder(builder):
    builder.multiselect(key="lesson_hidden").select("markov_transition").run()
    builder.selectbox(key="generator").select("recall").run()
    assert not builder.exception
    assert builder.multiselect(key="lesson_hidden").value == []


@pytest.mark.slow
def test_a_lesson_without_hints_proposes_no_change(app):
    training = Training(steps=20, batch=20, train_size=200, test_size=200)
    _open(app, Lesson("Which setting?"), Experiment(generator=Recall(), training=training))
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)

    def hints():
        """The sentence about the run, and whether there is advice."""
        deadline = time.monotonic() + 60
        while not (words := [each.value for each in app.markdown if "history_edu" in each.value]):
            assert time.monotonic() < deadline
            app.run()
        return words[0], "advice" in {button.key for button in app.button}

    words, is_advised = hints()
    assert "uniform guess" in words
    assert "MLP" in words
    assert is_advised
    app.session_state["lesson"] = Lesson("Which setting?", has_hints=False)
    app.run()
    words, is_advised = hints()
    assert "uniform guess" in words
    assert "MLP" not in words
    assert not is_advised


@pytest.mark.slow
def test_a_lesson_switches_on_large_type(app):
    assert not app.toggle(key="large_type").value
    _open(app, Lesson("For the last row", has_large_type=True))
    assert app.toggle(key="large_type").value
    # Readers can switch it off.
    app.toggle(key="large_type").set_value(False).run()
    assert not app.run().toggle(key="large_type").value
    assert _builder(app).has_large_type


def test_the_builder_makes_lessons_without_hints_and_in_large_type(builder):
    builder.checkbox(key="lesson_no_hints").check().run()
    builder.checkbox(key="lesson_large_type").check().run()
    assert "hints=off&type=large" in _link(builder)


def test_lessons_are_listed_with_their_links_and_replaced_by_title(builder):
    for title, text in (("[Masks]", "Find it."), ("Steps", "Train."), ("[Masks]", "Find both.")):
        builder.text_input(key="lesson_title").set_value(title).run()
        builder.text_area(key="lesson_text").set_value(text).run()
        builder.button(key="lesson_keep").click().run()
    (listed,) = [each.value for each in builder.markdown if "My lessons" in each.value]
    masks, steps = [line for line in listed.splitlines() if line.startswith("- ")]
    assert masks.endswith(f"(?{_link(builder).partition('?')[2]})")
    assert "Find+both" in masks
    assert r"[\[Masks" in masks
    assert "text=Train" in steps


def test_a_link_is_drawn_as_a_qr_code_unless_it_is_too_long(builder):
    builder.toggle(key="qr_code_page").set_value(True).run()
    assert '<img alt="QR code of the link"' in _strip(builder)
    builder.text_area(key="lesson_text").set_value("\N{FIRE}" * 500).run()
    builder.toggle(key="qr_code_lesson").set_value(True).run()
    assert "too long for a QR code" in "".join(each.value for each in builder.info)


@pytest.mark.slow
def test_a_named_lesson_of_the_server_is_opened_and_listed(app, tmp_path, monkeypatch):
    (tmp_path / "masks.txt").write_text("?" + urlencode(to_query(_EXPERIMENT, _LESSON)))
    app.query_params.clear()
    app.query_params["lesson"] = "masks"
    assert "no lesson on this server" in "".join(each.value for each in app.run().warning)
    monkeypatch.setenv("ATTNLAB_LESSONS", str(tmp_path))
    app.query_params["lesson"] = "masks"
    app.session_state["link_panel"] = True
    app.run()
    assert not app.exception
    assert "<h2>Which <em>mask</em>?</h2>" in _strip(app)
    assert app.number_input(key="steps").value == 70
    # The short address stays until a control is changed.
    assert set(app.query_params) == {"lesson"}
    app.number_input(key="steps").set_value(80).run()
    assert "80" in app.query_params["steps"]
    assert "lesson" not in app.query_params
    listed = "(?lesson=masks)"
    assert listed not in "".join(each.value for each in app.markdown)
    app.button(key="lesson_leave").click().run()
    assert listed in "".join(each.value for each in app.markdown)


def test_all_but_a_few_hides_the_controls_of_any_process(app):
    _open(app, Lesson(hidden=all_but(("generator", "seed"))), Experiment(generator=Recall()))
    shown = {"generator", "seed"}
    assert _keys(app) & set(all_but(())) == shown
    app.selectbox(key="generator").select("markov").run()
    assert _keys(app) & set(all_but(())) == shown


@pytest.mark.slow
def test_leaving_a_lesson_keeps_the_settings_and_the_builder(app):
    _open(app, _LESSON)
    assert not {"preset", "d_attn"} & _keys(app)
    app.number_input(key="steps").set_value(80).run()
    app.button(key="lesson_leave").click().run()
    assert {"preset", "d_attn"} <= _keys(app)
    assert app.number_input(key="steps").value == 80
    given = {key: value[-1] for key, value in app.query_params.items()}
    assert "steps" in given
    assert not {"title", "text", "hide"} & given.keys()
    assert "<h2>" not in _strip(app)
    assert _builder(app) == _LESSON


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "key", "first", "usual"),
    [("positional_encodings", "pe_a_base", 100, 10_000), ("softmax_scaling", "width", "64", "16")],
)
def test_a_link_keeps_its_meaning_where_a_page_begins_with_other_values(page, key, first, usual):
    def value(query):
        app = AppTest.from_file(APP, default_timeout=120)
        app.query_params.update(query)
        app.run()
        # As after a click on the menu, which drops the address of the page before.
        app.query_params.clear()
        app.query_params.update(query)
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception
        return app.select_slider(key=key).value

    assert value({}) == first
    assert value(to_query(_EXPERIMENT)) == usual
    assert value({key: "32" if key == "width" else "50"}) == ("32" if key == "width" else 50)
