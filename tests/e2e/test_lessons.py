"""The lesson pages in a browser: a control is moved, and a number changes."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.grid import type_cell

pytestmark = pytest.mark.e2e

_COLUMN = 56


def _open(new_page, server, link: str, **options) -> Page:
    page = new_page(**options)
    page.goto(f"{server.url}/{link}")
    expect(page.get_by_text("In code").last).to_be_visible()
    return page


def test_an_input_is_changed_refused_and_put_right(new_page, server):
    page = _open(new_page, server, "step_by_step?step_stage=queries")
    arithmetic = page.locator(".st-key-step_arithmetic")
    expect(arithmetic).to_contain_text("(1)(1)+(0)(1)+(1)(0)+(0)(0)=1")
    error = page.locator(".st-key-table_step_inputs").get_by_test_id("stAlert")
    _type_first_cell(page, "abc")
    expect(error).to_contain_text("inputs row 1, column 1")
    # While the rest of the page is still being drawn, a grid may miss what is typed.
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(arithmetic).to_contain_text("(1)(1)+(0)(1)+(1)(0)+(0)(0)=1")
    _type_first_cell(page, "5")
    expect(error).to_have_count(0)
    expect(arithmetic).to_contain_text("(5)(1)+(0)(1)+(1)(0)+(0)(0)=5")
    # What was typed stands in the address, and opens again from there.
    expect(page).to_have_url(re.compile("step_inputs=5"))
    again = _open(new_page, server, page.url.removeprefix(server.url).lstrip("/"))
    expect(again.locator(".st-key-step_arithmetic")).to_contain_text("(5)(1)")


def _type_first_cell(page: Page, text: str) -> None:
    # Rows that can be chosen have a narrow column before the first.
    type_cell(page, "step_inputs", 1.1 * _COLUMN, 0, text)


def test_stages_are_walked_through(new_page, server):
    page = _open(new_page, server, "step_by_step")
    arithmetic = page.locator(".st-key-step_arithmetic")
    for stage in ("keys", "values", "scores", "scaled", "masked", "pattern", "weighted", "output"):
        page.locator(".st-key-step_next button").click()
        expect(arithmetic).to_contain_text(f"{stage}:")
    page.locator(".st-key-step_all button").click()
    expect(page.locator(".st-key-chart_step_all_output svg.marks")).to_be_visible()
    expect(page).to_have_url(re.compile("step_stage=all"))


def test_positions_side_by_side(new_page, server):
    page = _open(new_page, server, "positional_encodings")
    chart = page.locator(".st-key-chart_pe_a")
    expect(
        chart.locator('[data-testid=stVegaLiteChart][aria-label*="8 components over 40 positions"]')
    ).to_be_visible()
    page.locator(".st-key-pe_preset_1 button").click()
    expect(
        chart.locator('[data-testid=stVegaLiteChart][aria-label*="5 components over 50 positions"]')
    ).to_be_visible()
    expect(page).to_have_url(re.compile("pe_width=5"))
    page.get_by_role("radio", name="similarity").click()
    expect(
        chart.locator('[data-testid=stVegaLiteChart][aria-label*="the least cosine"]')
    ).to_be_visible()


@pytest.mark.parametrize("name", ["step_by_step?step_stage=all", "positional_encodings"])
def test_lessons_fit_a_phone(new_page, server, name):
    screen = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = _open(new_page, server, name, **screen)
    overflow = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
        .map(node => node.scrollWidth - node.clientWidth)"""
    assert page.evaluate(overflow) == [0, 0]
