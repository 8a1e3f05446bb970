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
from attnlab.ui.train.film_panel import SEEN_END
from tests.e2e.train_page import TrainPage, wait_for_late_results

pytestmark = pytest.mark.e2e

_DESKTOPS = ({"width": 1400, "height": 900}, {"width": 1280, "height": 720})
# Once they rest: a film takes some frames for the size of a new window.
_PLACES = """async () => {
    const keys = ['bar', 'task', 'state', 'picture', 'what_happened']
    const places = () => keys.map(key => {
        const box = document.querySelector(`.st-key-${key}`).getBoundingClientRect()
        return [key, Math.round(box.top), Math.round(box.left)]
    })
    let [before, now] = [null, places()]
    while (JSON.stringify(now) !== JSON.stringify(before)) {
        await new Promise(done => setTimeout(done, 500))
        ;[before, now] = [now, places()]
    }
    return now
}"""
# The first preset, whose programs are there, with fewer steps.
_FIRST = PRESETS[FIRST_PRESET].experiment
_QUICK_HEADS = "/?" + urlencode(
    to_query(dataclasses.replace(_FIRST, training=dataclasses.replace(_FIRST.training, steps=60)))
)
_PATIENCE = 120_000
_WEATHER = ("🌧️", "☁️", "☀️")


def _open(page: Page, server, path: str = "") -> TrainPage:
    train = TrainPage(page)
    train.page.goto(server.url + path)
    train.wait_for("idle")
    expect(train.maps.first).to_be_visible(timeout=_PATIENCE)
    return train


def test_it_opens_on_the_first_preset_and_its_finished_example(new_page, server):
    train = _open(new_page(), server)
    expect(train.field("preset")).to_have_value(PRESETS[FIRST_PRESET].label)
    expect(train.field("generator")).to_have_value("recall")
    assert train.status().steps == 2_000
    expect(train.part("task")).to_contain_text("Day 11 depends on days 1, 4 and 8, and on chance.")
    expect(train.part("verdict")).to_contain_text("accuracy 0.548", timeout=_PATIENCE)
    expect(train.part("state")).to_contain_text("This run comes with attnlab.")
    expect(train.part("what_happened")).to_contain_text("of the attention is on days 1, 4 and 8")
    for head in ("head 1", "head 2", "head 3"):
        expect(train.film).to_contain_text(head)
    # The days that the table reads are underlined.
    expect(train.film.locator(".decides")).to_have_count(3, timeout=_PATIENCE)
    for known in ("guessing 1.099", "best possible 0.934"):
        expect(train.film).to_contain_text(known, timeout=_PATIENCE)
    # The welcome is for a browser that has not seen a run end.
    train.page.goto(server.url)
    expect(train.part("welcome")).to_contain_text("New here?", timeout=_PATIENCE)
    train.page.context.add_cookies([{"name": SEEN_END, "value": "1", "url": server.url}])
    train.page.reload()
    train.wait_for("idle")
    expect(train.maps.first).to_be_visible(timeout=_PATIENCE)
    expect(train.part("welcome")).to_have_count(0)


def test_without_an_example_it_shows_the_step_0_of_the_run_that_start_begins(new_page, server):
    train = _open(new_page(), server, _QUICK_HEADS)
    expect(train.part("what_happened")).to_contain_text("untrained model at step 0")
    before = _pattern(train)
    at_start = train.figure("test loss (nats)")
    train.press("step")
    train.wait_for_step(1)
    train.wait_for("paused")
    assert _pattern(train) != before
    train.rewind("Home")
    expect(train.metric("test loss (nats)")).to_have_text(at_start)
    assert _pattern(train) == before


def _pattern(train: TrainPage) -> list[str]:
    """What the maps of the heads look like."""
    train.settle()
    return train.maps.evaluate_all("nodes => nodes.map(node => node.toDataURL())")


def _places(train: TrainPage, *, on_screen: bool = False) -> list:
    """Where the parts stand on each desktop; all that moves is on it, if so asked."""
    places = []
    for screen in _DESKTOPS:
        train.page.set_viewport_size(screen)
        train.settle()
        places.append(train.page.evaluate(_PLACES))
        if on_screen:
            for key in ("picture", "what_happened"):
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
    expect(train.film.locator(".legend")).to_contain_text("transformer")
    expect(train.maps.first).to_be_visible(timeout=_PATIENCE)
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
    train.part("advice").get_by_role("button").click()
    train.wait_for("done")
    expect(train.part("walk")).to_contain_text("last day only", timeout=_PATIENCE)


def test_maps_are_square_and_as_large_as_their_place_allows(new_page, server):
    """The second size is the first at a zoom of 150 %."""
    page = new_page()
    for width, height, least in ((1280, 720, 180), (853, 480, 130)):
        page.set_viewport_size({"width": width, "height": height})
        train = _open(page, server, _QUICK_HEADS)
        for box in (found.bounding_box() for found in train.maps.all()):
            assert box["width"] >= least
            # Below the cells there are the days.
            assert box["width"] < box["height"] < box["width"] + 30


def test_a_run_is_slowed_down_set_free_and_replayed_in_all_panels(bench):
    bench.fill("steps", 40)
    bench.choose("run_speed", "1 step/s")
    bench.press("start")
    bench.wait_for("running")
    assert bench.wait_for_step(2).step < 40
    bench.choose("run_speed", "full speed")
    assert bench.wait_for("done").step == 40
    play, pause = (bench.film.get_by_role("button", name=name) for name in ("Play", "Pause"))
    readout, status = bench.film.locator("output"), bench.part("run_status")
    expect(readout).to_contain_text("Step 40:")
    last = bench.figure("test loss (nats)")
    play.click()
    expect(readout).to_contain_text(re.compile(r"Step ([3-9]|1\d):"))
    pause.click()
    # Where it rests, all panels show that step.
    expect(status).to_contain_text("showing step")
    expect(bench.metric("test loss (nats)")).not_to_have_text(last)
    at = re.search(r"step (\d+) of", status.inner_text())[1]
    expect(readout).to_contain_text(f"Step {int(at)}:")
    # It goes on from there, and ends at the last step.
    play.click()
    expect(readout).to_contain_text("Step 40:", timeout=_PATIENCE)
    expect(play).to_be_visible()
    expect(bench.metric("test loss (nats)")).to_have_text(last)


def test_a_run_is_shown_in_weather_and_in_words_at_every_step_pointed_at(bench):
    panel = bench.open_panel("sequences")
    expect(panel).to_contain_text("Start a run first")
    bench.finish_default_run()
    loss, (head,) = bench.film.locator(".loss"), bench.maps.all()
    expect(loss).to_have_attribute(
        "aria-label", re.compile(r"Test loss \d\.\d+ ± \d\.\d+ nats at step 500")
    )
    at_the_end = bench.figure("test loss (nats)")
    assert at_the_end in loss.get_attribute("aria-label")
    expect(head).to_have_attribute("aria-label", re.compile(r"day \d+ has the most: \d+ %"))
    cells, said = _pattern(bench), head.get_attribute("aria-label")
    bench.rewind("Home")
    expect(bench.film.locator("output")).to_contain_text("Step 0:")
    expect(head).not_to_have_attribute("aria-label", said)
    assert _pattern(bench) != cells
    bench.rewind("End")
    expect(head).to_have_attribute("aria-label", said)
    # Over the first steps, where the loss is still high; where it rests, all panels follow.
    expect(bench.metric("test loss (nats)")).to_have_text(at_the_end)
    box = loss.bounding_box()
    bench.page.mouse.move(box["x"] + 15, box["y"] + box["height"] / 2)
    expect(bench.metric("test loss (nats)")).not_to_have_text(at_the_end)
    bench.page.mouse.move(box["x"] + 15, box["y"] - 150)
    expect(bench.metric("test loss (nats)")).to_have_text(at_the_end)
    box = head.bounding_box()
    bench.page.mouse.move(box["x"] + 10, box["y"] + 10)
    expect(bench.film.locator(".maps")).to_contain_text("day 1 → 1: 100 %")
    table = panel.get_by_role("table").first
    for heading in ("visible days", "process", "model"):
        expect(table).to_contain_text(heading)
    cells = table.locator("tbody td").all_inner_texts()
    assert len(cells) >= 3
    assert all(any(weather in cell for weather in _WEATHER) for cell in cells)
    sequence = bench.film.locator("svg[aria-label^='The sequence']")
    before = sequence.get_attribute("aria-label")
    bench.choose_sequence(2)
    expect(sequence).not_to_have_attribute("aria-label", before)
    # The true probabilities of this sequence redraw the picture, whenever they are there.
    wait_for_late_results(bench.page)
    figure = bench.film.locator("figure").first
    figure.evaluate("node => node.scrollIntoView({block: 'center'})")
    assert _sunny_pixels(bench.page.screenshot(clip=figure.bounding_box())) > 10


def _sunny_pixels(png: bytes) -> int:
    """How many pixels are of a strong yellow or orange, which only a colour font draws."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("HSV"))
    hue, strength, value = np.moveaxis(pixels, 2, 0)
    # Pillow counts hues to 255: 15 to 45 is from orange to yellow.
    return int(((hue >= 15) & (hue <= 45) & (strength > 120) & (value > 150)).sum())
