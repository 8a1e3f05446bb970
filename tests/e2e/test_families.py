"""Families with several layers and heads, and without attention, in every place of the app."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.train_page import TrainPage, go_to

pytestmark = pytest.mark.e2e

_TRANSFORMER = (
    "v=2&generator=recall&length=6&recall_days=1,3&model=transformer&transformer_layers=2"
    "&transformer_heads=3&transformer_d_attn=2&transformer_d_model=6&transformer_mlp_width=8"
    "&loss=next&steps=40&train_size=1000&test_size=1000"
)
_PATIENCE = 120_000
# The views of the inside of a family without attention, and the buttons that choose them.
_VIEWS = {
    "Influence of each day": "",
    "Hidden states": "hidden states",
    "Time scales": "time scales",
    "By lag": "by lag",
}
_PHONE = {"width": 390, "height": 844}


def _said(page: Page, key: str) -> str:
    chart = page.locator(f".st-key-{key} div[aria-label]").first
    chart.wait_for(timeout=_PATIENCE)
    return chart.get_attribute("aria-label")


def test_every_head_of_a_transformer_is_shown(new_page, server):
    train = TrainPage(new_page())
    page = train.page
    page.goto(f"{server.url}/?{_TRANSFORMER}")
    train.wait_for("idle")
    # A family of which no bound is known has none claimed.
    expect(train.part("verdict")).to_contain_text("Best possible accuracy")
    expect(train.part("verdict")).not_to_contain_text("cannot beat")
    train.press("start")
    train.wait_for("done")
    assert "Attention patterns of layer 2, 6 days." in _said(page, "chart_attention")
    train.choose("inside_layer_2", "layer 1")
    _assert_drawn(page, "chart_attention", "Attention patterns of layer 1, 6 days.")
    train.choose("inside_layer_2", "layer 2")
    for chip, said in (
        ("H3", "Attention pattern of layer 2, head 3"),
        ("H1", "Attention patterns of layer 2"),
        ("H3", "Attention pattern of layer 2, head 1"),
        # Of none chosen all are shown.
        ("H1", "Attention patterns of layer 2"),
    ):
        train.choose_chip("inside_head_3", chip)
        _assert_drawn(page, "chart_attention", said)
    train.choose("inside_view_2", "all heads")
    _assert_drawn(page, "chart_attention", "Attention patterns of all 6 heads of 2 layers")
    go_to(page, "Laboratory", "Inspect")
    assert "In the last row" in _said(page, "chart_attends")
    rows = _said(page, "chart_final_query")
    for head in (1, 2, 3):
        assert f"attends, head {head}: day " in rows
    # The last layer is shown first.
    train.choose("map_layer_2", "1")
    expect(page.locator(f'.st-key-chart_final_query div[aria-label="{rows}"]')).to_have_count(0)
    # All of it, before another head is chosen.
    train.settle()
    pattern = _said(page, "chart_attends")
    train.choose_chip("map_head_3", "2")
    expect(page.locator(f'.st-key-chart_attends div[aria-label="{pattern}"]')).to_have_count(0)
    train.open_panel("cell_panel")
    expect(page.locator(".st-key-arithmetic")).to_contain_text("Query day 6, key day ")
    train.open_panel("edits_panel")
    _assert_drawn(page, "chart_heads", "Mean attention patterns of all 6 heads, by layer.")


def test_a_family_without_attention_is_trained_and_inspected(new_page, server):
    """On a desktop, and what comes of it in a window as narrow as a phone's."""
    train = TrainPage(new_page(viewport={"width": 1280, "height": 720}))
    page = train.page
    page.goto(f"{server.url}/?v=2&length=5&model=ssm&steps=20&train_size=1000&test_size=1000")
    train.wait_for("idle")
    train.press("start")
    train.wait_for("done")
    for said, button in _VIEWS.items():
        if button:
            train.choose(f"inside_view_{len(_VIEWS)}", button)
        _assert_drawn(page, "chart_attention", said)
    page.set_viewport_size(_PHONE)
    _assert_drawn(page, "chart_attention", said)
    page.set_viewport_size({"width": 1280, "height": 720})
    go_to(page, "Laboratory", "Inspect")
    _assert_drawn(page, "chart_depends", "Map of what its prediction depends on")
    page.set_viewport_size(_PHONE)
    _assert_drawn(page, "chart_depends", "Map of what its prediction depends on")
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    for key in ("chart_attends", "cell_panel"):
        expect(page.locator(f".st-key-{key}")).to_have_count(0)


def _assert_drawn(page: Page, key: str, said: str) -> None:
    chart = page.locator(f".st-key-{key} div[aria-label^='{said}']")
    expect(chart).to_be_visible(timeout=_PATIENCE)
    expect(chart.locator("svg.marks, canvas.marks").first).to_be_visible()
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    page.wait_for_function(fits)
