"""Take pictures of every page, to be looked at.

    python tools/screenshots.py [--out screenshots] [--walk] [--readme]

Each page is taken on a desktop and on a phone, light and dark; the Train page in all its moods.
With --walk each page is taken by one visitor who has trained the default run, on screens of more
sizes. With --readme only `docs/train.png` is taken, the picture in the README.
"""

import argparse
import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from tests.e2e.browser import find_browser, launch_browser  # noqa: E402
from tests.e2e.server import AppServer  # noqa: E402
from tests.e2e.train_page import TrainPage  # noqa: E402
from tests.pages import PAGES, title_of  # noqa: E402

# A busy machine may take seconds over a click.
expect.set_options(timeout=30_000)

_SCREENS = {
    "desktop": {"viewport": {"width": 1400, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
_SCHEMES = ("light", "dark")
# Of a walk. A screen of 1400 x 900 that is enlarged to 150 % has so many pixels of the page.
_SIZES = {
    "desktop": (1400, 900),
    "laptop": (1280, 720),
    "tablet": (1024, 768),
    "enlarged": (933, 600),
    "phone": (390, 844),
}
# Streamlit's fades and Vega's drawing have no end that a page tells of.
_DRAWING_MILLISECONDS = 1000


@contextmanager
def _sidebar(train: TrainPage) -> Iterator[None]:
    """The sidebar open; on a phone it lies over the page and is closed again."""
    hidden = train.page.get_by_test_id("stExpandSidebarButton")
    was_hidden = hidden.is_visible()
    if was_hidden:
        hidden.click()
    yield
    if was_hidden:
        train.page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()


def _idle(train: TrainPage) -> None:
    """As the page opens."""


def _running(train: TrainPage) -> None:
    with _sidebar(train):
        train.fill("steps", 20_000)
    train.press("start")
    train.wait_for_step(2_000)


def _done(train: TrainPage) -> None:
    train.finish_default_run()


def _linear(train: TrainPage) -> None:
    with _sidebar(train):
        train.choose("model", "linear")
    train.finish_default_run()


def _panels(train: TrainPage) -> None:
    train.finish_default_run()
    expect(train.open_panel("sequences").get_by_role("table").first).to_be_visible()
    expect(train.open_panel("files").get_by_test_id("stFileUploader")).to_be_visible()


def _error(train: TrainPage) -> None:
    with _sidebar(train):
        train.choose("generator", "markov")
        train.fill("markov_transition", "0.5 0.3 0.1\n0.3 0.4 0.3\n0.2 0.3 0.5")
        expect(train.message("transition row 1").first).to_be_visible()


def _diverged(train: TrainPage) -> None:
    with _sidebar(train):
        train.fill("learning_rate", 1000)
    train.press("start")
    train.wait_for("done", "failed")


_MOODS: dict[str, Callable[[TrainPage], None]] = {
    "idle": _idle,
    "running": _running,
    "done": _done,
    "linear": _linear,
    "panels": _panels,
    "error": _error,
    "diverged": _diverged,
}


def main() -> int:
    """Take the pictures that the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "screenshots", help="folder for them")
    parser.add_argument("--walk", action="store_true", help="each page beside a trained run")
    parser.add_argument("--readme", action="store_true", help="take docs/train.png alone")
    arguments = parser.parse_args()
    executable = find_browser()
    if executable is None:
        parser.exit(1, "screenshots.py: there is no Chromium on the path.\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        kept = {"ATTNLAB_LIBRARY": str(Path(folder) / "library")}
        server = AppServer(Path(folder) / "log", environment=kept)
        server.start()
        browser = launch_browser(playwright, executable)
        try:
            if arguments.readme:
                _take_readme(browser, server.url, ROOT / "docs")
            elif arguments.walk:
                _walk(browser, server.url, arguments.out)
            else:
                _take_all(browser, server.url, arguments.out)
        finally:
            browser.close()
            server.stop()
    return 0


def _take_readme(browser: Browser, url: str, folder: Path) -> None:
    page = _open(browser, url, "desktop", "light")
    train = TrainPage(page)
    train.wait_for("idle")
    train.press("start")
    train.wait_for("done")
    _take(page, folder / "train.png")


def _take_all(browser: Browser, url: str, folder: Path) -> None:
    others = [name for name in PAGES if name != "train"]
    for screen, scheme in itertools.product(_SCREENS, _SCHEMES):
        for name in others:
            page = _open(browser, f"{url}/{name}", screen, scheme)
            page.get_by_role("heading", level=1).wait_for()
            _take(page, folder / f"{name}-{screen}-{scheme}.png")
        for name, bring_about in _MOODS.items():
            page = _open(browser, url, screen, scheme)
            train = TrainPage(page)
            train.wait_for("idle")
            bring_about(train)
            _take(page, folder / f"train-{name}-{screen}-{scheme}.png")


def _walk(browser: Browser, url: str, folder: Path) -> None:
    page = _open(browser, url, "desktop", "light")
    train = TrainPage(page)
    train.wait_for("idle")
    train.press("start")
    train.wait_for("done")
    for scheme, name in itertools.product(_SCHEMES, PAGES):
        page.emulate_media(color_scheme=scheme)
        _follow(page, title_of(name))
        for screen, (width, height) in _SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            _shoot(page, folder / f"{name}-{screen}-{scheme}.png")
        page.set_viewport_size({"width": 1400, "height": 900})
    page.context.close()


def _follow(page: Page, title: str) -> None:
    """Choose a page from the menu, in whichever of its groups it is."""
    link = page.get_by_test_id("stTopNavDropdownLink").filter(has_text=re.compile(f"{title}$"))
    groups = page.get_by_test_id("stTopNavSection")
    # On a phone they stand in the sidebar.
    groups.first.wait_for()
    for group in groups.all():
        group.click()
        # The first to open takes a moment.
        page.wait_for_timeout(_DRAWING_MILLISECONDS)
        if link.count():
            link.click()
            break
        page.keyboard.press("Escape")
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for()


def _open(browser: Browser, url: str, screen: str, scheme: str) -> Page:
    page = browser.new_context(**_SCREENS[screen], color_scheme=scheme).new_page()
    page.goto(url)
    return page


def _take(page: Page, path: Path) -> None:
    """Picture the page, then leave it."""
    _shoot(page, path)
    page.context.close()


def _shoot(page: Page, path: Path) -> None:
    """The screen and, where the page is longer, the whole page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(_DRAWING_MILLISECONDS)
    page.screenshot(path=path)
    print(path)
    size = page.viewport_size
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    if height > size["height"] and path.stem != "train":
        page.set_viewport_size({**size, "height": height})
        page.wait_for_timeout(_DRAWING_MILLISECONDS)
        page.screenshot(path=path.with_stem(f"{path.stem}-whole"))
        page.set_viewport_size(size)


if __name__ == "__main__":
    sys.exit(main())
