"""The lesson pages and Generators: a control is turned, clicked or typed into, numbers follow."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.train_page import TrainPage, type_cell

pytestmark = pytest.mark.e2e

# Pixels of the columns of tables.
_COLUMN, _NAME, _NUMBER = 56, 125, 80
_LONG = 240_000
# The last part of each page: what is above it is there.
_LAST = {"kernel_regression": "metric_weights"}


def _open(page: Page, server, name: str, query: str = "") -> Page:
    page.goto(f"{server.url}/{name}{query}")
    last = f".st-key-{_LAST[name]}" if name in _LAST else "summary:has-text('In code')"
    page.locator(last).last.wait_for(timeout=_LONG)
    return page


def _slider(page: Page, key: str):
    return page.locator(f".st-key-{key}").get_by_role("slider")


def _metric(page: Page, label: str):
    name = page.get_by_test_id("stMetricLabel").get_by_text(label, exact=True)
    return page.get_by_test_id("stMetric").filter(has=name).get_by_test_id("stMetricValue")


def test_an_input_is_changed_refused_and_put_right(new_page, server):
    page = _open(new_page(), server, "step_by_step", "?step_stage=queries")
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
    again = _open(new_page(), server, "step_by_step", f"?{page.url.partition('?')[2]}")
    expect(again.locator(".st-key-step_arithmetic")).to_contain_text("(5)(1)")


def _type_first_cell(page: Page, text: str) -> None:
    # Rows that can be chosen have a narrow column before the first.
    type_cell(page, "step_inputs", 1.1 * _COLUMN, 0, text)


def test_a_click_puts_the_query_there_and_the_kernel_is_learned_live(new_page, server):
    page = _open(new_page(), server, "kernel_regression")
    fit = _metric(page, "fit at the query")
    before = fit.inner_text()
    picture = page.locator(".st-key-chart_fit svg.marks")
    picture.scroll_into_view_if_needed()
    place = picture.bounding_box()
    page.mouse.click(place["x"] + place["width"] * 0.7, place["y"] + place["height"] * 0.3)
    expect(fit).not_to_have_text(before)
    # The slider shows its new value some frames after the rest.
    expect(_slider(page, "query_at")).to_have_value(re.compile(r"^(5[5-9]|6\d|7\d|8[0-4])(\.5)?$"))
    _slider(page, "query_at").press("Home")
    expect(_slider(page, "query_at")).to_have_value("0")
    fixed = _metric(page, "MSE against the truth: best fixed").inner_text()
    page.locator(".st-key-metric_training_start button").click()
    status = page.locator(".st-key-metric_training_status")
    expect(status).to_contain_text("running")
    expect(status).to_contain_text("done", timeout=_LONG)
    learned = _metric(page, "MSE against the truth: learned").inner_text()
    assert float(learned.split()[0]) < float(fixed.split()[0])
    _slider(page, "plane_point").press("End")
    expect(_slider(page, "plane_point")).to_have_value("150")


def test_a_process_is_typed_refused_put_right_and_trained(new_page, server):
    page = new_page()
    page.goto(f"{server.url}/generators?v=2")
    page.locator(".st-key-generators_section").get_by_text("Frequencies").click()
    page.locator(".st-key-chart_final_day svg.marks").wait_for(timeout=120_000)
    TrainPage(page).settle()
    train = page.locator(".st-key-train_on_this button")
    error = page.locator(".st-key-table_transition").get_by_test_id("stAlert")

    def type_number(column: int, number: str) -> None:
        type_cell(page, "markov_transition", _NAME + (column + 0.5) * _NUMBER, 0, number)

    type_number(0, "0.5")
    expect(error).to_contain_text("sums to 0.9")
    expect(train).to_be_disabled()
    expect(page.locator(".st-key-chart_final_day")).to_be_visible()
    type_number(1, "0.4")
    expect(error).to_have_count(0)
    expect(train).to_be_enabled()
    field = page.locator(".st-key-generator").get_by_role("combobox")
    TrainPage(page).choose("generator", "custom")
    symbols = page.locator(".st-key-custom_symbols input")
    symbols.fill("🐱 🐶")
    symbols.press("Enter")
    page.locator(".st-key-custom_table_fit button").click()
    train.click()
    page.get_by_role("heading", name="Train", exact=True).wait_for()
    expect(field).to_have_value("custom")
    expect(page.locator(".st-key-custom_table textarea")).to_have_value("0.5  0.5\n0.5  0.5")
    page.go_back()
    page.get_by_role("heading", name="Processes", exact=True).wait_for()
    expect(field).to_have_value("custom")
    # A task is trained with the loss that suits it.
    TrainPage(page).choose("generator", "sort")
    page.get_by_role("slider", name="source length").wait_for()
    train.click()
    page.get_by_role("heading", name="Train", exact=True).wait_for()
    expect(TrainPage(page).field("loss")).to_have_value("next")
    expect(page.get_by_text("Best possible accuracy")).to_be_visible()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
