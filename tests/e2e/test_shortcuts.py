"""Keys for the buttons, which leave people who type alone."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def _leave_fields(bench) -> None:
    bench.page.get_by_role("heading", name="Train", exact=True).click()


def test_keys_press_the_buttons(bench):
    bench.fill("steps", 100_000)
    _leave_fields(bench)
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


def test_typing_presses_nothing(bench):
    for key in ("markov_initial", "markov_transition", "seed"):
        field = bench.field(key)
        before = field.input_value()
        field.click()
        for letter in "spnbd":
            bench.page.keyboard.press(letter)
        field.fill(before)
        field.blur()
    bench.page.wait_for_timeout(1000)
    assert bench.status().state == "idle"
    assert bench.field("seed").input_value() == "0"
