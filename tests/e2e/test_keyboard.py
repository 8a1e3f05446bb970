"""The keyboard is enough for a run."""

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.e2e

_MOST_STOPS = 200
# On a busy machine the focus is a moment behind the key.
_FRAME = "new Promise(requestAnimationFrame)"


def _focus(page: Page, target: Locator) -> None:
    """Press Tab until the focus is there."""
    for _ in range(_MOST_STOPS):
        # A grid hands the focus on to a cell inside its canvas.
        if target.count() and target.evaluate("node => node.contains(document.activeElement)"):
            return
        page.keyboard.press("Tab")
        page.evaluate(_FRAME)
    raise AssertionError(f"Tab does not reach {target}.")


def test_a_run_by_keyboard_alone(bench):
    page, press = bench.page, bench.page.keyboard.press
    _focus(page, bench.field("generator"))
    press("ArrowDown")
    page.get_by_role("option", name="recall", exact=True).wait_for()
    page.keyboard.type("recall")
    press("Enter")
    expect(bench.field("generator")).to_have_value("recall")
    bench.settle()
    _focus(page, bench.part("more").locator("summary"))
    press("Enter")
    _focus(page, bench.field("steps"))
    press("ControlOrMeta+a")
    page.keyboard.type("100000")
    press("Tab")
    _focus(page, bench.button("start"))
    press("Enter")
    bench.wait_for("running")
    bench.wait_for_step(1)
    _focus(page, bench.button("pause"))
    press("Space")
    assert bench.wait_for("paused").step > 0
    # Of a row of buttons one is a stop, and the arrow keys lead to the others.
    rung = bench.part("rungs").get_by_role("button", name="order-1")
    _focus(page, bench.part("rungs").get_by_role("button", name="unigram"))
    press("ArrowRight")
    expect(rung).to_be_focused()
    press("Space")
    expect(rung).to_have_attribute("aria-pressed", "true")
