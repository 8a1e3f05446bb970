"""Take pictures of every page, to be looked at.

    python tools/screenshots.py [--out screenshots] [--docs]

Each page is taken after a run, on screens of five sizes, light and dark. With --docs only the
pictures of the documentation are taken, such as `docs/train.png`, `docs/train-dark.png`, and
`docs/phone/train.png`.
"""

import argparse
import io
import itertools
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from tests.e2e.browser import find_browser, launch_browser  # noqa: E402
from tests.e2e.server import AppServer  # noqa: E402
from tests.e2e.train_page import TrainPage, go_to, wait_for_late_results  # noqa: E402
from tests.pages import PAGES, title_of  # noqa: E402

# A busy machine may take seconds over a click, and a minute over the probes of a run.
expect.set_options(timeout=120_000)

_SCHEMES = ("light", "dark")
# A screen of 1400 x 900 that is enlarged to 150 % has so many pixels of the page.
_SIZES = {
    "desktop": (1400, 900),
    "laptop": (1280, 720),
    "tablet": (1024, 768),
    "enlarged": (933, 600),
    "phone": (390, 844),
}
# Streamlit's fades and Vega's drawing have no end that a page tells of.
_DRAWING_MILLISECONDS = 1000
# A picture of so few colours takes half of the space.
_COLOURS = 256
# Addresses that are taken after a run of their own, with the page that each opens.
_WITH_OWN_RUN = {
    "sequence_to_sequence": "Train",
    "beliefs": "Look inside",
    "in_context": "Look inside",
}


def main() -> int:
    """Take the pictures that the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "screenshots", help="folder for them")
    parser.add_argument("--docs", action="store_true", help="take only those of the documentation")
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
            if arguments.docs:
                _take_docs(browser, server.url, ROOT / "docs")
            else:
                _walk(browser, server.url, arguments.out)
        finally:
            browser.close()
            server.stop()
    return 0


def _trained(browser: Browser, url: str) -> Page:
    """The Train page after the run that it opens on."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.goto(url)
    train = TrainPage(page)
    train.wait_for("idle")
    train.press("start")
    train.wait_for("done")
    return page


def _take_docs(browser: Browser, url: str, folder: Path) -> None:
    page = _trained(browser, url)
    _take_both(page, {name: title_of(name) for name in PAGES}, folder)
    for name, title in _WITH_OWN_RUN.items():
        page.goto(f"{url}/{name}")
        TrainPage(page).finish_default_run()
        _take_both(page, {name: title}, folder)
    page.context.close()


def _take_both(page: Page, titles: Mapping[str, str], folder: Path) -> None:
    """Take pages, by the name of their pictures, in light and in dark."""
    looks = (("light", ""), ("dark", "-dark"))
    for (scheme, ending), (name, title) in itertools.product(looks, titles.items()):
        page.emulate_media(color_scheme=scheme)
        # Charts get their colours when the page is run.
        go_to(page, title)
        wait_for_late_results(page)
        TrainPage(page).settle()
        # Over a chart the pointer would open its toolbar.
        page.mouse.move(0, 0)
        for screen, into in (("phone", folder / "phone"), ("laptop", folder)):
            width, height = _SIZES[screen]
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(_DRAWING_MILLISECONDS)
            path = into / f"{name}{ending}.png"
            path.parent.mkdir(exist_ok=True)
            picture = Image.open(io.BytesIO(page.screenshot()))
            picture.convert("RGB").quantize(_COLOURS).save(path, optimize=True)
            print(path)


def _walk(browser: Browser, url: str, folder: Path) -> None:
    page = _trained(browser, url)
    for scheme, name in itertools.product(_SCHEMES, PAGES):
        page.emulate_media(color_scheme=scheme)
        go_to(page, title_of(name))
        for screen, (width, height) in _SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            _shoot(page, folder / f"{name}-{screen}-{scheme}.png")
        page.set_viewport_size({"width": 1400, "height": 900})
    page.context.close()


def _shoot(page: Page, path: Path) -> None:
    """The screen and, where the page is longer, the whole page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(_DRAWING_MILLISECONDS)
    page.screenshot(path=path)
    print(path)
    size = page.viewport_size
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    if height > size["height"]:
        page.set_viewport_size({**size, "height": height})
        page.wait_for_timeout(_DRAWING_MILLISECONDS)
        page.screenshot(path=path.with_stem(f"{path.stem}-whole"))
        page.set_viewport_size(size)


if __name__ == "__main__":
    sys.exit(main())
