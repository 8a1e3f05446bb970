"""The first minute: what the page opens on, what moves, and what keeps its place."""

import dataclasses
import io
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from attnlab.runs.links import to_query
from attnlab.training.presets import FIRST_PRESET, PRESETS
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_DESKTOPS = ({"width": 1400, "height": 900}, {"width": 1280, "height": 720})
_PLACES = """() =>
    ['bar', 'state', 'prospect', 'chart_loss', 'inside', 'moment', 'what_happened'].map(key => {
        const box = document.querySelector(`.st-key-${key}`).getBoundingClientRect()
        return [key, Math.round(box.top), Math.round(box.left)]
    })"""
# A path of a cell begins at a corner and names its width and height.
_CELL = re.compile(r"M[-\d.]+,[-\d.]+h([\d.]+)v([\d.]+)h")
# The first preset, whose programs are there, with fewer steps.
_FIRST = PRESETS[FIRST_PRESET].experiment
_QUICK_HEADS = "/?" + urlencode(
    to_query(dataclasses.replace(_FIRST, training=dataclasses.replace(_FIRST.training, steps=60)))
)
_PATIENCE = 120_000
_WEATHER = ("🌧️", "☁️", "☀️")


def _cells(train: TrainPage) -> list[tuple[float, float]]:
    """Width and height of all that is drawn of the patterns, the legend left out."""
    paths = train.part("chart_attention").locator(".mark-rect.role-mark path")
    expect(paths.first).to_be_attached()
    drawn = paths.evaluate_all("nodes => nodes.map(node => node.getAttribute('d'))")
    sizes = [tuple(map(float, _CELL.match(path).groups())) for path in drawn]
    return [size for size in sizes if size[0] != 4]


def _open(page: Page, server, path: str = "") -> TrainPage:
    train = TrainPage(page)
    train.page.goto(server.url + path)
    train.wait_for("idle")
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible(timeout=_PATIENCE)
    return train


def test_it_opens_on_the_first_preset_and_shows_its_own_untrained_model(new_page, server):
    train = _open(new_page(), server)
    expect(train.field("preset")).to_have_value(PRESETS[FIRST_PRESET].label)
    expect(train.field("generator")).to_have_value("recall")
    assert train.status().steps == 2_000
    expect(train.part("task")).to_contain_text("Day 11 depends on days 1, 4 and 8, and on chance.")
    expect(train.part("verdict")).to_contain_text("accuracy 0.548", timeout=_PATIENCE)
    expect(train.part("what_happened")).to_contain_text("untrained model at step 0")
    for head in ("head 1", "head 2", "head 3"):
        expect(train.part("chart_attention")).to_contain_text(head)
    # The days that the table reads are marked over each of them.
    marks = train.part("chart_attention").locator("text").filter(has_text="▼")
    expect(marks).to_have_count(9, timeout=_PATIENCE)
    # What is shown is the step 0 of the run that Start begins.
    before = _pattern(train)
    at_start = train.figure("test loss (nats)")
    train.press("step")
    train.wait_for_step(1)
    train.wait_for("paused")
    for known in ("uniform guess 1.099", "floor 0.934"):
        expect(train.part("chart_loss")).to_contain_text(known, timeout=_PATIENCE)
    assert _pattern(train) != before
    train.slide("shown_step", "Home")
    expect(train.metric("test loss (nats)")).to_have_text(at_start)
    assert _pattern(train) == before


def _pattern(train: TrainPage) -> list[str]:
    train.settle()
    cells = train.part("chart_attention").locator(".mark-rect.role-mark path")
    return cells.evaluate_all("nodes => nodes.map(node => node.getAttribute('fill'))")


def _places(train: TrainPage, *, on_screen: bool = False) -> list:
    """Where the parts stand on each desktop; all that moves is on it, if so asked."""
    places = []
    for screen in _DESKTOPS:
        train.page.set_viewport_size(screen)
        train.settle()
        places.append(train.page.evaluate(_PLACES))
        if on_screen:
            for key in ("chart_loss", "chart_attention", "moment", "what_happened"):
                box = train.part(key).bounding_box()
                assert box["y"] + box["height"] <= screen["height"], key
    return places


def test_the_first_screen_holds_all_of_it_and_nothing_moves(new_page, server):
    train = _open(new_page(), server, _QUICK_HEADS)
    places = _places(train, on_screen=True)
    train.press("start")
    train.wait_for("done")
    assert _places(train, on_screen=True) == places
    train.slide("transformer_d_attn", "ArrowRight")
    expect(train.button("start")).to_contain_text("Train with changes: d_attn 8 → 9")
    assert _places(train) == places
    train.press("reset")
    train.wait_for("idle")
    expect(train.part("chart_loss")).to_contain_text("transformer")
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible(timeout=_PATIENCE)
    assert _places(train) == places
    # Nor does it move for a model without heads.
    train.choose("model", "gru")
    assert _places(train) == places


def test_advice_below_a_rule_of_two_lines_is_on_the_first_screen(new_page, server):
    page, published = new_page(), PRESETS["published-dotmod-attention"].experiment
    training = dataclasses.replace(published.training, train_size=100, test_size=200, steps=20)
    query = urlencode(to_query(dataclasses.replace(published, training=training)))
    train = _open(page, server, f"/?{query}")
    train.press("start")
    train.wait_for("done")
    for screen in _DESKTOPS:
        page.set_viewport_size(screen)
        train.settle()
        box = train.part("advice").bounding_box()
        assert box["y"] + box["height"] <= screen["height"]
        # Beside a single map the loss is as high as words and map together.
        loss, head = (train.part(key).bounding_box() for key in ("chart_loss", "chart_attention"))
        assert loss["x"] >= head["x"] + head["width"]
        assert loss["y"] + loss["height"] == pytest.approx(head["y"] + head["height"], abs=5)
    before = train.part("chart_loss").bounding_box()["height"]
    train.part("advice").get_by_role("button").click()
    train.wait_for("done")
    expect(train.part("walk")).to_contain_text("last day only", timeout=_PATIENCE)
    assert train.part("chart_loss").bounding_box()["height"] >= 0.8 * before


def test_cells_are_square_and_as_large_as_their_place_allows(new_page, server):
    """The second size is the first at a zoom of 150 %."""
    page = new_page()
    for width, height, least in ((1280, 720, 24), (853, 480, 14)):
        page.set_viewport_size({"width": width, "height": height})
        train = _open(page, server, _QUICK_HEADS)
        small = [size for size in _cells(train) if abs(size[0] - size[1]) < 0.1]
        assert min(width for width, _ in small) + 1 >= least
        loss, maps = (train.part(key).bounding_box() for key in ("chart_loss", "chart_attention"))
        assert maps["y"] >= loss["y"] + loss["height"]


def test_a_run_is_slowed_down_set_free_and_replayed_in_all_panels(bench):
    bench.fill("steps", 40)
    bench.choose("run_speed", "1 step/s")
    bench.press("start")
    bench.wait_for("running")
    assert bench.wait_for_step(2).step < 40
    bench.choose("run_speed", "full speed")
    assert bench.wait_for("done").step == 40
    replay, stop = (
        bench.part("replay_play").get_by_role("button", name=name) for name in ("Replay", "Stop")
    )
    last, headline = bench.figure("test loss (nats)"), bench.part("headline").inner_text()
    replay.click()
    expect(stop).to_be_visible()
    expect(bench.part("headline")).not_to_have_text(headline)
    at = bench.part("shown_step").get_by_test_id("stSliderThumbValue")
    expect(at).to_have_text(re.compile("^[3-9]$|^[1-9][0-9]$"))
    stop.click()
    expect(replay).to_be_visible()
    bench.settle()
    assert at.inner_text() not in ("now", "40")
    expect(bench.metric("test loss (nats)")).not_to_have_text(last)
    # It resumes at the step that is shown, and ends at now.
    replay.click()
    expect(at).to_have_text("now", timeout=_PATIENCE)
    expect(replay).to_be_visible()
    expect(bench.metric("test loss (nats)")).to_have_text(last)


def test_a_run_is_shown_in_weather_and_in_words_at_every_step_pointed_at(bench):
    panel = bench.open_panel("sequences")
    expect(panel).to_contain_text("Start a run first")
    bench.finish_default_run()
    loss = bench.part("chart_loss").locator("div[aria-label]")
    expect(loss).to_have_attribute(
        "aria-label", re.compile(r"Test loss \d\.\d+ ± \d\.\d+ nats at step 500")
    )
    assert bench.figure("test loss (nats)") in loss.get_attribute("aria-label")
    chart = bench.part("chart_attention")
    labels, said = chart.locator("text"), chart.locator("div[aria-label]")
    words = re.compile(r"10 days\. Day 10, .* \d+ % of its attention to day \d+")
    expect(said).to_have_attribute("aria-label", words)
    now, cells, words = (
        bench.field("shown_step").input_value(), _pattern(bench), said.get_attribute("aria-label"),
    )  # fmt: skip
    bench.slide("shown_step", "Home")
    expect(bench.field("shown_step")).to_have_value("0")
    expect(said).not_to_have_attribute("aria-label", words)
    assert _pattern(bench) != cells
    bench.slide("shown_step", "End")
    expect(bench.field("shown_step")).to_have_value(now)
    expect(said).to_have_attribute("aria-label", words)
    # Over the first steps, where the loss is still high; every panel shows that step.
    at_the_end = bench.figure("test loss (nats)")
    box = bench.part("chart_loss").locator("svg.marks").bounding_box()
    bench.page.mouse.move(box["x"] + 75, box["y"] + box["height"] / 2)
    expect(bench.metric("test loss (nats)")).not_to_have_text(at_the_end)
    tooltip = bench.page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("step")
    expect(tooltip).to_contain_text("test (nats)")
    bench.page.mouse.move(box["x"] + 75, box["y"] - 150)
    expect(bench.metric("test loss (nats)")).to_have_text(at_the_end)
    table = panel.get_by_role("table").first
    for heading in ("visible days", "process", "model"):
        expect(table).to_contain_text(heading)
    cells = table.locator("tbody td").all_inner_texts()
    assert len(cells) >= 3
    assert all(any(weather in cell for weather in _WEATHER) for cell in cells)
    bench.choose_sequence(1)
    expect(labels.filter(has_text=re.compile("|".join(_WEATHER))).first).to_be_attached()
    assert _sunny_pixels(labels.filter(has_text="☀️").first.screenshot()) > 10


def _sunny_pixels(png: bytes) -> int:
    """How many pixels are of a strong yellow or orange, which only a colour font draws."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("HSV"))
    hue, strength, value = np.moveaxis(pixels, 2, 0)
    # Pillow counts hues to 255: 15 to 45 is from orange to yellow.
    return int(((hue >= 15) & (hue <= 45) & (strength > 120) & (value > 150)).sum())
