"""Settings changed while a run trains leave it alone until they are asked for."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def test_changed_settings_wait_for_one_press(bench):
    running = bench.start_long_run()
    expect(bench.button("start")).to_be_disabled()
    bench.fill("steps", 300)
    expect(bench.button("start")).to_contain_text("Train with changes: steps 100000 → 300")
    later = bench.wait_for_step(bench.status().step + 1)
    assert (later.state, later.steps) == ("running", running.steps)
    bench.press("start")
    assert bench.wait_for("done").step == 300
    expect(bench.button("start")).not_to_contain_text("changes")


def test_settings_changed_back_need_no_reset(bench):
    bench.press("step")
    bench.wait_for("paused")
    bench.choose("mask", "none")
    expect(bench.button("start")).to_contain_text("Train with changes: mask causal → none")
    # Of two experiments each figure says whose it is.
    expect(bench.part("headline")).to_contain_text("run with mask causal")
    expect(bench.part("verdict")).to_contain_text("controls: mask none")
    bench.choose("mask", "causal")
    expect(bench.button("start")).not_to_contain_text("changes")
    expect(bench.part("headline")).not_to_contain_text("run with")


def test_a_preset_fills_the_controls(bench):
    bench.choose("preset", "published-dotmod-linear")
    expect(bench.field("generator")).to_have_value("dotmod")
    expect(bench.field("model")).to_have_value("linear")
    expect(bench.part("run_status")).to_contain_text("of 500")
