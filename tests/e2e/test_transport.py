"""The Train page: its buttons and keys do what they say, in any order, on settings that change."""

import re
import time

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

_STANDSTILL_SECONDS = 1.5
_WATCH_SECONDS = 2
# Milliseconds that the numbers of the process may take on a busy machine.
_PATIENCE = 120_000
# Faster than a test from outside could be, which might come after the compilation.
_PAUSE_AS_SOON_AS_POSSIBLE = """() => {
    const timer = setInterval(() => {
        const button = document.querySelector('.st-key-run_pause button:not([disabled])');
        if (button) { clearInterval(timer); button.click(); }
    }, 20);
}"""
_TAG = "nodes => nodes.forEach(node => { node.tagged = true })"
_TAGS = "nodes => nodes.map(node => node.tagged === true)"
_LINES = "nodes => nodes.map(node => node.getAttribute('d')).join(' ')"


def _stands_still(bench) -> bool:
    before = bench.status()
    bench.page.wait_for_timeout(1000 * _STANDSTILL_SECONDS)
    return bench.status() == before


def test_a_run_is_paused_stepped_resumed_and_reset(bench):
    bench.start_long_run()
    bench.press("pause")
    paused = bench.wait_for("paused")
    assert paused.step > 0
    assert _stands_still(bench)
    bench.press("step")
    bench.wait_for_step(paused.step + 1)
    assert bench.wait_for("paused").step == paused.step + 1
    bench.press("start")
    bench.wait_for_step(paused.step + 2)
    # Step pauses a run.
    bench.press("step")
    assert bench.wait_for("paused").step > paused.step
    bench.press("start")
    bench.wait_for("running")
    bench.press("reset")
    assert bench.wait_for("idle").step == 0
    assert _stands_still(bench)
    bench.press("start")
    bench.wait_for("running")
    bench.wait_for_step(1)


def test_pause_while_compiling_ends_in_paused(bench):
    bench.fill("steps", 100_000)
    # It compiles for a second, at a length that no other test chooses.
    bench.choose("model", "transformer")
    bench.slide("length", "ArrowLeft")
    bench.page.evaluate(_PAUSE_AS_SOON_AS_POSSIBLE)
    bench.press("start")
    assert bench.wait_for("paused").step == 0
    assert _stands_still(bench)


def test_changed_settings_wait_for_one_press(bench):
    # What was typed the moment before Start counts.
    bench.field("steps").fill("100000")
    bench.press("start")
    running = bench.wait_for("running")
    assert running.steps == 100_000
    expect(bench.button("start")).to_be_disabled()
    bench.fill("steps", 300)
    expect(bench.button("start")).to_contain_text("Train with changes: steps 100000 → 300")
    later = bench.wait_for_step(bench.status().step + 1)
    assert (later.state, later.steps) == ("running", running.steps)
    bench.press("start")
    assert bench.wait_for("done").step == 300
    bench.choose("mask", "none")
    expect(bench.button("start")).to_contain_text("Train with changes: mask causal → none")
    # Each number names its experiment, since there are two, and the charts of the other are grey.
    expect(bench.part("last_run")).to_contain_text("your last run (mask causal)")
    expect(bench.part("best")).to_contain_text("New settings: best possible accuracy")
    bench.page.mouse.move(0, 0)
    expect(bench.part("picture")).to_have_css("filter", "grayscale(1)")
    bench.choose("mask", "causal")
    expect(bench.button("start")).not_to_contain_text("changes")
    expect(bench.part("last_run")).to_have_count(0)
    expect(bench.part("picture")).to_have_css("filter", "none")


def test_keys_press_the_buttons_and_typing_presses_nothing(bench):
    for key in ("markov_transition", "seed"):
        field = bench.field(key)
        before = field.input_value()
        field.click()
        for letter in "spnbd":
            bench.page.keyboard.press(letter)
        field.fill(before)
        field.blur()
    bench.fill("steps", 100_000)
    bench.page.get_by_role("heading", name="Train", exact=True).click()
    bench.settle()
    assert bench.status().state == "idle"
    assert bench.field("seed").input_value() == "0"
    bench.page.keyboard.press("s")
    bench.wait_for("running")
    bench.wait_for_step(1)
    bench.page.keyboard.press("p")
    paused = bench.wait_for("paused")
    bench.page.keyboard.press("n")
    bench.wait_for_step(paused.step + 1)
    assert bench.wait_for("paused").step == paused.step + 1
    bench.page.keyboard.press("b")
    assert bench.wait_for("idle").step == 0
    bench.page.keyboard.press("d")
    expect(bench.field("seed")).not_to_have_value("0")


def test_charts_are_updated_in_place(bench):
    began = bench.start_long_run()
    drawings = (bench.film.locator(".loss"), bench.maps)
    for drawing in drawings:
        drawing.first.wait_for()
        drawing.evaluate_all(_TAG)
    lines = bench.film.locator(".loss .curve")
    before = lines.evaluate_all(_LINES)
    end = time.monotonic() + _WATCH_SECONDS
    while time.monotonic() < end:
        for drawing in drawings:
            assert drawing.evaluate_all(_TAGS) == [True]
        bench.page.wait_for_timeout(100)
    assert bench.status().step > began.step
    assert lines.evaluate_all(_LINES) != before
    # While it trains, the film can be rewound, and all panels follow.
    bench.rewind("Home")
    expect(bench.film.locator("output")).to_contain_text("Step 0:")
    expect(bench.part("run_status")).to_contain_text("showing step")
    bench.rewind("End")
    expect(bench.part("run_status")).not_to_contain_text("showing step")


def test_a_run_stops_near_the_floor_and_baselines_are_switched_on_and_off(bench):
    bench.part("verdict").get_by_text("Best possible").wait_for(timeout=_PATIENCE)
    bench.press("step")
    bench.wait_for("paused")
    bench.part("stop_at_target").locator("label").click()
    bench.press("start")
    # The target counts from the exact predictions on the same sequences, so it is near 1.008.
    reached = re.compile(r"the test loss reached 1\.0[01]\d nats at step")
    expect(bench.part("run_status")).to_contain_text(reached)
    paused = bench.wait_for("paused")
    assert 1 < paused.step < paused.steps
    loss = float(re.match(r"[\d.]+", bench.figure("test loss (nats)")).group())
    assert 0.99 < loss <= 1.0085
    bench.press("start")
    assert bench.wait_for("done").step == paused.steps
    labels = bench.film.locator(".loss text")
    for known in ("guessing 1.099", "best possible 0.998"):
        expect(labels.filter(has_text=known)).to_have_count(1, timeout=_PATIENCE)
    baseline = labels.filter(has_text=re.compile(r"unigram 1\.\d{3}"))
    expect(baseline).to_have_count(0)
    pill = bench.part("rungs").get_by_role("button", name="unigram")
    pill.click()
    expect(baseline).to_have_count(1)
    pill.click()
    expect(baseline).to_have_count(0)
