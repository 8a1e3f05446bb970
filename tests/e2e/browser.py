"""The browser that the tests and the screenshots use: one that is already installed."""

import shutil

from playwright.sync_api import Browser, Playwright

DESKTOP = {"width": 1400, "height": 900}
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# No sandbox: containers have none. The rest keeps the browser from talking to its maker.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find_browser() -> str | None:
    """Where an installed Chromium is, or None."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def launch_browser(playwright: Playwright, executable: str) -> Browser:
    """Start it without a window."""
    return playwright.chromium.launch(executable_path=executable, args=list(_ARGUMENTS))
