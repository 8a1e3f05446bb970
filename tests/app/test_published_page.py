"""The page A published question without a browser."""

import pytest

from attnlab.comparisons.published import PUBLISHED, shipped
from tests.app.lessons import charts, open_page, texts


@pytest.fixture
def page():
    return open_page("pages/a_published_question.py")


def captions(page):
    return "\n".join(caption.value for caption in page.caption)


def numbers(page, part):
    """The table of a part, whose panel is opened."""
    page.session_state[f"published_{part}_numbers"] = True
    page.run()
    assert not page.exception
    (table,) = page.table
    return table.value


@pytest.mark.slow
def test_it_opens_with_three_pictures_and_says_where_the_numbers_are_from(page):
    assert len(charts(page)) == 3
    assert not page.table
    # Above each dot plot, what its marks are; below it, why some are above the ceiling.
    assert captions(page).count("Small dots are runs") == 2
    assert captions(page).count("Some runs score above the best possible by chance") == 3
    shown = numbers(page, "table")
    assert len(shown) == len(PUBLISHED)
    assert list(shown["post (English)"])[:3] == ["0.498", "–", "0.402"]
    assert all(shown["verdict"])
    made = shipped().made
    assert f"computed {made.date} with attnlab {made.attnlab} and JAX {made.jax}" in captions(page)


@pytest.mark.slow
def test_the_ladder_and_the_families_are_of_the_chosen_process(page):
    assert "on `dotmod`" in texts(page)
    page.segmented_control(key="published_process").set_value("recall").run()
    assert "on `recall`" in texts(page)
    shown = numbers(page, "ladder")
    assert list(shown.index)[:2] == ["0  the published head", "1  causal mask"]
    assert set(shown["ceiling"]) == {"0.545"}
    page.session_state["published_ladder_numbers"] = False
    assert set(numbers(page, "zoo")["ceiling"]) == {"0.960"}
    page.segmented_control(key="published_zoo_process").set_value("markov").run()
    assert set(page.table[0].value["ceiling"]) == {"0.506"}


@pytest.mark.slow
def test_the_rows_are_chosen_in_compare_to_be_trained_again(page):
    page.button(key="published_ladder_compare").click().run()
    # Without a browser, pages do not change by themselves.
    page.switch_page("pages/compare.py").run()
    assert not page.exception
    chosen = page.multiselect(key="vary_preset").value
    assert (len(chosen), chosen[0], chosen[-1]) == (
        11, "published-dotmod-attention", "dotmod-10-depth",
    )  # fmt: skip
    assert page.number_input(key="compare_seeds").value == shipped().seeds["ladder"]


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
