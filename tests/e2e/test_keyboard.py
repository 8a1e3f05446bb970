"""The keyboard is enough: Tab reaches every control and shows where it is; charts have words."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.grid import EDITOR, finish_cell
from tests.e2e.menu import go_to
from tests.e2e.server import ROOT
from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e

_PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
# What stands on a page when all of it is there; elsewhere it is the last expander.
_LAST = {
    "generators": ".st-key-chart_dependence svg.marks",
    "inspect": ".st-key-transitions",
    "words": "text=every position predicts its next day",
}
_MOST_STOPS = 200
# On a busy machine the focus is a moment behind the key.
_TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Milliseconds that the figures of a process may take on a busy machine.
_PATIENCE = 120_000

# All that can be clicked, chosen or typed into. A grid of numbers is one canvas with arrow keys.
_CONTROLS = (
    "a[href], button, input, select, textarea, summary, canvas[tabindex], "
    "[role=slider], [role=combobox], [role=switch], [role=tab]"
)
# Controls that Tab passes by.
_PASSED_BY = (
    # The arrow keys do the same in the field beside them.
    "[data-testid=stNumberInputStepDown], [data-testid=stNumberInputStepUp], "
    "button[aria-haspopup=listbox]"
)
# Buttons that are one stop together; the arrow keys move among them.
_GROUP = "[role=radiogroup], [role=toolbar]"
# The area that scrolls: a stop for the arrow keys, and no control. And the canvas of a grid, which
# paints a frame around the chosen cell; the test of a lesson waits for that cell.
_NO_SIGN = ("main", "canvas")

# Where the focus was, and what looked different there from afterwards. An element shows its focus
# by itself, by one it is in, or by the label around it: the box of a slider's thumb or of a switch
# is hidden.
_WALK = """([controls, passedBy, groups]) => {
    const SIGNS = ['outline', 'boxShadow', 'borderTopColor', 'borderBottomColor',
                   'backgroundColor'];
    const above = node => [0, 1, 2].reduce(
        (found, _) => [...found, found.at(-1)?.parentElement], [node]).filter(Boolean);
    const painted = node => above(node).every(each => {
        const box = each.getBoundingClientRect(), style = getComputedStyle(each);
        const tiny = Math.min(box.width, box.height) <= 1;
        return style.opacity !== '0' && !(tiny && (each === node || style.overflow === 'hidden'));
    });
    const sign = (node, name) => {
        const style = getComputedStyle(node);
        return name === 'outline' && style.outlineStyle === 'none' ? '' : style[name];
    };
    const look = node => {
        const label = node.closest('label');
        const near = [...above(node), ...(label ? label.querySelectorAll('*') : [])];
        return near.filter(painted).flatMap(each => SIGNS.map(name => [each, name]))
            .map(([each, name]) => [() => sign(each, name), sign(each, name)]);
    };
    const call = node => {
        const holder = node.closest('[class*=st-key-]')?.className.match(/st-key-([\\w-]+)/)[1]
            ?? node.closest('[data-testid]')?.dataset.testid;
        const text = node.getAttribute('aria-label') || node.innerText || node.tagName;
        return `${holder}: ${node.tagName.toLowerCase()} ${text.slice(0, 60)}`;
    };
    const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));
    const stops = [];
    window.keyboardWalk = {
        // Whether the walk is back where it began.
        async note() {
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const node = document.activeElement;
            const last = stops.at(-1);
            if (last && last.shown === undefined)
                last.shown = last.look.some(([now, then]) => now() !== then);
            if (node === stops[0]?.node) return true;
            if (node !== document.body) stops.push({node, look: look(node)});
            return false;
        },
        async report() {
            // On a busy machine a look may have been taken too early: those are looked at again.
            for (const stop of stops.filter(stop => !stop.shown && stop.node.isConnected)) {
                stop.node.focus({focusVisible: true});
                await pause(300);
                const focused = look(stop.node);
                stop.node.blur();
                await pause(300);
                stop.shown = focused.some(([now, then]) => now() !== then);
            }
            const reached = new Set(stops.map(stop => stop.node));
            const group = node => node.closest(groups);
            const groupsReached = new Set([...reached].map(group).filter(Boolean));
            const missed = [...document.querySelectorAll(controls)].filter(node =>
                node.checkVisibility() && node.getBoundingClientRect().width > 0
                && !node.disabled && !node.matches(passedBy)
                && !reached.has(node) && !groupsReached.has(group(node)));
            return {
                reached: stops.map(stop => call(stop.node)),
                missed: missed.map(call),
                unseen: stops.filter(stop => !stop.shown && stop.node.isConnected)
                    .map(stop => [call(stop.node), stop.node.tagName.toLowerCase()]),
            };
        },
    };
}"""


@pytest.fixture
def open_page(new_page, server):
    """Opens a page by the name of its file, after a run where it shows one, with all it hides."""

    def open_whole(name: str) -> Page:
        page = new_page()
        if name in ("train", "inspect"):
            train = TrainPage(page)
            page.goto(server.url + QUICK)
            train.wait_for("idle")
            train.finish_default_run()
        if name == "inspect":
            go_to(page, "Laboratory", "Inspect")
        elif name != "train":
            page.goto(f"{server.url}/{name}")
        last = page.locator(_LAST.get(name, "summary:has-text('In code')")).last
        last.wait_for(timeout=_PATIENCE)
        _settle(page)
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
        closed = page.locator("details:not([open]) > summary")
        while closed.count():
            closed.first.click()
            _settle(page)
        # The first press of Tab begins at the top, and with nothing under the mouse.
        page.mouse.move(0, 0)
        _settle(page)
        return page

    return open_whole


def _settle(page: Page) -> None:
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")


def _focus(page: Page, target: Locator) -> None:
    """Press Tab until the focus is there."""
    for _ in range(_MOST_STOPS):
        if target.count() and target.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press("Tab")
        page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
    raise AssertionError(f"Tab does not reach {target}.")


@pytest.mark.parametrize("name", _PAGES)
def test_tab_reaches_every_control_and_every_chart_has_words(open_page, name):
    page = open_page(name)
    # Changes of look are there at once.
    page.add_style_tag(content="*, *::before, *::after { transition: none !important }")
    page.evaluate(_WALK, [_CONTROLS, _PASSED_BY, _GROUP])
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("() => keyboardWalk.note()"):
            break
    else:
        raise AssertionError("The walk does not come back to where it began.")
    report = page.evaluate("() => keyboardWalk.report()")
    # The link over the menu, two sections and the menu of the app are on every page.
    assert len(report["reached"]) >= 4
    assert report["missed"] == []
    assert [call for call, tag in report["unseen"] if tag not in _NO_SIGN] == []
    charts = page.get_by_test_id("stVegaLiteChart").all()
    assert bool(charts) == (name != "words")
    said = [chart.get_attribute("aria-label") or "" for chart in charts]
    assert [text for text in said if not re.search(r"\d", text)] == []


def test_a_run_by_keyboard_alone(bench):
    page, press = bench.page, bench.page.keyboard.press
    _focus(page, bench.field("generator"))
    press("ArrowDown")
    page.get_by_role("option", name="recall", exact=True).wait_for()
    page.keyboard.type("recall")
    press("Enter")
    expect(bench.field("generator")).to_have_value("recall")
    bench.settle()
    _focus(page, bench.field("d_attn"))
    press("ArrowRight")
    expect(bench.field("d_attn")).to_have_value("7")
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


def test_pages_and_panels_by_keyboard_alone(bench, server):
    page, press = bench.page, bench.page.keyboard.press
    _focus(page, page.get_by_test_id("stTopNavSection").filter(has_text="Laboratory"))
    press("Enter")
    link = page.get_by_test_id("stTopNavDropdownLink").filter(has_text="Generators")
    # The focus is on the first page of the section; the arrow keys move among them.
    press("ArrowDown")
    press("ArrowDown")
    expect(link).to_be_focused()
    press("Enter")
    page.locator(_LAST["generators"]).wait_for(timeout=_PATIENCE)
    _settle(page)
    measures = page.locator(".st-key-dependence_measure").get_by_role("radio")
    _focus(page, measures.first)
    press("ArrowRight")
    press("Space")
    expect(measures.nth(1)).to_be_checked()
    _settle(page)
    _focus(page, page.locator("summary:has-text('In code')"))
    press("Enter")
    expect(page.get_by_text("The figures above, from a script:")).to_be_visible()


def test_a_lesson_by_keyboard_alone(new_page, server):
    page = new_page()
    press = page.keyboard.press
    page.goto(f"{server.url}/step_by_step")
    page.locator("summary:has-text('In code')").last.wait_for()
    _settle(page)
    # A number is typed into the grid, and stands in its text.
    _focus(page, page.locator(".st-key-step_inputs_grid canvas[tabindex]"))
    # The grid chooses its first cell some frames after it has the focus.
    chosen = page.locator(".st-key-step_inputs_grid [role=gridcell][aria-selected=true]")
    expect(chosen).to_have_attribute("aria-colindex", "1")
    press("Enter")
    expect(page.locator(EDITOR)).to_be_focused()
    finish_cell(page, "5")
    arithmetic = page.locator(".st-key-step_arithmetic")
    expect(arithmetic).to_contain_text("(5)(1)+(0)(1)+(1)(0)+(0)(0)=5")
    _settle(page)
    _focus(page, page.locator(".st-key-table_step_inputs button:has-text('as text')"))
    press("Enter")
    text = page.locator(".st-key-step_inputs textarea")
    _focus(page, text)
    expect(text).to_have_value(re.compile("^5 0 1 0"))
    press("Escape")
    expect(text).to_have_count(0)
    switch = page.locator(".st-key-step_scaling input")
    _focus(page, switch)
    press("Space")
    expect(switch).to_be_checked()
