"""A text of one's own, from the start page to a trained model that is looked into."""

import pytest
from playwright.sync_api import expect

from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_PATIENCE = 120_000
_TEXT = "the cat sat on the mat and the dog sat on the cat and the mat was red. " * 30


def test_my_text_is_pasted_trained_and_looked_into(new_page, server):
    train = TrainPage(new_page())
    train.page.goto(server.url + "/?v=2")
    train.wait_for("idle")
    train.choose("generator", "sequences")
    train.settle()
    train.fill("sequences_text", _TEXT + "\nbad\u200bline")
    understood = train.part("understood")
    expect(understood).to_contain_text("1 sequence of 2,129 tokens", timeout=_PATIENCE)
    expect(understood).to_contain_text("1 line was not understood and left out")
    understood.get_by_text("Not understood: 1").click()
    expect(understood).to_contain_text("Line 2: U+200B in it is invisible.")
    train.press("start")
    train.wait_for("done")
    expect(train.part("what_happened")).to_contain_text("The model beats", timeout=_PATIENCE)
    main = train.page.locator("section[data-testid=stMain], [data-testid=stMain]").first
    expect(main).to_contain_text("Accuracy of the best reference", ignore_case=True)
    expect(main).to_contain_text("best reference (estimated)", timeout=_PATIENCE)
    expect(main).not_to_contain_text("floor")
    expect(main).not_to_contain_text("ceiling")
    train.page.get_by_role("link", name="Look inside").first.click()
    expect(main).to_contain_text("No one knows the law of your own sequences", timeout=_PATIENCE)
    expect(train.part("chart_final_query")).to_be_visible(timeout=_PATIENCE)
