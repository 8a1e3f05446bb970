"""axe-core finds nothing on any page, light and dark, with all that it hides opened."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from attnlab.runs.links import Lesson, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training
from tests.e2e.menu import go_to
from tests.e2e.server import ROOT
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
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
)
_FINDINGS = """async streamlits => {
    // A colour on its way from one ground to the other is neither.
    const passing = document.getAnimations()
        .filter(each => each.effect.getComputedTiming().iterations !== Infinity)
    await Promise.allSettled(passing.map(each => each.finished))
    const {violations} = await axe.run({resultTypes: ['violations']})
    const isStreamlits = (rule, node) => streamlits.some(([its, place]) =>
        rule === its && document.querySelector(node.target[0])?.closest(place))
    return violations.flatMap(({id, nodes}) => nodes
        .filter(node => !isStreamlits(id, node))
        .map(node => `${id}: ${node.html}\\n${node.failureSummary}`))
}"""


def _settle(page: Page) -> None:
    expect(page.get_by_test_id("stApp")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=_PATIENCE
    )
    # What is about to be drawn anew is pale.
    expect(page.locator("[data-stale=true], [data-testid=stSkeleton]")).to_have_count(0)


def _open_all(page: Page) -> None:
    _settle(page)
    closed = page.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()
        _settle(page)


def _findings(page: Page, ground: str) -> list[str]:
    page.emulate_media(color_scheme=ground)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", _GROUND[ground])
    _settle(page)
    return page.evaluate(_FINDINGS, _STREAMLITS)


@pytest.fixture
def open_page(new_page, server):
    """Opens a page of the app with axe on it, by the name of its file and the query of a link."""

    def open_it(name: str, query: dict[str, str]) -> TrainPage:
        train = TrainPage(new_page(color_scheme="light"))
        path = "" if name == "train" else name
        words = "&".join(f"{key}={text}" for key, text in query.items())
        train.page.goto(f"{server.url}/{path}?{words}")
        expect(train.page.get_by_role("heading", level=1)).to_be_visible()
        _settle(train.page)
        train.page.evaluate(Axe().axe_script)
        return train

    return open_it


@pytest.mark.parametrize("name", _PAGES)
def test_nothing_is_found(open_page, name):
    lesson = Lesson("Which mask?", "Find it.")
    train = open_page(name, to_query(Experiment(training=Training(steps=10)), lesson))
    _open_all(train.page)
    assert _findings(train.page, "light") == []
    assert _findings(train.page, "dark") == []


@pytest.mark.parametrize("name", ["Train", "Inspect"])
def test_nothing_is_found_after_a_run(open_page, name):
    train = open_page("train", to_query(Experiment(training=Training(steps=10))))
    train.press("start")
    train.wait_for("done")
    if name != "Train":
        go_to(train.page, "Laboratory", name)
    _open_all(train.page)
    assert _findings(train.page, "light") == []
    assert _findings(train.page, "dark") == []
