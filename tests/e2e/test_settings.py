"""Settings changed while a run trains leave it alone until a reset."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def test_changed_settings_wait_for_a_reset(bench):
    running = bench.start_long_run()
    bench.fill("steps", 300)
    expect(bench.message("Settings changed")).to_be_visible()
    later = bench.wait_for_step(bench.status().step + 1)
    assert (later.state, later.steps) == ("running", running.steps)
    bench.press("reset")
    idle = bench.wait_for("idle")
    assert (idle.step, idle.steps) == (0, 300)
    expect(bench.message("Settings changed")).to_have_count(0)
    bench.press("start")
    assert bench.wait_for("done").step == 300


def test_settings_changed_back_need_no_reset(bench):
    bench.press("step")
    bench.wait_for("paused")
    bench.choose("mask", "none")
    expect(bench.message("Settings changed")).to_be_visible()
    bench.choose("mask", "causal")
    expect(bench.message("Settings changed")).to_have_count(0)


def test_a_preset_fills_the_controls(bench):
    bench.choose("preset", "published-dotmod-linear")
    expect(bench.field("generator")).to_have_value("dotmod")
    expect(bench.field("model")).to_have_value("linear")
    bench.press("reset")
    expect(bench.part("run_status")).to_contain_text("of 500")
