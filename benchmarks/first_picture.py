"""How soon a visitor sees the first picture of the Train page."""

import importlib.util
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.timing import Figure, spread

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

_SERVERS, _VISITORS = 3, 5
_PATIENCE = 60_000
# The server's first message says that the script of the page has started.
_WATCH = """
const Native = window.WebSocket;
window.WebSocket = class extends Native {
    constructor(...values) {
        super(...values);
        this.addEventListener('message', () => window.began ??= performance.now());
    }
};
const look = () => {
    const chart = document.querySelector('[data-testid="stVegaLiteChart"]');
    if (chart?.querySelector('canvas, svg')) { window.drawn = performance.now(); }
    else { requestAnimationFrame(look); }
};
requestAnimationFrame(look);
"""


def _visits(browser: "Browser", url: str) -> list[tuple[float, float]]:
    """Of somebody's first visit, and of one soon afterwards."""
    context = browser.new_context()
    times = [_seconds_to_picture(context, url) for _ in range(2)]
    context.close()
    return times


def _seconds_to_picture(context: "BrowserContext", url: str) -> tuple[float, float]:
    """From the start of the page's script, and from the visit, to the first chart."""
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(url)
    page.wait_for_function("window.drawn", timeout=_PATIENCE)
    began, drawn = page.evaluate("[window.began, window.drawn]")
    # A visit that ends before its script has ended would spend the time of the next one.
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.close()
    return (drawn - began) / 1000, drawn / 1000


def _rows() -> Iterator[str]:
    if importlib.util.find_spec("playwright") is None:
        yield "left out: Playwright is not installed, one of the requirements of the tests"
        return
    from benchmarks.visitors import script_seconds, server_and_browser

    starting, started, again, scripts = [], [], [], []
    for _ in range(_SERVERS):
        with server_and_browser() as (server, browser):
            starting.append(_visits(browser, server.url)[0])
            time.sleep(1)
            before = len(script_seconds(server))
            for _ in range(_VISITORS):
                first, second = _visits(browser, server.url)
                started.append(first)
                again.append(second)
            scripts += script_seconds(server)[before:]
    yield f"{'the whole script, for a later visitor':<46} {spread(scripts, '.2f')} s"
    for name, visits in (
        ("a visitor of a server that has just started", starting),
        ("a later visitor", started),
        ("the same one again, who has Streamlit's files", again),
    ):
        script, whole = zip(*visits, strict=True)
        yield (
            f"{name:<46} {spread(script, '.2f')} s, from opening the address "
            f"{spread(whole, '.2f')} s"
        )


FIGURE = Figure(
    "from the start of the Train page's script to its first chart in a browser on the same "
    "machine, target ≤ 1 s",
    _rows,
)
