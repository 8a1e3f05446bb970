"""How soon a visitor sees the first chart of the Train page."""

import importlib.util
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.timing import Figure, spread

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from tests.e2e.server import AppServer

_SERVERS, _VISITORS = 3, 5
_PATIENCE = 60_000
# Of a second in which an idle server takes care of its sessions.
_IDLE_SECONDS = 0.1
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


class _Visit(NamedTuple):
    """Seconds from opening the address."""

    began: float
    drawn: float


def _visits(browser: "Browser", url: str) -> list[_Visit]:
    """A visitor's first visit, and one soon afterwards."""
    # To wait for a value Playwright evaluates text, which the policy of the page forbids.
    context = browser.new_context(bypass_csp=True)
    visits = [_visit(context, url) for _ in range(2)]
    context.close()
    return visits


def _visit(context: "BrowserContext", url: str) -> _Visit:
    """When the page's script began, and when the first chart stood there."""
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(url)
    page.wait_for_function("window.drawn", timeout=_PATIENCE)
    milliseconds = page.evaluate("[window.began, window.drawn]")
    # A visit that ends before its script has ended would spend the time of the next one.
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.close()
    return _Visit(*(time / 1000 for time in milliseconds))


def _wait_until_idle(server: "AppServer") -> None:
    """A server that has just started compiles what its first visitor may ask for."""
    before = -math.inf
    while (now := server.processor_seconds()) - before > _IDLE_SECONDS:
        before = now
        time.sleep(1)


def _rows() -> Iterator[str]:
    if importlib.util.find_spec("playwright") is None:
        yield "left out: Playwright is not installed, one of the requirements of the tests"
        return
    from benchmarks.visitors import script_seconds, server_and_browser

    starting, started, again, scripts = [], [], [], []
    for _ in range(_SERVERS):
        with server_and_browser() as (server, browser):
            starting.append(_visits(browser, server.url)[0])
            _wait_until_idle(server)
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
        from_script = [visit.drawn - visit.began for visit in visits]
        from_opening = [visit.drawn for visit in visits]
        yield (
            f"{name:<46} {spread(from_script, '.2f')} s, from opening the address "
            f"{spread(from_opening, '.2f')} s"
        )


FIGURE = Figure(
    "from the start of the Train page's script to its first chart in a browser on the same "
    "machine, target ≤ 1 s",
    _rows,
)
