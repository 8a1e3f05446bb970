"""Take pictures of every page, to be looked at.

    python tools/screenshots.py [--out screenshots] [--readme]

Each page is taken on a desktop and on a phone, light and dark; the Train page in all its moods.
With --readme only `docs/train.png` is taken, the picture in the README.
"""

import argparse
import itertools
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

# A busy machine may take seconds over a click.
expect.set_options(timeout=30_000)

_SCREENS = {
    "desktop": {"viewport": {"width": 1400, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
_SCHEMES = ("light", "dark")
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
    parser.add_argument("--readme", action="store_true", help="take docs/train.png alone")
    arguments = parser.parse_args()
    executable = find_browser()
    if executable is None:
        parser.exit(1, "screenshots.py: there is no Chromium on the path.\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = AppServer(Path(folder) / "log")
        server.start()
        browser = launch_browser(playwright, executable)
        try:
            if arguments.readme:
                _take_readme(browser, server.url, ROOT / "docs")
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
    others = sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "train")
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


def _open(browser: Browser, url: str, screen: str, scheme: str) -> Page:
    page = browser.new_context(**_SCREENS[screen], color_scheme=scheme).new_page()
    page.goto(url)
    return page


def _take(page: Page, path: Path) -> None:
    """The screen and, where the page is longer, the whole page; then leave it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(_DRAWING_MILLISECONDS)
    page.screenshot(path=path)
    print(path)
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    if height > page.viewport_size["height"] and path.stem != "train":
        page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
        page.wait_for_timeout(_DRAWING_MILLISECONDS)
        page.screenshot(path=path.with_stem(f"{path.stem}-whole"))
    page.context.close()


if __name__ == "__main__":
    sys.exit(main())
