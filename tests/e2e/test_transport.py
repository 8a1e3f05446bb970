"""Start, Pause, Step, Reset and New seed do what they say, in any order."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

_STANDSTILL_SECONDS = 1.5
# Faster than a test from outside could be, which might come after the compilation.
_PAUSE_AS_SOON_AS_POSSIBLE = """() => {
    const timer = setInterval(() => {
        const button = document.querySelector('.st-key-run_pause button:not([disabled])');
        if (button) { clearInterval(timer); button.click(); }
    }, 20);
}"""


def _stands_still(bench) -> bool:
    before = bench.status()
    bench.page.wait_for_timeout(1000 * _STANDSTILL_SECONDS)
    return bench.status() == before


def test_pause_keeps_the_step_and_start_goes_on(bench):
    bench.start_long_run()
    bench.press("pause")
    paused = bench.wait_for("paused")
    assert paused.step > 0
    assert _stands_still(bench)
    bench.press("start")
    bench.wait_for("running")
    bench.wait_for_step(paused.step + 1)


def test_step_takes_exactly_one_step(bench):
    bench.press("step")
    bench.wait_for("paused")
    assert bench.status().step == 1
    for step in (2, 3, 4):
        bench.press("step")
        bench.wait_for_step(step)
        assert bench.wait_for("paused").step == step
    assert _stands_still(bench)


def test_step_pauses_a_running_run(bench):
    bench.start_long_run()
    bench.press("step")
    assert bench.wait_for("paused").step > 0
    assert _stands_still(bench)


def test_reset_returns_to_the_same_beginning(bench):
    bench.finish_default_run()
    first = {name: bench.figure(name) for name in ("test loss at step 0", "test accuracy")}
    bench.press("reset")
    assert bench.wait_for("idle").step == 0
    bench.finish_default_run()
    assert {name: bench.figure(name) for name in first} == first


def test_new_seed_draws_another_beginning(bench):
    bench.press("step")
    bench.wait_for("paused")
    first = bench.figure("test loss at step 0")
    assert bench.field("seed").input_value() == "0"
    bench.press("new_seed")
    assert bench.wait_for("idle").step == 0
    expect(bench.field("seed")).not_to_have_value("0")
    bench.press("step")
    bench.wait_for("paused")
    assert bench.figure("test loss at step 0") != first


def test_ten_quick_clicks_on_start_are_one_start(bench):
    bench.fill("steps", 100_000)
    bench.button("start").evaluate("button => { for (let i = 0; i < 10; i++) button.click() }")
    bench.wait_for("running")
    bench.wait_for_step(1)
    bench.press("pause")
    bench.wait_for("paused")
    assert _stands_still(bench)


def test_pause_while_compiling_ends_in_paused(bench):
    bench.fill("steps", 100_000)
    bench.page.evaluate(_PAUSE_AS_SOON_AS_POSSIBLE)
    # Compiled from the moment that it is chosen: the last choice, one that no other test makes,
    # and among the slowest.
    bench.slide("length", "End")
    bench.press("start")
    assert bench.wait_for("paused").step == 0
    assert _stands_still(bench)


def test_reset_while_running_stops_it(bench):
    bench.start_long_run()
    bench.press("reset")
    assert bench.wait_for("idle").step == 0
    assert _stands_still(bench)
    bench.press("start")
    bench.wait_for("running")
    bench.wait_for_step(1)


def test_start_takes_what_was_typed_the_moment_before(bench):
    bench.field("steps").fill("321")
    bench.press("start")
    assert bench.wait_for("done").steps == 321
