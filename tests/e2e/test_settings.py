"""Settings changed while a run trains leave it alone until a reset."""

import pytest
from playwright.sync_api import expect

from attnlab.presets import PRESETS

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


# While the server answers to the preset, and the browser has not heard of it.
@pytest.mark.parametrize("milliseconds", [0, 10, 40])
def test_start_takes_the_preset_that_was_chosen_the_moment_before(milliseconds, bench):
    bench.field("preset").press("ArrowDown")
    bench.page.get_by_role("option", name="corrected-recall", exact=True).evaluate(
        """(option, milliseconds) => {
            option.click()
            const start = () => document.querySelector('.st-key-run_start button').click()
            setTimeout(start, milliseconds)
        }""",
        milliseconds,
    )
    running = bench.wait_for("running", "done")
    assert running.steps == PRESETS["corrected-recall"].experiment.training.steps
    expect(bench.field("generator")).to_have_value("recall")
