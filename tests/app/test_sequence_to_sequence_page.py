"""Sequence to sequence without a browser: a small task trained, its table played and changed."""

import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnlab.generators import Cards, read_source, write_source
from attnlab.runs.links import LINK_VERSION
from tests.app.conftest import APP

PAGE, FORMER = "pages/train.py", "pages/sequence_to_sequence.py"
TASK = Cards(hand=3, suits=2, ranks=4)
SETTINGS = {
    "generator": "cards", "cards_hand": 3, "cards_suits": 2, "cards_ranks": 4, "steps": 20,
    "batch": 20, "test_size": 100, "data": "fresh", "loss": "next",
}  # fmt: skip
FAMILIES = {
    "rnn-attention": {"rnn-attention_hidden_size": 4},
    "rnn-bottleneck": {"rnn-bottleneck_hidden_size": 4},
    "gru": {"gru_hidden_size": 4},
}


def opened(app, family="rnn-attention", **more):
    app.switch_page(PAGE)
    asked = {"v": LINK_VERSION, **SETTINGS, "model": family, **FAMILIES[family], **more}
    for name, value in asked.items():
        app.query_params[name] = str(value)
    app.run()
    assert not app.exception
    return app


def trained(app, family="rnn-attention", **more):
    opened(app, family, **more).button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    app.run()
    assert not app.exception
    assert app.session_state["session"].run.snapshot().state == "done"
    return app


def table(app):
    return next(each.body for each in app.get("html") if 'class="attnlab-table' in each.body)


def words(app):
    return " ".join(each.value for each in (*app.caption, *app.error, *app.warning))


@pytest.mark.slow
def test_who_has_chosen_nothing_sees_a_hand_of_cards():
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page(FORMER)
    app.query_params.clear()
    app.run()
    assert not app.exception
    assert app.selectbox(key="preset").value == "cards-encoder-decoder"
    assert app.selectbox(key="generator").value == "cards"
    assert app.slider(key="cards_hand").value == 5
    with pytest.raises(KeyError):
        app.slider(key="length")


def until(app, text):
    """Rerun the page, as its timers do, until a line of it contains the text."""
    for _ in range(100):
        assert not app.exception
        if any(text in each.value for each in app.markdown):
            return
        time.sleep(0.1)
        app.run()
    raise AssertionError(text)


@pytest.mark.slow
def test_a_new_visitor_sees_the_run_that_is_shipped_until_one_is_started():
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.switch_page(FORMER)
    app.query_params.clear()
    until(app.run(), "Step 1,000: 5 of 5 hands correct.")
    assert any("This run comes with attnlab." in each.value for each in app.markdown)
    run = app.session_state["session"].run
    assert run.snapshot().state == "idle"
    # The example sorts five cards; other tasks have the untrained model.
    app.slider(key="cards_hand").set_value(4).run()
    assert not any("This run comes with attnlab." in each.value for each in app.markdown)
    app.slider(key="cards_hand").set_value(5).run()
    until(app, "Step 1,000: ")
    app.button(key="run_step").click().run()
    assert run.wait(60.0)
    until(app.run(), "**Step 1: ")
    assert not any("This run comes with attnlab." in each.value for each in app.markdown)


@pytest.mark.slow
def test_the_page_opens_with_a_finished_run_of_its_settings(app, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))
    written = table(trained(app))
    later = opened(AppTest.from_file(APP, default_timeout=60))
    assert later.session_state["session"].run.wait(120.0)
    assert table(later.run()) == written
    assert any("Step 20: " in text.value for text in later.markdown)
    other = opened(AppTest.from_file(APP, default_timeout=60), steps=21)
    assert other.session_state["session"].run.snapshot().state == "idle"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_lays_its_cards(app, family):
    trained(app, family)
    laid = table(app)
    assert laid.count('class="hand') == 5
    assert ("percent" in laid) == (family == "rnn-attention")
    # Deal, and none is that of before; back again.
    app.button(key="hands_deal").click().run()
    dealt = table(app)
    assert dealt != laid
    app.button(key="hands_back").click().run()
    assert table(app) == laid
    assert not app.exception


@pytest.mark.slow
def test_a_hand_is_typed_clicked_and_refused_by_name(app):
    trained(app)
    app.text_input(key="hand_text_0").set_value("a♦ QC jd").run()
    assert "A♦" in table(app).replace("\N{VARIATION SELECTOR-15}", "")
    assert app.query_params["source"] == "A♦ Q♣ J♦"
    # A browser that misses the message that sets the text shows its default.
    assert app.text_input(key="hand_text_0").proto.default == "A♦ Q♣ J♦"
    before = table(app)
    for typed, wrong in (
        ("A♦ A♦ J♦", "A♦ occurs 2 times"),
        ("A♦ 2♠ J♦", "2♠"),
        ("A♦ Q♣ J♦ J♣", "Remove 1"),
    ):
        app.text_input(key="hand_text_0").set_value(typed).run()
        assert "`hand`" in words(app)
        assert wrong in words(app).replace("\\", "")
        assert table(app) == before
        assert app.text_input(key="hand_text_0").value == typed
    # A card that is clicked may become any that is not in the hand.
    (cards,) = [each for each in app.get("button_group") if each.key == "hand_place_0_3"]
    cards.set_value(0).run()
    (deck,) = [each for each in app.get("button_group") if each.key.startswith("hand_pick_0_0")]
    assert len(deck.options) == TASK.vocabulary.size - 3
    free = [t for t in range(8) if t not in read_source(TASK, "A♦ Q♣ J♦")]
    deck.set_value(free[0]).run()
    hand = read_source(TASK, app.text_input(key="hand_text_0").value)
    assert hand.tolist() == [free[0], *read_source(TASK, "A♦ Q♣ J♦")[1:]]
    assert "`hand`" not in words(app)


@pytest.mark.slow
def test_the_link_has_the_first_hand_and_refuses_an_unknown_card(app):
    asked = write_source(TASK, [7, 0, 3])
    trained(app, source=asked)
    assert app.text_input(key="hand_text_0").value == asked
    opened(app, source="X♦ Q♣ J♦")
    assert "`hand`" in words(app)
    assert "X" in words(app)
    assert app.text_input(key="hand_text_0").value == asked


@pytest.mark.slow
def test_a_hand_is_still_in_its_field_after_another_one_and_gone_with_its_address(app):
    trained(app, source="A♦ Q♣ J♦")
    app.selectbox(key="table_hand").select(1).run()
    second = app.text_input(key="hand_text_1").value
    app.text_input(key="hand_text_1").set_value("A♦ A♦ J♦").run()
    assert "2 times" in words(app)
    app.selectbox(key="table_hand").select(0).run()
    assert app.text_input(key="hand_text_0").value == "A♦ Q♣ J♦"
    assert "2 times" not in words(app)
    app.selectbox(key="table_hand").select(1).run()
    assert app.text_input(key="hand_text_1").value == second
    # As the back button does.
    app.selectbox(key="table_hand").select(0).run()
    del app.query_params["source"]
    app.run()
    assert app.text_input(key="hand_text_0").value != "A♦ Q♣ J♦"
    assert "source" not in app.query_params


@pytest.mark.slow
def test_the_table_plays_by_itself_and_is_stopped(app):
    trained(app)
    app.slider(key="table_laid_3").set_value(0).run()
    assert table(app).count("card empty") == 15
    assert "share" not in table(app)
    assert "****" not in words(app)
    app.button(key="table_begin").click().run()
    assert table(app).count("card empty") == 10
    app.button(key="table_stop").click().run()
    assert table(app).count("card empty") == 10
    app.button(key="table_begin").click().run()
    for _ in range(3):
        app.run()
    assert app.button(key="table_begin")
    assert "card empty" not in table(app)


@pytest.mark.slow
def test_ways_of_writing_and_the_exact_match(app):
    trained(app)
    greedy = table(app)
    app.toggle(key="table_unused").set_value(True).run()
    app.selectbox(key="table_way").select("temperature").run()
    app.slider(key="table_temperature").set_value(2.0).run()
    assert table(app) != greedy
    app.selectbox(key="table_way").select("beam").run()
    found = next(each.value for each in app.markdown if "found by beam search" in each.value)
    log_probs = [float(line.split("|")[2].replace("−", "-")) for line in found.splitlines()[2:]]
    assert log_probs == sorted(log_probs, reverse=True)
    assert np.exp(log_probs).sum() <= 1.01
    deadline = time.monotonic() + 60
    label = "exact match (%), step 20"
    while label not in [metric.label for metric in app.metric]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
        app.run()
    (value,) = [each.value for each in app.metric if each.label == label]
    assert 0 <= float(value.split(" ± ")[0]) <= 100
