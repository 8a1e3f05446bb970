"""The Softmax scaling page without a browser."""

import dataclasses

import pytest

from attnlab.lessons.saturation import CASES
from attnlab.training.limits import HOSTED
from tests.app.lessons import charts, figures, latex, open_page, texts

PATIENCE = 300


@pytest.fixture
def page():
    # Such a link opens the panel of the runs.
    app = open_page("pages/softmax_scaling.py", {"sweep_seeds": "3"})
    yield app
    if "session" in app.session_state:
        app.session_state["session"].pause()
        work = app.session_state["session"].jobs.get("sweep")
        assert work is None or work.wait(PATIENCE)


def measured(page) -> str:
    (found,) = (text.value for text in page.markdown if text.value.startswith("Measured over"))
    return found


@pytest.mark.slow
def test_the_variance_follows_the_controls(page):
    assert "16 \\times 1^4 = 16" in latex(page)
    page.select_slider(key="width").set_value("64").run()
    assert "64 \\times 1^4 = 64" in latex(page)
    page.slider(key="component").set_value(2.0).run()
    assert "64 \\times 2^4 = 1024" in latex(page)
    before = measured(page)
    page.slider(key="draws").set_value(100).run()
    assert "over 100 draws" in measured(page)
    page.slider(key="draws").set_value(2_000).run()
    page.number_input(key="draw_seed").set_value(1).run()
    assert measured(page) != before
    assert not page.exception
    assert not page.error


@pytest.mark.slow
def test_temperature_undoes_the_factor_of_eight(page):
    once = figures(page)
    page.button(key="logits_1").click().run()
    assert figures(page)["entropy (nats)"] != once["entropy (nats)"]
    page.text_input(key="logits").set_value("0.4 -0.8 1.2 -0.8 2").run()
    page.slider(key="temperature_of_logits").set_value(4.0).run()
    assert figures(page) == once


@pytest.mark.slow
def test_bad_logits_keep_the_last_picture(page):
    page.text_input(key="logits").set_value("1 2 3").run()
    before = figures(page)
    for text, word in (
        ("", "empty"),
        ("rain", "not numbers"),
        ("1 nan", "nan"),
        ("1 inf", "inf"),
        ("-inf -inf", "no key"),
        ("1e9 1", "million"),
        (" ".join("1" * 33), "33"),
    ):
        page.text_input(key="logits").set_value(text).run()
        assert not page.exception
        assert "`logits`" in page.error[0].value
        assert word in page.error[0].value
        assert figures(page) == before
    page.text_input(key="logits").set_value("1 2").run()
    assert not page.error


@pytest.mark.slow
def test_every_case_of_numerical_safety(page):
    assert CASES[0].why not in texts(page)
    page.session_state["safety_panel"] = True
    page.run()
    for case in CASES:
        assert f"**{case.name}**" in texts(page)
        assert case.why in texts(page)


def small_sweep(page, monkeypatch):
    """The page's sweep with runs small enough for a test."""
    import attnlab.ui.lessons.sweep_panel as panel

    whole = panel.usual_sweep

    def small(process, steps, seeds):
        sweep = whole(process, 100, seeds)
        training = dataclasses.replace(
            sweep.experiment.training, train_size=200, test_size=100, batch=10
        )
        experiment = dataclasses.replace(sweep.experiment, length=4, training=training)
        return dataclasses.replace(sweep, experiment=experiment, widths=(2, 4), gains=(1.0, 2.0))

    monkeypatch.setattr(panel, "usual_sweep", small)
    return page.run()


@pytest.mark.slow
def test_runs_are_trained_and_read(page, monkeypatch):
    small_sweep(page, monkeypatch)
    assert page.button(key="sweep_stop").disabled
    page.button(key="sweep_start").click().run()
    work = page.session_state["session"].jobs.get("sweep")
    assert work.wait(PATIENCE)
    page.run()
    assert not page.exception
    assert not page.error
    assert "At d_attn = 4, with 1/√d: " in texts(page)
    assert len(charts(page)) == 8 + 8
    before = texts(page)
    page.slider(key="sweep_target").set_value(60).run()
    assert "reached 60%" in texts(page)
    page.segmented_control(key="sweep_gain").set_value("2").run()
    assert not page.exception
    assert texts(page) != before
    page.slider(key="sweep_seeds").set_value(2).run()
    assert any("Settings changed" in info.value for info in page.info)


@pytest.mark.slow
def test_more_runs_than_a_shared_server_allows_are_refused(page, monkeypatch):
    monkeypatch.setattr("attnlab.ui.lessons.sweep_panel.limits", lambda: HOSTED)
    page.slider(key="sweep_steps").set_value(1_000).run()
    page.slider(key="sweep_seeds").set_value(6).run()
    assert "more than the cap" in page.error[0].value
    page.button(key="sweep_start").click().run()
    assert page.session_state["session"].jobs.get("sweep") is None
    assert not page.exception
