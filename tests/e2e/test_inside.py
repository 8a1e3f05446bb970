"""What the page shows of a model: pattern, weights, sequences, and the same in words."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.e2e

_WEATHER = ("🌧️", "☁️", "☀️")
_FILLS = "nodes => nodes.map(node => node.getAttribute('fill'))"


def _alternative(bench) -> Locator:
    """What says the right chart in words."""
    return bench.part("chart_attention").locator("div[aria-label]")


def _words(bench) -> str:
    return _alternative(bench).get_attribute("aria-label")


def _cells(bench) -> list[str]:
    cells = bench.part("chart_attention").locator(".mark-rect.role-mark path")
    expect(cells.first).to_be_attached()
    return cells.evaluate_all(_FILLS)


def test_axes_of_the_pattern_show_coloured_weather(bench):
    bench.press("step")
    bench.wait_for("paused")
    bench.choose_sequence(1)
    labels = bench.part("chart_attention").locator("text")
    expect(labels.filter(has_text=re.compile("|".join(_WEATHER))).first).to_be_attached()
    days = [text for text in labels.all_text_contents() if any(w in text for w in _WEATHER)]
    assert len(days) == 20
    assert all(any(weather in " ".join(days) for weather in _WEATHER) for weather in _WEATHER)
    assert _sunny_pixels(labels.filter(has_text="☀️").first.screenshot()) > 10


def _sunny_pixels(png: bytes) -> int:
    """How many pixels are of a strong yellow or orange, which only a colour font draws."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("HSV"))
    hue, strength, value = np.moveaxis(pixels, 2, 0)
    # Pillow counts hues to 255: 15 to 45 is from orange to yellow.
    return int(((hue >= 15) & (hue <= 45) & (strength > 120) & (value > 150)).sum())


def test_charts_say_in_words_what_they_show(bench):
    bench.finish_default_run()
    loss = bench.part("chart_loss").locator("div[aria-label]")
    expect(loss).to_have_attribute(
        "aria-label", re.compile(r"Test loss \d\.\d+ ± \d\.\d+ nats at step 500")
    )
    words = re.compile(r"10 days\. Day 10, .* \d+ % of its attention to day \d+")
    expect(_alternative(bench)).to_have_attribute("aria-label", words)
    assert bench.figure("test loss (nats)") in loss.get_attribute("aria-label")


def test_the_slider_shows_the_pattern_of_an_earlier_step(bench):
    bench.finish_default_run()
    now, cells, words = bench.field("shown_step").input_value(), _cells(bench), _words(bench)
    bench.slide("shown_step", "Home")
    expect(bench.field("shown_step")).to_have_value("0")
    expect(_alternative(bench)).not_to_have_attribute("aria-label", words)
    assert _cells(bench) != cells
    bench.slide("shown_step", "End")
    expect(bench.field("shown_step")).to_have_value(now)
    expect(_alternative(bench)).to_have_attribute("aria-label", words)


def test_the_linear_model_shows_its_weights(bench):
    bench.choose("model", "linear")
    bench.finish_default_run()
    words = re.compile(r"Influence .* moves the prediction most, by \d+ %")
    expect(_alternative(bench)).to_have_attribute("aria-label", words)
    bench.choose("inside_view_2", "weights")
    words = re.compile(r"Weights .* [+-]\d+\.\d+ nats")
    expect(_alternative(bench)).to_have_attribute("aria-label", words)
    expect(bench.part("chart_attention").locator("text").filter(has_text="☀️ → ☀️")).to_have_count(1)
    assert len(_cells(bench)) == 90


def test_sequences_of_process_and_model_side_by_side(bench):
    panel = bench.open_panel("sequences")
    expect(panel).to_contain_text("Start a run first")
    bench.finish_default_run()
    table = panel.get_by_role("table").first
    for heading in ("visible days", "process", "model"):
        expect(table).to_contain_text(heading)
    cells = table.locator("tbody td").all_inner_texts()
    assert len(cells) >= 3
    assert all(any(weather in cell for weather in _WEATHER) for cell in cells)
