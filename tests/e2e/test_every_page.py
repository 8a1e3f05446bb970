"""Every page, with all that it hides opened: axe-core finds nothing, Tab reaches all of it."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from attnlab.runs.links import Lesson, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.e2e.browser import DESKTOP
from tests.e2e.compare_page import address, compare
from tests.e2e.server import AppServer
from tests.e2e.train_page import (
    QUICK,
    TrainPage,
    go_to,
    wait_for_late_results,
    wait_until_it_fits,
)
from tests.pages import PAGES

pytestmark = pytest.mark.e2e

# What stands on a page when all of it is there; elsewhere it is the last expander.
_LAST = {
    "inspect": ".st-key-transitions",
    "words": "text=every position predicts its next token",
}
# Of a row of sections, of which one is drawn.
_SECTIONS = "[class*=_section] button"
_WITHOUT_CHARTS = ("/words", "/library")
_MOST_STOPS = 300
_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
_GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 28)"}
# Milliseconds that the figures of a process may take on a busy machine.
_PATIENCE = 120_000
# What Streamlit draws in a way that neither its theme nor its calls can change: rule and place.
_STREAMLITS = (
    # Its colours of code are not those of the theme.
    ("color-contrast", "[data-testid=stCode] .token"),
    # What has no room scrolls sideways, and has no stop for Tab.
    ("scrollable-region-focusable", ".katex-display, [data-testid=stCode] pre"),
    # The place to drop a file on has a label and the role of none.
    ("presentation-role-conflict", "[data-testid=stFileUploaderDropzone]"),
    # The ground of the box that is drawn in a chart is Vega's, and takes no words.
    ("svg-img-alt", "[class*=brush_brush]"),
)
_FINDINGS = """async ([streamlits, rules]) => {
    // A colour on its way from one ground to the other is neither.
    const passing = document.getAnimations()
        .filter(each => each.effect.getComputedTiming().iterations !== Infinity)
    await Promise.allSettled(passing.map(each => each.finished))
    const {violations} = await axe.run(
        {resultTypes: ['violations'], ...(rules && {runOnly: {type: 'rule', values: rules}})})
    const isStreamlits = (rule, node) => streamlits.some(([its, place]) =>
        rule === its && document.querySelector(node.target[0])?.closest(place))
    return violations.flatMap(({id, nodes}) => nodes
        .filter(node => !isStreamlits(id, node))
        .map(node => `${id}: ${node.html}\\n${node.failureSummary}`))
}"""

# The rerun of a page without charts may be too short to be seen.
_WATCH = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    window.drawnAnew = new Promise(done => {
        setTimeout(done, 5000);
        const state = () => app.getAttribute('data-test-script-state');
        let began = false;
        new MutationObserver((_, observer) => {
            began ||= state() === 'running';
            if (began && state() === 'notRunning') { observer.disconnect(); done(); }
        }).observe(app, {attributeFilter: ['data-test-script-state']});
    });
}"""

# All that can be clicked, chosen or typed into. A grid of numbers is one canvas with arrow keys.
_CONTROLS = (
    "a[href], button, input, select, textarea, summary, canvas[tabindex], "
    "[role=slider], [role=combobox], [role=switch], [role=tab]"
)
# Controls that Tab passes by.
_PASSED_BY = (
    # The arrow keys do the same in the field beside them.
    "[data-testid=stNumberInputStepDown], [data-testid=stNumberInputStepUp], "
    "button[aria-haspopup=listbox], "
    # The chosen ones of a menu are one stop, and its Backspace key takes them away.
    "[data-tag] button"
)
# Buttons that are one stop together; the arrow keys move among them.
_GROUP = "[role=radiogroup], [role=toolbar]"
# The area that scrolls: a stop for the arrow keys, and no control. And the canvas of a grid, which
# paints a frame around the chosen cell.
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


def _settle(page: Page) -> None:
    expect(page.get_by_test_id("stApp")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=_PATIENCE
    )
    # What is about to be redrawn is pale.
    expect(page.locator("[data-stale=true], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.get_by_text("Computing the numbers")).to_have_count(0, timeout=_PATIENCE)


def _open_all(page: Page) -> None:
    _settle(page)
    closed = page.locator("details:not([open]) > summary")
    # What is in a panel may have panels.
    while closed.count():
        closed.evaluate_all("nodes => nodes.forEach(node => node.click())")
        _settle(page)


def _each_section(page: Page) -> Iterator[None]:
    """Open one section after another; a page without sections stays as it is."""
    sections = page.locator(_SECTIONS)
    for at in range(sections.count()):
        # Without this, the walk may begin before the section is drawn.
        page.evaluate(_WATCH)
        sections.nth(at).click()
        page.evaluate("() => window.drawnAnew")
        # Streamlit's colours of a choice that was clicked last have too little contrast.
        page.evaluate("() => document.activeElement.blur()")
        page.mouse.move(0, 0)
        _open_all(page)
        yield
    if not sections.count():
        yield


def _findings(page: Page, ground: str, rules: tuple[str, ...] = ()) -> list[str]:
    app = page.get_by_test_id("stApp")
    if app.evaluate("node => getComputedStyle(node).backgroundColor") != _GROUND[ground]:
        page.evaluate(_WATCH)
        page.emulate_media(color_scheme=ground)
        # Charts take the new colours at the next rerun.
        page.keyboard.press("r")
        page.evaluate("() => window.drawnAnew")
        expect(app).to_have_css("background-color", _GROUND[ground])
    _settle(page)
    return page.evaluate(_FINDINGS, [_STREAMLITS, rules or None])


def _whole_page(name: str, page: Page, server: AppServer) -> Page:
    """The page in a lesson, after a run where it shows one, with all that it hides opened."""
    # Panels that resample the test set take a tenth of the time.
    experiment = Experiment(training=Training(test_size=1_000))
    query = to_query(experiment, Lesson("Which mask?", "Find it."))
    if name in ("train", "inspect"):
        train = TrainPage(page)
        page.goto(f"{server.url}/?{urlencode(query)}")
        train.wait_for("idle")
        if name == "train":
            page.evaluate(Axe().axe_script)
            assert _findings(page, "light") == []
        train.finish_default_run()
        if name == "inspect":
            go_to(page, "Laboratory", "Inspect")
    elif name == "compare":
        page.goto(f"{server.url}/{address(Lesson('Which model?', 'Find it.'))}")
        compare(page)
    else:
        page.goto(f"{server.url}/{name}?{urlencode(query)}")
    last = page.locator(_LAST.get(name, "summary:has-text('In code')")).last
    last.wait_for(timeout=_PATIENCE)
    _open_all(page)
    wait_for_late_results(page)
    return page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_colours_by_keyboard_and_fits_a_phone(name, new_page, server):
    page = _whole_page(name, new_page(color_scheme="light"), server)
    page.evaluate(Axe().axe_script)
    # Changes of look are there at once.
    page.add_style_tag(content="*, *::before, *::after { transition: none !important }")
    charts = []
    for _ in _each_section(page):
        assert _findings(page, "light") == []
        charts += _reached_by_keyboard(page)
    for _ in _each_section(page):
        # Of all rules, only those of colours can differ.
        assert _findings(page, "dark", ("color-contrast", "link-in-text-block")) == []
        page.set_viewport_size(_PHONE["viewport"])
        wait_until_it_fits(page)
        page.set_viewport_size(DESKTOP)
    assert bool(charts) == (not page.url.partition("?")[0].endswith(_WITHOUT_CHARTS))
    assert [text for text in charts if not re.search(r"\d", text)] == []


def _reached_by_keyboard(page: Page) -> list[str]:
    """Walk through all controls by the Tab key; return what the charts say."""
    # With nothing under the mouse.
    page.mouse.move(0, 0)
    _settle(page)
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
    return [chart.get_attribute("aria-label") or "" for chart in charts]


def test_a_run_on_a_phone_and_the_menu(new_page, server):
    train = TrainPage(new_page(**_PHONE))
    page = train.page
    page.goto(server.url + QUICK)
    train.wait_for("idle")
    wait_until_it_fits(page)
    train.finish_default_run()
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible()
    expect(train.open_panel("sequences").get_by_role("table").first).to_be_visible()
    wait_until_it_fits(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    sidebar.get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", exact=True, level=1).wait_for()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
