"""A server and tabs of a real browser, for the scripts that load them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.browser import find_browser, launch_browser
from tests.e2e.server import ROOT, AppServer
from tests.e2e.train_page import TrainPage, go_to

_VIEWPORT = {"width": 1400, "height": 900}
# A machine that twenty browsers start on at once answers late.
_PATIENCE = 120_000


@contextmanager
def server_and_browser(
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[AppServer, Browser]]:
    """A fresh server whose page scripts are timed, and an installed Chromium."""
    executable = find_browser()
    if executable is None:
        raise SystemExit("There is no Chromium on the path. On Debian: apt install chromium")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = ROOT / "benchmarks" / "timed_app.py"
        server = AppServer(Path(folder) / "log", environment, script)
        server.start()
        browser = launch_browser(playwright, executable)
        try:
            yield server, browser
        finally:
            browser.close()
            server.stop()


def script_seconds(server: AppServer) -> list[float]:
    """How long every full run of a page's script has taken so far."""
    lines = re.findall(r"^page script (\S+) s$", server.log(), re.MULTILINE)
    return [float(number) for number in lines]


class Visitor:
    """A visitor with a separate browser, and the errors on its pages."""

    def __init__(self, browser: Browser, url: str):
        self.page: Page = browser.new_context(viewport=_VIEWPORT).new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(url)
        self.train = TrainPage(self.page)

    def go_to(self, title: str) -> None:
        """Choose a page from the menu."""
        go_to(self.page, title)

    def exceptions(self) -> list[str]:
        """What stands on the page in the place of a part that failed."""
        return self.page.get_by_test_id("stException").all_inner_texts()
