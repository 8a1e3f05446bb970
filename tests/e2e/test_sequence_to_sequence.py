"""Sequence to sequence in a browser: trained, scrubbed, and the table dealt, changed and played."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.train_page import TrainPage, wait_for_late_results, wait_until_it_fits

pytestmark = pytest.mark.e2e

# A small deck, so that all is soon done.
_TASK = (
    "/sequence_to_sequence?v=2&generator=cards&cards_hand=3&cards_suits=2&cards_ranks=4"
    "&model=rnn-attention&rnn-attention_hidden_size=8&loss=next&data=fresh&steps=150&test_size=100"
)
_PHONE = {
    "viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True,
    "color_scheme": "dark",
}  # fmt: skip


def test_a_hand_is_learned_dealt_changed_and_played_on_a_phone(new_page, server):
    bench = TrainPage(new_page(**_PHONE))
    bench.page.goto(server.url + _TASK)
    hands = bench.page.locator(".attnlab-table .hand")
    # The first visitor waits until the model and its writing are compiled.
    expect(hands).to_have_count(5, timeout=180_000)
    expect(bench.page.get_by_text("Untrained model")).to_be_visible()
    bench.finish_default_run()
    maps = bench.maps.first
    expect(maps).to_have_attribute("aria-label", re.compile("has the most"))
    trained = maps.get_attribute("aria-label")
    expect(bench.part("task_figures")).to_contain_text("exact match")

    faces = bench.page.locator(".attnlab-table .hand .source .face")
    before = faces.all_inner_texts()
    bench.part("hands_deal").get_by_role("button").click()
    expect(faces).not_to_have_text(before)

    bench.fill("hand_text_0", "A♦ Q♣")
    expect(bench.message("hand")).to_contain_text("Add 1")
    bench.fill("hand_text_0", "ad qc jd")
    expect(hands.first).to_have_attribute("aria-label", re.compile("A♦ ?Q♣ ?J♦"))
    expect(bench.page).to_have_url(re.compile("source="))

    bench.slide("table_laid_3", "Home")
    expect(bench.page.locator(".attnlab-table .empty")).to_have_count(15)
    bench.part("table_begin").get_by_role("button").click()
    expect(bench.page.locator(".attnlab-table .empty")).to_have_count(0)
    expect(bench.part("table_begin")).to_be_visible()

    bench.rewind("Home")
    expect(maps).not_to_have_attribute("aria-label", trained)
    wait_until_it_fits(bench.page)


def test_the_hands_are_those_of_the_step_at_which_the_film_rests(new_page, server):
    bench = TrainPage(new_page())
    bench.page.goto(f"{server.url}/sequence_to_sequence")
    # The example is loaded, and its model writes.
    expect(bench.page.get_by_text("5 of 5 hands correct")).to_be_visible(timeout=180_000)
    # Its own film replaces the one that comes with attnlab.
    expect(bench.part("figures")).to_be_visible()
    wait_for_late_results(bench.page)
    bench.rewind("Home")
    expect(bench.page.get_by_text("Untrained model")).to_be_visible()
