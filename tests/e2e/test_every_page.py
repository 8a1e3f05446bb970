"""Every page, with all that it hides opened: axe-core finds nothing, the keyboard reaches it."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from attnlab.generators import GENERATORS
from attnlab.models import TransformerOptions
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
    "known_results": "summary:has-text('Run it here')",
    "look_inside": ".st-key-chart_truth",
    "words": "summary:has-text('Readouts')",
}
# Of a row of sections, of which one is drawn.
_SECTIONS = "[class*=_section] button"
_WITHOUT_CHARTS = ("/words", "/library")
_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
_GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 21, 28)"}
# Changes of look are there at once, and what is about to be redrawn is not pale meanwhile: a rerun
# that begins during a check would be a finding.
_AT_REST = """
*, *::before, *::after { transition: none !important }
[data-stale=true], details, summary { opacity: 1 !important }
"""
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
_FINDINGS = """async ([place, streamlits, rules]) => {
    // A colour on its way from one ground to the other is neither.
    const passing = document.getAnimations()
        .filter(each => each.effect.getComputedTiming().iterations !== Infinity)
    await Promise.allSettled(passing.map(each => each.finished))
    const {violations} = await axe.run(place,
        {resultTypes: ['violations'], ...(rules && {runOnly: {type: 'rule', values: rules}})})
    const isStreamlits = (rule, node) => streamlits.some(([its, where]) =>
        rule === its && document.querySelector(node.target[0])?.closest(where))
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
            // Of a short rerun only the request may be seen.
            began ||= state() !== 'notRunning';
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

# Controls that Tab does not reach, and those that look the same with the focus as without it. An
# element shows its focus itself, by one that it is in, or by the label around it: the box of a
# slider's thumb or of a switch is hidden. The canvas of a grid frames the chosen cell.
_KEYBOARD = """async ([place, controls, passedBy, groups]) => {
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
        const near = [...above(node), ...(node.closest('label')?.querySelectorAll('*') ?? [])];
        return near.filter(painted).flatMap(each => SIGNS.map(name => sign(each, name))).join();
    };
    const call = node => {
        const holder = node.closest('[class*=st-key-]')?.className.match(/st-key-([\\w-]+)/)[1]
            ?? node.closest('[data-testid]')?.dataset.testid;
        const text = node.getAttribute('aria-label') || node.innerText || node.tagName;
        return `${holder}: ${node.tagName.toLowerCase()} ${text.slice(0, 60)}`;
    };
    const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));
    // Whether the look changes; what React draws takes a moment.
    const shows = async (node, milliseconds) => {
        document.activeElement.blur();
        await pause(milliseconds);
        const before = look(node);
        node.focus({focusVisible: true});
        await pause(milliseconds);
        return document.activeElement === node && look(node) !== before;
    };
    const all = [...document.querySelector(place).querySelectorAll(controls)].filter(node =>
        node.checkVisibility() && node.getBoundingClientRect().width > 0
        && !node.disabled && !node.matches(passedBy));
    // Tab enters a group at the chosen button; that of a section still has the look of its click.
    const stops = all.filter(node => !node.closest(groups)
        || node.matches('[aria-checked=true], :checked') && !node.closest('[class*=_section]'));
    const missed = stops.filter(node => node.tabIndex < 0);
    const unseen = [];
    for (const node of stops.filter(node => node.tagName !== 'CANVAS'))
        if (!await shows(node, 0) && !await shows(node, 300)) unseen.push(node);
    document.activeElement.blur();
    return [missed.map(call), unseen.map(call)];
}"""


def _settle(page: Page) -> None:
    expect(page.get_by_test_id("stApp")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=_PATIENCE
    )
    expect(page.locator("[data-stale=true], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.get_by_text("Computing the numbers")).to_have_count(0, timeout=_PATIENCE)


def _open_all(page: Page) -> None:
    _settle(page)
    closed = page.locator("details:not([open]) > summary")
    # What is in a panel may have panels.
    while closed.count():
        closed.evaluate_all("nodes => nodes.forEach(node => node.click())")
        _settle(page)


def _each_section(page: Page) -> Iterator[str]:
    """Open one section after another; give the place of what is new, first the whole page."""
    sections = page.locator(_SECTIONS)
    for at in range(sections.count()):
        # The first is open, and a click on it draws nothing.
        if at:
            # Without this, the checks may begin before the section is drawn.
            page.evaluate(_WATCH)
            sections.nth(at).click()
            page.evaluate("() => window.drawnAnew")
        # Streamlit's colours of a choice that was clicked last have too little contrast.
        page.evaluate("() => document.activeElement.blur()")
        page.mouse.move(0, 0)
        _open_all(page)
        yield "[data-testid=stMain]" if at else "body"
    if not sections.count():
        yield "body"


def _findings(
    page: Page, ground: str, place: str = "body", rules: tuple[str, ...] = ()
) -> list[str]:
    app = page.get_by_test_id("stApp")
    if app.evaluate("node => getComputedStyle(node).backgroundColor") != _GROUND[ground]:
        page.emulate_media(color_scheme=ground)
        expect(app).to_have_css("background-color", _GROUND[ground])
        # Charts take the new colours at the next rerun.
        page.evaluate(_WATCH)
        page.keyboard.press("r")
        page.evaluate("() => window.drawnAnew")
    _settle(page)
    return page.evaluate(_FINDINGS, [place, _STREAMLITS, rules or None])


def _whole_page(name: str, page: Page, server: AppServer) -> Page:
    """The page in a lesson, after a run where it shows one, with all that it hides opened."""
    # Panels that resample the test set take a tenth of the time.
    experiment = Experiment(training=Training(test_size=1_000))
    if name == "beliefs":
        # Of two states and short, so that its probes are soon there.
        training = Training(test_size=1_000, loss="next")
        experiment = Experiment(generator=GENERATORS["even"](), length=6, training=training)
    if name == "in_context":
        training = Training(test_size=1_000, loss="next", steps=50, data="fresh", batch=32)
        model = TransformerOptions(layers=2, heads=1, d_model=8, mlp_width=0)
        process = GENERATORS["in-context-markov"]()
        experiment = Experiment(generator=process, length=12, model=model, training=training)
    query = to_query(experiment, Lesson("Which mask?", "Find it."))
    if name in ("train", "look_inside"):
        train = TrainPage(page)
        page.goto(f"{server.url}/?{urlencode(query)}")
        train.wait_for("idle")
        if name == "train":
            page.evaluate(Axe().axe_script)
            assert _findings(page, "light") == []
        train.finish_default_run()
        if name == "look_inside":
            go_to(page, "Look inside")
    elif name == "compare":
        page.goto(f"{server.url}/{address(Lesson('Which model?', 'Find it.'))}")
        compare(page)
    else:
        page.goto(f"{server.url}/{name}?{urlencode(query)}")
    if name == "in_context":
        TrainPage(page).finish_default_run()
        page.get_by_test_id("stVegaLiteChart").first.wait_for(timeout=_PATIENCE)
    last = page.locator(_LAST.get(name, "summary:has-text('In code')")).last
    last.wait_for(timeout=_PATIENCE)
    _open_all(page)
    wait_for_late_results(page)
    return page


# Former addresses open the other tabs, and a task.
@pytest.mark.parametrize("name", [*PAGES, "beliefs", "in_context", "sequence_to_sequence"])
def test_a_page_is_accessible_in_both_colours_by_keyboard_and_fits_a_phone(name, new_page, server):
    page = _whole_page(name, new_page(color_scheme="light"), server)
    page.evaluate(Axe().axe_script)
    page.add_style_tag(content=_AT_REST)
    charts = []
    grounds = ["light", "dark"]
    for place in _each_section(page):
        assert _findings(page, grounds[0], place) == []
        charts += _reached_by_keyboard(page, place)
        # Of all rules, only those of colours can differ.
        assert _findings(page, grounds[1], place, ("color-contrast", "link-in-text-block")) == []
        # The next section begins with the colours that are there.
        grounds.reverse()
        page.set_viewport_size(_PHONE["viewport"])
        wait_until_it_fits(page)
        page.set_viewport_size(DESKTOP)
    assert bool(charts) == (not page.url.partition("?")[0].endswith(_WITHOUT_CHARTS))
    assert [text for text in charts if not re.search(r"\d", text)] == []


def _reached_by_keyboard(page: Page, place: str) -> list[str]:
    """Give every control the focus; return what the charts say."""
    # With nothing under the mouse.
    page.mouse.move(0, 0)
    _settle(page)
    # The focus is shown to those who use the keyboard.
    page.keyboard.press("Tab")
    assert page.evaluate(_KEYBOARD, [place, _CONTROLS, _PASSED_BY, _GROUP]) == [[], []]
    charts = page.get_by_test_id("stVegaLiteChart").all()
    return [chart.get_attribute("aria-label") or "" for chart in charts]


def test_a_run_on_a_phone_and_the_menu(new_page, server):
    train = TrainPage(new_page(**_PHONE))
    page = train.page
    page.goto(server.url + QUICK)
    train.wait_for("idle")
    wait_until_it_fits(page)
    train.finish_default_run()
    expect(train.maps.first).to_be_visible()
    expect(train.open_panel("sequences").get_by_role("table").first).to_be_visible()
    wait_until_it_fits(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    sidebar.get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", exact=True, level=1).wait_for()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
