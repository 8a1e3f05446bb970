"""The Generators page in a browser: numbers typed into a table, and the way to Train."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.grid import type_cell
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_NAME, _NUMBER = 125, 80


@pytest.fixture
def generators(new_page, server) -> Page:
    """The page in a new tab, with all figures worked out."""
    page = new_page()
    page.goto(f"{server.url}/generators?v=2")
    _settle(page)
    return page


def _settle(page: Page) -> None:
    page.locator(".st-key-dependence_measure").wait_for()
    expect(page.get_by_text("Working")).to_have_count(0, timeout=120_000)


def _type_number(page: Page, table: str, row: int, column: int, number: str) -> None:
    type_cell(page, table, _NAME + (column + 0.5) * _NUMBER, row, number)


def test_a_number_is_typed_refused_and_put_right(generators):
    train = generators.locator(".st-key-train_on_this button")
    error = generators.locator(".st-key-table_transition").get_by_test_id("stAlert")
    _type_number(generators, "markov_transition", 0, 0, "0.5")
    expect(error).to_contain_text("sums to 0.9")
    expect(train).to_be_disabled()
    expect(generators.locator(".st-key-chart_final_day")).to_be_visible()
    _type_number(generators, "markov_transition", 0, 1, "0.4")
    expect(error).to_have_count(0)
    expect(train).to_be_enabled()
    _settle(generators)


def test_train_on_this(generators):
    field = generators.locator(".st-key-generator").get_by_role("combobox")
    field.press("ArrowDown")
    generators.get_by_role("option", name="custom", exact=True).click()
    symbols = generators.locator(".st-key-custom_symbols input")
    symbols.fill("🐱 🐶")
    symbols.press("Enter")
    generators.locator(".st-key-custom_table_fit button").click()
    generators.locator(".st-key-train_on_this button").click()
    generators.get_by_role("heading", name="Train", exact=True).wait_for()
    expect(field).to_have_value("custom")
    table = generators.locator(".st-key-custom_table textarea")
    expect(table).to_have_value("0.5  0.5\n0.5  0.5")
    generators.go_back()
    generators.get_by_role("heading", name="Generators", exact=True).wait_for()
    expect(field).to_have_value("custom")
    # A task is trained with the loss that suits it.
    TrainPage(generators).choose("generator", "sort")
    generators.get_by_role("slider", name="source length").wait_for()
    generators.locator(".st-key-train_on_this button").click()
    generators.get_by_role("heading", name="Train", exact=True).wait_for()
    expect(TrainPage(generators).field("loss")).to_have_value("next")
    expect(generators.get_by_text("Best possible from 19 tokens")).to_be_visible()
    expect(generators.get_by_test_id("stAlert")).to_have_count(0)
