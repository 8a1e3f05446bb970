"""Families with several layers and heads, and without attention, in every place of the app."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.menu import go_to
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_TRANSFORMER = (
    "v=2&generator=recall&length=6&recall_days=1,3&model=transformer&transformer_layers=2"
    "&transformer_heads=3&transformer_d_attn=2&transformer_d_model=6&transformer_mlp_width=8"
    "&loss=next&steps=40"
)
_GRU = "v=2&length=6&model=gru&gru_hidden_size=5&steps=40"
_PATIENCE = 120_000


def _said(page: Page, key: str) -> str:
    chart = page.locator(f".st-key-{key} div[aria-label]").first
    chart.wait_for(timeout=_PATIENCE)
    return chart.get_attribute("aria-label")


@pytest.fixture
def trained(new_page, server):
    """Opens a link, trains its experiment to the end, and gives the page."""

    def train(query: str) -> TrainPage:
        page = TrainPage(new_page())
        page.page.goto(f"{server.url}/?{query}")
        page.wait_for("idle")
        # A family of which no bound is known has none claimed.
        expect(page.part("verdict")).to_contain_text("Best possible from 6 days")
        expect(page.part("verdict")).not_to_contain_text("no loss is below")
        page.press("start")
        page.wait_for("done")
        return page

    return train


def test_every_head_of_a_transformer_is_shown(trained):
    train = trained(_TRANSFORMER)
    page = train.page
    assert "Attention patterns of layer 1, 6 days." in _said(page, "chart_attention")
    train.choose("inside_layer_2", "layer 2")
    train.choose("inside_head_4", "head 3")
    chart = page.locator(".st-key-chart_attention div[aria-label*='layer 2, head 3']")
    expect(chart).to_be_visible(timeout=_PATIENCE)
    go_to(page, "Laboratory", "Inspect")
    assert "In the last row" in _said(page, "chart_attends")
    rows = _said(page, "chart_final_query")
    for head in (1, 2, 3):
        assert f"attends, head {head} day " in rows
    train.choose("map_layer_2", "2")
    expect(page.locator(f'.st-key-chart_final_query div[aria-label="{rows}"]')).to_have_count(0)
    pattern = _said(page, "chart_attends")
    train.choose("map_head_3", "2")
    expect(page.locator(f'.st-key-chart_attends div[aria-label="{pattern}"]')).to_have_count(0)
    train.open_panel("cell_panel")
    expect(page.locator(".st-key-arithmetic")).to_contain_text("Query day 6, key day ")
    by_day = page.locator(".st-key-chart_by_day div[aria-label]").first
    said = re.compile("^Loss by day. Most above its floor is day ")
    expect(by_day).to_have_attribute("aria-label", said, timeout=_PATIENCE)


def test_a_gru_shows_its_states_and_has_no_attention(trained):
    train = trained(_GRU)
    page = train.page
    assert _said(page, "chart_attention") == "Hidden states, 6 days."
    cells = page.locator(".st-key-chart_attention .mark-rect.role-mark path")
    expect(cells).to_have_count(6 * 5)
    go_to(page, "Laboratory", "Inspect")
    assert "In the last row" in _said(page, "chart_depends")
    train.settle()
    assert _said(page, "chart_calibration").startswith("Calibration: ")
    for key in ("chart_attends", "cell_panel", "chart_by_day"):
        expect(page.locator(f".st-key-{key}")).to_have_count(0)
