"""The page What attention costs without a browser."""

import re

import numpy as np
import pytest

from attnlab.lessons.costs import CACHED, CHUNKED, PLAIN, RECOMPUTED, Cost, CostProgress
from attnlab.models import MODELS, parameters_by_part
from tests.app.lessons import STOP_PATIENCE, alts, open_page, texts

_ATTENTION = "attnlab.ui.lessons.costs_panel.measure_attention"
_GENERATION = "attnlab.ui.lessons.costs_panel.measure_generation"


def measured(seconds):
    """Progress of work that is done, from median seconds and bytes by length and way."""
    costs = tuple(
        Cost(length, way, np.array([0.5, 1.0, 2.0]) * median, scratch)
        for (length, way), (median, scratch) in seconds.items()
    )
    return CostProgress(1.0, "", costs, 2e-7)


ATTENTION = measured(
    {
        (64, PLAIN): (1e-3, 1_000), (64, CHUNKED): (2e-3, 100),
        (128, PLAIN): (4e-3, 4_000), (128, CHUNKED): (8e-3, 200),
    }
)  # fmt: skip
GENERATION = measured({(64, RECOMPUTED): (1e-2, 1), (64, CACHED): (1e-3, 1)})


@pytest.fixture
def page():
    app = open_page("pages/what_attention_costs.py")
    yield app
    if "session" in app.session_state:
        app.session_state["session"].pause()


def finish(page, name):
    # A button does what it was drawn with.
    page.run()
    page.button(key=f"{name}_start").click().run()
    assert page.session_state["session"].jobs.get(name).wait(STOP_PATIENCE)
    page.run()
    assert not page.exception
    assert not page.error


def table(page):
    """Parts and formulas."""
    return dict(re.findall(r"^- `([\w.]+)`: (.*) = \*\*[\d,]+\*\*$", texts(page), re.MULTILINE))


def settings_of(page) -> str:
    """What is said of the settings of Train."""
    captions = (text.value for text in page.caption)
    return next(text for text in captions if text.startswith("Settings come from Train"))


@pytest.mark.slow
def test_parameters_of_every_family_are_those_of_the_law(page):
    for name, kind in MODELS.items():
        page.selectbox(key="cost_family").set_value(name).run()
        assert not page.exception
        options = kind()
        if name == "transformer":
            # That of the first preset, which the controls begin with.
            assert "layers.query" in table(page)
            continue
        parts = parameters_by_part(options, vocab=4, length=10)
        assert table(page) == {part.part: part.formula for part in parts}
    (counts,) = (alt for alt in alts(page) if alt.startswith("Parameters against length"))
    assert all(f"{name} " in counts for name in MODELS)


def test_settings_are_those_of_train():
    asked = {"v": "2", "generator": "dotmod", "length": "7", "model": "gru"}
    page = open_page("pages/what_attention_costs.py", asked)
    assert "process dotmod" in settings_of(page)
    assert "length 7" in settings_of(page)
    assert page.selectbox(key="cost_family").value == "gru"


def test_a_family_whose_controls_cannot_be_is_named(page):
    page.session_state["gru_hidden_size"] = 10_000
    page.run()
    assert not page.exception
    assert settings_of(page).endswith("Defaults are used for gru, whose settings are invalid.")


def test_attention_is_measured(page, monkeypatch):
    monkeypatch.setattr(_ATTENTION, lambda *_, **__: iter([ATTENTION]))
    finish(page, "attention_cost")
    words = texts(page)
    assert (
        "From 64 to 128, **plain** takes 4 (4 to 4) times as long and 4 times the memory" in words
    )
    assert "needs 20 times less memory and takes 2 (2 to 2) times as long" in words
    assert "the same results, up to rounding (2e-07)" in words
    assert any("At 128: plain 4, chunked 8." in alt for alt in alts(page))
    page.select_slider(key="cost_d_attn").set_value("64").run()
    assert any("Settings changed" in info.value for info in page.info)


def test_generation_is_measured(page, monkeypatch):
    monkeypatch.setattr(_GENERATION, lambda *_, **__: iter([GENERATION]))
    finish(page, "generation_cost")
    assert "At 64 tokens, generation with the cache is 10 (10 to 10) times as" in texts(page)
    # Four layers of the three heads of the first preset, with keys and values of 8.
    assert f"= {4 * 3 * 64 * 16:,} numbers of 4 bytes" in texts(page)
    # What was measured stays so, whatever the controls say since.
    page.slider(key="cost_layers").set_value(1).run()
    assert any("Settings changed" in info.value for info in page.info)
    assert f"= {4 * 3 * 64 * 16:,} numbers of 4 bytes" in texts(page)


def test_an_error_is_told_without_a_traceback(page, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("no room")
        yield

    monkeypatch.setattr(_ATTENTION, broken)
    page.run()
    page.button(key="attention_cost_start").click().run()
    assert page.session_state["session"].jobs.get("attention_cost").wait(STOP_PATIENCE)
    page.run()
    assert not page.exception
    assert "no room" in page.error[0].value


def test_a_shared_server_offers_less(monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "1")
    page = open_page("pages/what_attention_costs.py", {"cost_longest": "8192"})
    assert page.select_slider(key="cost_longest").options[-1] == "2048"
    assert page.select_slider(key="cost_longest").value == "2048"
    assert page.select_slider(key="cost_d_attn").options[-1] == "64"
    assert page.slider(key="cost_layers").max == 4
    assert "`cost_longest`" in page.warning[0].value
    assert "8192" in page.warning[0].value
