"""What is known of the process, on the Train page: lines on the loss, and a place to stop."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

# The figures of the process are worked out in the background.
_PATIENCE = 120_000


def _labels(bench):
    return bench.part("chart_loss").locator("text")


def test_rungs_are_switched_on_and_off(bench):
    bench.fill("steps", 100)
    bench.press("start")
    bench.wait_for("done")
    for known in ("uniform guess 1.099", "floor 0.998"):
        expect(_labels(bench).filter(has_text=known)).to_have_count(1, timeout=_PATIENCE)
    rung = _labels(bench).filter(has_text=re.compile(r"unigram 1\.\d{3}"))
    expect(rung).to_have_count(0)
    pill = bench.part("rungs").get_by_role("button", name="unigram")
    pill.click()
    expect(rung).to_have_count(1)
    pill.click()
    expect(rung).to_have_count(0)


def test_a_run_stops_within_one_percent_of_the_floor_and_can_go_on(bench):
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
