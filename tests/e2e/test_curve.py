"""The charts move while a run trains, and are never drawn anew."""

import time

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

# Every picture that the charts draw is one node, of one kind or the other.
_DRAWINGS = ".st-key-{key} :is(svg.marks, canvas.marks)"
_TAG = "nodes => nodes.forEach(node => { node.tagged = true })"
_TAGS = "nodes => nodes.map(node => node.tagged === true)"
_LINES = "nodes => nodes.map(node => node.getAttribute('d')).join(' ')"
_WATCH_SECONDS = 3


def test_charts_are_updated_in_place(bench):
    began = bench.start_long_run()
    drawings = {
        key: bench.page.locator(_DRAWINGS.format(key=key))
        for key in ("chart_loss", "chart_attention")
    }
    for drawing in drawings.values():
        drawing.first.wait_for()
        drawing.evaluate_all(_TAG)
    lines = bench.part("chart_loss").locator(".mark-line path")
    before = lines.evaluate_all(_LINES)
    end = time.monotonic() + _WATCH_SECONDS
    while time.monotonic() < end:
        for key, drawing in drawings.items():
            assert drawing.evaluate_all(_TAGS) == [True], key
        bench.page.wait_for_timeout(100)
    assert bench.status().step > began.step
    assert lines.evaluate_all(_LINES) != before


def test_a_run_goes_from_start_to_done_by_itself(bench):
    done = bench.finish_default_run()
    assert (done.step, done.steps) == (500, 500)
    assert bench.button("start").is_disabled()
    assert bench.button("pause").is_disabled()


def test_charts_follow_the_colours_of_the_page(bench):
    """At the next rerun: Streamlit runs no script when the system's colours change."""
    title = bench.part("chart_attention").locator("text").filter(has_text="head 1")
    light = title.evaluate("node => getComputedStyle(node).fill")
    bench.page.emulate_media(color_scheme="dark")
    bench.part("log_steps").locator("label").click()
    expect(title).not_to_have_css("fill", light)
