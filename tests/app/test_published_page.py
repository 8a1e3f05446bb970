"""The page A published question without a browser."""

import dataclasses

import pytest

from attnlab.comparisons.published import PUBLISHED, part_named, runs_of, shipped
from attnlab.runs.library import Library
from attnlab.ui.compare.work import ComparisonProgress
from attnlab.ui.core.session_library import SessionLibrary
from tests.app.lessons import STOP_PATIENCE, charts, endless, first_item, open_page
from tests.unit.made_up_results import finished


@pytest.fixture
def page():
    app = open_page("pages/a_published_question.py")
    yield app
    if "session" in app.session_state:
        app.session_state["session"].pause()


def captions(page):
    return "\n".join(caption.value for caption in page.caption)


def words(page):
    return "\n".join(text.value for text in page.markdown)


def table(page, number=0):
    return page.table[number].value


def made_up(part, seeds, accuracy=0.5):
    """A result of every run, all with the same accuracy."""
    return tuple(
        finished(dataclasses.replace(run, seed=0), 1.0, seed=run.seed, accuracy=accuracy)
        for run in runs_of(part, seeds)
    )


def test_it_opens_with_the_shipped_result_and_says_so(page):
    assert captions(page).count("These results are shipped with the program") == 3
    made = shipped().made
    assert f"made {made.date} with attnlab {made.attnlab} and JAX {made.jax}" in captions(page)
    shown = table(page)
    assert len(shown) == len(PUBLISHED)
    assert list(shown["English"])[:3] == ["0.498", "–", "0.402"]
    assert "- **markov · linear**: " in words(page)
    assert "no result yet" not in words(page)
    assert len(charts(page)) == 5


@pytest.mark.slow
def test_the_ladder_and_the_zoo_are_of_the_chosen_process(page):
    page.segmented_control(key="published_process").set_value("recall").run()
    page.segmented_control(key="published_zoo_process").set_value("markov").run()
    assert not page.exception
    assert list(table(page, 1).index)[:2] == ["0  the published head", "1  causal mask"]
    assert set(table(page, 1)["ceiling"]) == {"0.545"}
    assert set(table(page, 2)["ceiling"]) == {"0.506"}


@pytest.mark.slow
def test_a_row_opens_in_train_which_links_back(page):
    page.menu_button(key="published_ladder_train").click("7 learned positions").run()
    assert not page.exception
    # Without a browser, pages do not change by themselves.
    page.switch_page("pages/train.py").run()
    assert not page.exception
    assert page.selectbox(key="preset").value == "dotmod-7-positions"
    (back,) = page.sidebar.get("page_link")
    assert back.proto.label == "A published question"


@pytest.mark.slow
def test_before_the_start_the_page_says_how_much_it_is(page):
    assert "**10 settings × 8 seeds = 80 runs** · about " in words(page)
    page.number_input(key="published_table_seeds").set_value(3).run()
    assert "= 30 runs**" in words(page)


@pytest.mark.slow
def test_it_shows_what_is_computed_as_it_comes_and_stops(page, monkeypatch):
    half = ComparisonProgress(made_up(part_named("table", ["markov"]), 2), 1, 0.5)
    with endless(monkeypatch, "attnlab.ui.compare.work.compare", half):
        page.button(key="published_table_start").click().run()
        work = page.session_state["session"].jobs.get("published_table")
        first_item(work)
        page.run()
        assert not page.button(key="published_table_stop").disabled
        assert "computed here so far: 4 runs" in captions(page)
        assert list(table(page)["ours"])[:3] == ["0.500 ± 0.007", "0.500 ± 0.007", "–"]
        assert "- **dotmod · linear**: no result yet." in words(page)
        page.button(key="published_table_stop").click().run()
        assert work.wait(STOP_PATIENCE)
    page.run()
    assert not page.exception
    page.button(key="published_table_forget").click().run()
    assert captions(page).count("shipped with the program") == 3


def test_what_the_library_has_is_shown_from_there(monkeypatch):
    library = Library(None)
    for result in made_up(part_named("table"), 8, accuracy=0.25):
        library.keep(result)
    monkeypatch.setattr(
        "attnlab.ui.compare.published_runs.session_library", lambda: SessionLibrary(library, None)
    )
    page = open_page("pages/a_published_question.py")
    assert "read from your library: 80 runs" in captions(page)
    assert table(page)["ours"].str.startswith("0.250").all()
    assert captions(page).count("shipped with the program") == 2


@pytest.mark.slow
def test_a_hosted_server_begins_no_more_than_its_caps_allow(monkeypatch):
    monkeypatch.setenv("ATTNLAB_HOSTED", "1")
    page = open_page("pages/a_published_question.py")
    refused = "\n".join(info.value for info in page.info)
    assert "more than the cap of" in refused
    assert not page.error
    page.button(key="published_zoo_start").click().run()
    assert page.session_state["session"].jobs.get("published_zoo") is None
    assert not page.exception


def test_the_words_about_the_post_agree_with_its_figures():
    pairs = [
        (linear, attention)
        for process in dict.fromkeys(process for process, _ in PUBLISHED)
        for linear, attention in zip(
            PUBLISHED[process, "linear"], PUBLISHED[process, "attention"], strict=True
        )
        if linear is not None and attention is not None
    ]
    # "In all of its rows that have both, but one, the linear model is the more accurate."
    assert [linear > attention for linear, attention in pairs].count(False) == 1
    assert sum(len(published.figures) for published in PUBLISHED.values()) == 18
