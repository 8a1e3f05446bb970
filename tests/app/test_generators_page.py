"""The Processes page without a browser."""

import threading
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.configuration.number_text import show_numbers
from attnlab.generators import (
    CHAINS,
    GENERATORS,
    IN_CONTEXT,
    TASKS,
    Cards,
    Custom,
    HiddenMarkov,
    Markov,
    Sort,
)
from attnlab.optimum import FEW_BELIEFS, baselines_of, optimum
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.figures import FutureCache
from tests.app.lessons import charts, code, figures, texts

_APP = Path(__file__).resolve().parents[2] / "app.py"
_PATIENCE = 300
# Room for the questions of `recall-pairs`.
_LENGTH = 7
_BAD = "0.5 0.3 0.1; 0.3 0.4 0.3; 0.2 0.3 0.5"


@pytest.fixture
def first_page():
    """The page, drawn once, within the app."""
    app = AppTest.from_file(_APP, default_timeout=60).run()
    # Outside a browser the values of controls come one run after the page.
    app.switch_page("pages/generators.py").run().run()
    assert not app.exception
    return app


@pytest.fixture
def page(first_page):
    """The page of a process that is quick to work out."""
    first_page.slider(key="length").set_value(_LENGTH)
    return first_page.selectbox(key="generator").select("markov").run()


def _settled(page) -> AppTest:
    """The page with every figure worked out; its timer does not run here."""
    end = time.monotonic() + _PATIENCE
    while any("Computing" in caption.value for caption in page.caption):
        assert time.monotonic() < end
        time.sleep(0.05)
        page.run()
    assert not page.exception
    return page


def _opened(page, section) -> AppTest:
    """The page with this section open and every figure worked out."""
    return _settled(page.segmented_control(key="generators_section").set_value(section).run())


@pytest.mark.slow
def test_the_page_opens_on_the_form_s_process(first_page):
    page = first_page
    assert [title.value for title in page.title] == ["Processes"]
    first = PRESETS[FIRST_PRESET].experiment
    assert page.selectbox(key="generator").value == first.generator.name
    ceiling = optimum(first.generator, first.length).final.accuracy
    assert figures(_opened(page, "Best possible"))["ceiling"] == f"{ceiling:.3f}"


# The chains of the literature differ only in their tables, and the page draws the same panels for
# all processes with a rule in each sequence. One of each is tested.
_ALIKE = ({*CHAINS} - {"rrxor"}) | ({*IN_CONTEXT} - {"in-context-markov"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, kind in GENERATORS.items() if name not in _ALIKE and kind.has_law]
)
def test_every_generator(page, name):
    page.selectbox(key="generator").select(name).run()
    _settled(page)
    assert not page.error
    length = GENERATORS[name]().own_length() or _LENGTH
    generator = GENERATORS[name]().at_length(length)
    assert len(charts(page)) == len(generator.tables)
    assert page.latex[0].value.strip("$\n ") == generator.formula
    # Many symbols have two maps, exact and counted, instead of one chart.
    maps = generator.vocabulary.size > 8
    assert len(charts(_opened(page, "Frequencies"))) == 3 + maps
    assert len(charts(_opened(page, "What matters"))) == 1
    assert len(charts(_opened(page, "Best possible"))) == 2
    best = optimum(generator, length, FEW_BELIEFS).final
    assert figures(page)["ceiling"].startswith(f"{best.accuracy:.3f}")
    for rung in baselines_of(generator, length, FEW_BELIEFS):
        assert f"| **{rung.name}** · " in texts(page)
    compile(code(page), "in code", "exec")


@pytest.mark.slow
def test_the_laws_of_the_process_are_checked(page):
    words = texts(_opened(page, "Laws"))
    assert "6 of 6 laws hold** for all sequences of 5 tokens" in words
    page.sidebar.selectbox(key="generator").select("golden-mean").run()
    words = texts(_settled(page))
    assert "7 of 7 laws hold" in words
    assert "From 1 token on, the tokens determine the hidden state." in words
    page.sidebar.selectbox(key="generator").select("recall-pairs").run()
    _settled(page)
    assert any("sequences are too many to check all" in each.value for each in page.caption)


@pytest.mark.slow
def test_a_bad_table_keeps_the_last_picture(page):
    before = figures(_opened(page, "Best possible"))
    page.session_state["markov_transition"] = _BAD
    _settled(page.run())
    assert "transition row 1" in page.error[0].value
    assert page.button(key="train_on_this").disabled
    assert figures(page) == before
    page.session_state["markov_transition"] = "0.5 0.4 0.1; 0.3 0.4 0.3; 0.2 0.3 0.5"
    _settled(page.run())
    assert not page.error
    assert figures(page) != before


@pytest.mark.slow
def test_a_table_is_fitted_to_new_symbols_and_states(page):
    page.selectbox(key="generator").select("custom").run()
    page.text_input(key="custom_symbols").set_value("a b").run()
    assert "table" in page.error[0].value
    page.button(key="custom_table_fit").click().run()
    assert not page.error
    assert page.session_state["custom_table"] == show_numbers(((0.5, 0.5), (0.5, 0.5)))
    page.slider(key="custom_order").set_value(2).run()
    page.button(key="custom_table_fit").click().run()
    assert not page.error
    assert len(page.session_state["custom_table"].splitlines()) == 4
    page.selectbox(key="generator").select("hmm").run()
    page.number_input(key="hmm_initial_size").set_value(3).run()
    page.button(key="hmm_moving_fit").click().run()
    page.button(key="hmm_showing_fit").click().run()
    assert not page.error
    assert not page.exception
    assert len(page.session_state["hmm_initial"].split()) == 3


@pytest.mark.slow
def test_controls_follow_the_process(page):
    page.selectbox(key="generator").select("causal-tree").run()
    assert "causal-tree_parents" not in {each.key for each in page.text_input}
    page.selectbox(key="causal-tree_tree").select("given").run()
    assert "causal-tree_parents" in {each.key for each in page.text_input}
    # A length that hides recalled days.
    page.selectbox(key="generator").select("recall").run()
    page.slider(key="length").set_value(3).run()
    assert not page.error
    assert "visible: days 6 to 8 of 8" in page.latex[0].value
    assert not page.button(key="train_on_this").disabled
    # The length of a task follows from its options.
    for name in TASKS:
        page.selectbox(key="generator").select(name).run()
        assert not page.exception
        assert "length" not in {slider.key for slider in page.slider}


@pytest.mark.slow
def test_a_stream_that_hardly_ever_changes_has_exact_figures(page):
    slow = ((1 - 1e-7, 1e-7), (3e-7, 1 - 3e-7))
    page.session_state["custom_table"] = show_numbers(slow)
    page.session_state["custom_symbols"] = "a b"
    page.selectbox(key="generator").select("custom").run()
    _opened(page, "Best possible")
    assert not page.error
    assert figures(page)["values"] == "exact"
    # Three quarters of the days are "a", and the day before tells nearly all.
    assert figures(page)["ceiling"] == "1.000"
    assert "| **unigram** · " in texts(page)


@pytest.mark.slow
def test_figures_are_stopped_and_worked_out_later(page, monkeypatch):
    gate, cache = threading.Event(), FutureCache()
    monkeypatch.setattr("attnlab.ui.core.figures._cache", lambda: cache)
    # Both workers are busy, each for another session.
    cache.submit((gate.wait, _PATIENCE), gate)
    cache.submit((gate.wait, 2 * _PATIENCE), cache)
    try:
        page.segmented_control(key="generators_section").set_value("Best possible").run()
        assert "numbers below: 0 of 3" in "\n".join(caption.value for caption in page.caption)
        page.button(key="figures_stop").click().run()
        captions = [caption.value for caption in page.caption]
        assert any("Stopped" in caption for caption in captions)
        assert sum("stopped above" in caption for caption in captions) == 3
        assert not any("Computing" in caption for caption in captions)
    finally:
        gate.set()
    # Nothing is asked for while it stands.
    page.run()
    cache.submit((int,), gate).result(_PATIENCE)
    assert not cache.known((optimum, Markov(), _LENGTH, FEW_BELIEFS))
    page.button(key="figures_go_on").click().run()
    ceiling = optimum(Markov(), _LENGTH).final.accuracy
    assert figures(_settled(page))["ceiling"] == f"{ceiling:.3f}"


@pytest.mark.slow
def test_what_takes_long_to_enumerate_is_estimated_first(page, monkeypatch):
    # There are 3^5 beliefs.
    monkeypatch.setattr("attnlab.ui.core.figures.FEW_BELIEFS", 200)
    page.selectbox(key="generator").select("hmm").run()
    assert figures(_opened(page, "Best possible"))["values"] == "estimated"
    page.button(key="enumerate_start").click().run()
    assert page.session_state["session"].jobs.get("enumerate").wait(_PATIENCE)
    _settled(page.run())
    exact = optimum(HiddenMarkov(), _LENGTH).final
    assert figures(page)["values"] == "exact"
    assert figures(page)["floor (nats)"] == f"{exact.nll:.3f}"
    assert not page.exception


@pytest.mark.slow
def test_a_new_sample(page):
    def rows():
        return next(text.value for text in page.markdown if text.value.startswith("| days 1"))

    _opened(page, "Best possible")
    before, known = rows(), figures(page)
    _settled(page.button(key="new_sample").click().run())
    assert rows() != before
    assert figures(page) == known


def test_both_measures_of_dependence(page):
    _opened(page, "What matters")
    for measure, title in (
        ("information", "information (nats)"),
        ("replacement", "total variation"),
    ):
        page.segmented_control(key="dependence_measure").set_value(measure).run()
        assert charts(page)[-1]["encoding"]["color"]["title"] == title
        assert f"strongest, by {measure}: day **{_LENGTH}**" in texts(page)


@pytest.mark.slow
def test_the_process_goes_to_train_and_comes_back(page):
    page.selectbox(key="generator").select("custom").run()
    table = ((0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    page.session_state["custom_table"] = show_numbers(table)
    page.slider(key="length").set_value(6).run()
    # Outside a browser the values of controls come one run after the page.
    page.switch_page("pages/train.py").run().run()
    assert page.selectbox(key="generator").value == "custom"
    assert page.slider(key="length").value == 6
    assert page.text_area(key="custom_table").value == show_numbers(table)
    changed = show_numbers(Custom().table)
    page.text_area(key="custom_table").set_value(changed).run()
    page.switch_page("pages/generators.py").run().run()
    assert page.selectbox(key="generator").value == "custom"
    assert page.session_state["custom_table"] == changed
    assert not page.exception


def _draw_frequencies(process):
    from attnlab.optimum import counted, frequencies
    from attnlab.ui.generators.sample_panel import draw_frequencies

    length = process.own_length() or 5
    draw_frequencies(process, frequencies(process, length), counted(process, length, 0))


@pytest.mark.slow
@pytest.mark.parametrize("process", [Cards(), Sort(letters=26), Sort(), Markov()], ids=str)
def test_the_frequencies_of_many_symbols_fill_a_few_screens(process):
    page = AppTest.from_function(_draw_frequencies, args=(process,), default_timeout=60).run()
    assert not page.exception
    assert sum(chart["height"] for chart in charts(page)) < 3_000
    assert max(len(text.value) for text in page.markdown) < 400


def test_a_named_process_has_its_source_and_becomes_a_table_to_edit(first_page):
    page = first_page
    page.selectbox(key="generator").select("golden-mean").run()
    assert any("Crutchfield and Feldman" in each.value for each in page.caption)
    page.button(key="edit_table").click().run()
    assert not page.exception
    assert page.selectbox(key="generator").value == "hidden-chain"
    # A 0, then a 1: rows are states, columns next states of the first symbol and of the second.
    rows = page.session_state["hidden-chain_table"].splitlines()
    assert [[*map(float, row.split())] for row in rows] == [[0, 0.5, 0.5, 0], [0, 0, 1, 0]]


_TABLES = ("initial", "table_0", "table_1")


@pytest.mark.slow
def test_the_table_of_hidden_states_is_edited_symbol_by_symbol(first_page):
    page = first_page
    page.selectbox(key="generator").select("hidden-chain").run()
    assert not page.exception
    # The first state, and a table of states by next states for each symbol.
    kept = [page.session_state[f"hidden-chain_{name}_began"] for name in _TABLES]
    assert [table.shape for table in kept] == [(1, 2), (2, 2), (2, 2)]
    assert {"emits 🌕:", "emits 🌑:"} <= {each.value for each in page.markdown}
    page.session_state["hidden-chain_table"] = "0.5 0.5\n1 0"
    page.run()
    page.button(key="hidden-chain_table_fit").click().run()
    assert page.session_state["hidden-chain_table"].split() == ["0.25"] * 8
    assert not page.exception


@pytest.mark.slow
def test_own_sequences_have_references_and_no_law(page):
    page.selectbox(key="generator").select("sequences").run()
    _settled(page)
    assert not page.error
    for section in ("What matters", "Laws"):
        said = [each.value for each in _opened(page, section).info]
        assert any("No one knows the law of your own sequences" in each for each in said)
    words = texts(_opened(page, "Best possible"))
    assert "| **context tree weighting** · " in words
    assert "| **best reference** · " in words
    assert not {"floor (nats)", "ceiling"} & figures(page).keys()
    compile(code(page), "in code", "exec")
