"""The app on a phone: nothing overflows sideways, and a run works."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e

_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
# The page and the part of it that scrolls.
_OVERFLOWS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
    .map(node => node.scrollWidth - node.clientWidth)"""


def _assert_fits(page: Page) -> None:
    assert page.evaluate(_OVERFLOWS) == [0, 0]


def test_a_run_fits_a_phone(new_page, server):
    train = TrainPage(new_page(**_PHONE))
    train.page.goto(server.url + QUICK)
    train.wait_for("idle")
    _assert_fits(train.page)
    train.finish_default_run()
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible()
    _assert_fits(train.page)
    expect(train.open_panel("sequences").get_by_role("table").first).to_be_visible()
    _assert_fits(train.page)


def test_the_sidebar_closes_when_a_page_is_chosen(new_page, server):
    page = new_page(**_PHONE)
    page.goto(server.url + QUICK)
    TrainPage(page).wait_for("idle")
    page.get_by_test_id("stExpandSidebarButton").click()
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    sidebar.get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", exact=True, level=1).wait_for()
    expect(sidebar).to_have_attribute("data-collapsed", "true")


def test_words_fit_a_phone(new_page, server):
    page = new_page(**_PHONE)
    page.goto(f"{server.url}/words")
    page.get_by_role("heading", name="Glossary", exact=True).wait_for()
    _assert_fits(page)
