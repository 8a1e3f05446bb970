"""The Positional encodings page without a browser."""

import itertools
import re

import pytest

from attnlab.configuration.options import options_of
from attnlab.positions import POSITIONS
from attnlab.ui.lessons.encoding_panel import IN_THE_RUN, VIEWS
from attnlab.ui.lessons.kit import steps
from tests.app.lessons import alts, code


@pytest.fixture
def page(app):
    # Outside a browser the values of controls come one run after the page.
    app.switch_page("pages/positional_encodings.py").run().run()
    assert not app.exception
    return app


def _texts(page):
    parts = (page.markdown, page.caption, page.info, page.warning)
    return "\n".join(text.value for part in parts for text in part)


@pytest.mark.slow
def test_every_encoding_and_every_view(page):
    names, views = (*POSITIONS, IN_THE_RUN), itertools.cycle(VIEWS)
    for name, view in zip(names, views, strict=False):
        page.selectbox(key="pe_b").select(name)
        page.segmented_control(key="pe_view").set_value(view).run()
        assert not page.exception, (name, view)
        assert not page.error, (name, view)
        assert all(alts(page)), (name, view)
        compile(code(page), f"in code with {name}", "exec")


def test_a_shift_of_sinusoids_errs_by_rounding_and_of_learned_ones_much(page):
    page.slider(key="pe_shift").set_value(5).run()
    sinusoidal, learned = (text for text in _texts(page).splitlines() if "Largest error" in text)
    assert "from its formula" in sinusoidal
    assert 0 < largest_error(sinusoidal) < 1e-5
    assert "least squares" in learned
    assert largest_error(learned) > 0.01


def largest_error(line):
    return float(re.search(r"Largest error over all t: \*\*([0-9.e-]+)\*\*", line).group(1))


def test_every_option_of_an_encoding_can_be_chosen(page):
    for name, kind in POSITIONS.items():
        page.selectbox(key="pe_b").select(name).run()
        controls = {each.key for each in (*page.selectbox, *page.select_slider)}
        assert {f"pe_b_{option}" for option in options_of(kind)} <= controls
    assert "Alibi(slope=0.5, slopes='equal')" not in code(page)
    page.selectbox(key="pe_a").select("alibi").run()
    page.selectbox(key="pe_a_slopes").select("by head").run()
    assert "Alibi(slope=0.5, slopes='by head')" in code(page)
    page.select_slider(key="pe_alibi").set_value(0.01).run()
    assert "alibi: score 1.00 at distance 0, 0.61 at 39." in alts(page)
    page.select_slider(key="pe_alibi").set_value(0.5).run()
    # A single head has the slope to the power of 8.
    page.selectbox(key="pe_alibi_slopes").select("by head").run()
    assert "alibi: score 1.00 at distance 0, 0.85 at 39." in alts(page)


def test_positions_that_are_few_or_too_alike_are_told(page):
    assert "needs large weights" not in _texts(page)
    page.slider(key="pe_length").set_value(6).run()
    assert "some matrix always fits them exactly" in _texts(page)
    page.slider(key="pe_length").set_value(64).run()
    page.slider(key="pe_width").set_value(2).run()
    (warning,) = (text.value for text in page.warning if "`sinusoidal`" in text.value)
    assert "needs large weights" in warning
    # 44 is close to seven turns of 2π, and 20 of 64 positions have one that is 44 later.
    assert "the 20 pairs of positions 44 apart are the most similar" in warning


def test_presets(page):
    for number, (length, width) in enumerate([(50, 5), (40, 2)], 1):
        page.button(key=f"pe_preset_{number}").click().run()
        assert not page.exception
        assert page.slider(key="pe_length").value == length
        assert page.slider(key="pe_width").value == width
        assert any(f"{width} components over {length} positions" in alt for alt in alts(page))
        if number == 1:
            assert page.select_slider(key="pe_a_base").value == 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "ends",
    [
        {"pe_length": 2, "pe_width": 1, "pe_trained": 1},
        {"pe_length": 64, "pe_width": 32, "pe_shift": 32},
    ],
)
def test_ends_of_the_sliders(page, ends):
    for key, value in ends.items():
        page.slider(key=key).set_value(value)
    for view in VIEWS:
        page.segmented_control(key="pe_view").set_value(view).run()
        assert not page.exception, view


@pytest.mark.slow
def test_a_learned_encoding_of_the_run(app):
    app.number_input(key="steps").set_value(20).run()
    app.button(key="run_start").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    app.switch_page("pages/positional_encodings.py").run().run()
    app.selectbox(key="pe_b").select(IN_THE_RUN).run()
    assert not app.exception
    rows = run.snapshot().latest.model.positions
    words = f"From step 20 of the current run: {rows.shape[0]} positions, {rows.shape[1]}"
    assert words in _texts(app)
    size = f"{rows.shape[1]} components over {rows.shape[0]} positions"
    assert any(size in alt for alt in alts(app))


def test_steps_are_round_numbers_within_bounds():
    assert steps(2, 50, 10) == [2, 5, 10, 20, 50]
    assert steps(0.05, 1.0, 0.5) == [0.05, 0.1, 0.2, 0.5, 1]
    # A default that is none of them, a least of 0, and an option that counts.
    assert steps(1.0, 10.0, 4.0) == [1, 2, 4, 5, 10]
    assert steps(0.0, 100.0, 1.0)[:3] == [0, 0.1, 0.2]
    assert steps(1, 24, 12) == [1, 2, 5, 10, 12, 20]
