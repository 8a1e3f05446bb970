"""Settings are compared in a browser, and a run of them is looked into."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.compare_page import address, compare
from tests.e2e.train_page import ROW

pytestmark = pytest.mark.e2e


def test_settings_are_compared_brushed_and_a_run_is_opened(new_page, server):
    page = new_page()
    page.goto(f"{server.url}/{address()}")
    size = page.locator(".st-key-compare_size")
    expect(size).to_contain_text("4 settings × 2 seeds = 8 runs")
    compare(page)
    for chart in ("dots", "curves", "map", "parallel", "shares"):
        drawn = page.locator(f".st-key-chart_compare_{chart} .marks")
        # On a busy machine a chart may be drawn again meanwhile, which this survives.
        drawn.evaluate("marks => marks.scrollIntoView()")
        expect(drawn).to_be_visible()
    expect(size).to_contain_text("8 already computed")

    # Around the upper half of the last axis, which is the accuracy.
    drawn = page.locator(".st-key-chart_compare_parallel .marks")
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"In the box: [1-3] of 4\."))).to_be_visible()

    page.get_by_text("All numbers · Look inside a run").click()
    grid = page.locator(".st-key-compare_table canvas").first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 1.5 * ROW)
    page.locator(".st-key-compare_open button").click()
    expect(page.get_by_role("heading", level=1, name="Look inside")).to_be_visible()
    expect(page).to_have_url(re.compile("/look_inside.*learning_rate=0.01"))
    # The comparison is as it was, and what was chosen too.
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    expect(page.locator(".st-key-compare_status")).to_contain_text("done: 100% · 8 of 8")
    expect(page).to_have_url(re.compile("vary_model=linear%2Cattention"))
