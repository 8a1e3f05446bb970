"""A browser, a server and tabs that are checked for errors when a test is over."""

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.e2e.browser import DESKTOP, find_browser, launch_browser
from tests.e2e.server import AppServer
from tests.e2e.train_page import QUICK, TrainPage

# A busy machine may take seconds over a click; nothing waits longer than it has to.
_PATIENCE = 60_000
# Letters of a page, and of each of the last lines of a log, that a failed test repeats.
_TOLD = 1500
_LINES, _LETTERS = 60, 200
# In what a browser says of anything that a page was not allowed.
_POLICY = "Content Security Policy"
# A browser keeps fifty of a tab, and some tests count those that they make.
_MOST_ENTRIES = 25
# Not part of the repository; the workflow keeps it when the checks fail.
_PICTURES = Path(__file__).parents[2] / "screenshots" / "failed"
expect.set_options(timeout=_PATIENCE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Let a failed test say what its server said and what its tabs showed, with a picture."""
    report = yield
    if report.when == "call" and report.failed:
        values = item.funcargs.values()
        for server in {value for value in values if isinstance(value, AppServer)}:
            lines = [line[:_LETTERS] for line in server.log().splitlines()[-_LINES:]]
            report.sections.append(("end of the server's log", "\n".join(lines)))
        openers = (item.funcargs.get(name) for name in ("new_page", "new_shared_page"))
        pages = itertools.chain(*(opener.pages for opener in openers if opener))
        for number, page in enumerate(pages, start=1):
            # One that is closed or has crashed has nothing to say.
            with suppress(Error):
                text = f"{page.url}\n{page.inner_text('body', timeout=5_000)[:_TOLD]}"
                report.sections.append(("a tab", text))
                picture = f"{re.sub(r'[^A-Za-z0-9]+', '-', item.nodeid)[-100:]}-{number}.png"
                page.screenshot(path=_PICTURES / picture, timeout=5_000)
    return report


@pytest.fixture(scope="session")
def browser():
    """The installed Chromium; without one the tests are skipped, or fail where one is a must."""
    executable = find_browser()
    if executable is None:
        reason = "There is no Chromium on the path. On Debian: apt install chromium"
        if os.environ.get("ATTNLAB_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = launch_browser(playwright, executable)
        yield browser
        browser.close()


@pytest.fixture(scope="session", autouse=True)
def _programs_kept_for_the_session(tmp_path_factory):
    """Servers share their compiled programs, and leave those of the user alone."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # That of all workers.
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLAB_CACHE", str(folder / "programs"))
        yield


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    """A server for all tests that do not need one of their own."""
    server = AppServer(tmp_path_factory.mktemp("server") / "log")
    server.start()
    yield server
    server.stop()
    assert server.failures() == [], server.log()


@pytest.fixture
def server(shared_server):
    """The shared server, whose log must stay free of errors during the test."""
    before = shared_server.failures()
    yield shared_server
    assert shared_server.failures() == before, shared_server.log()


@pytest.fixture
def fresh_server(tmp_path):
    """A server that was just started."""
    server = AppServer(tmp_path / "log")
    server.start()
    yield server
    server.stop()
    assert server.failures() == [], server.log()


class Visitor:
    """A visitor with a browser that keeps what the app has sent, and a tab is used again.

    A session of the app belongs to an open page, so that two pages are two strangers to the
    server, in two tabs or one after the other in the same.
    """

    def __init__(self, browser: Browser, **options: Any):
        self._context = browser.new_context(**options)
        self._context.set_default_timeout(_PATIENCE)
        self._options = options
        self._free: list[Page] = []

    def tab(self) -> Page:
        """An empty one; if it was used before, the browser has compiled the app's scripts there."""
        if not self._free:
            return self._context.new_page()
        tab = self._free.pop()
        tab.set_viewport_size(self._options["viewport"])
        tab.emulate_media(color_scheme=self._options.get("color_scheme", "light"))
        return tab

    def leave(self, tab: Page) -> None:
        """Empty a tab for another test."""
        # What the app keeps in a browser, such as whether it has seen a run end.
        self._context.clear_cookies()
        tab.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        if tab.evaluate("() => history.length") < _MOST_ENTRIES:
            tab.goto("about:blank")
            self._free.append(tab)
        else:
            tab.close()

    def close(self) -> None:
        """With all tabs."""
        self._context.close()


@pytest.fixture(scope="session")
def visitor_of(browser):
    """Gives the visitor with these options, the same every time."""
    visitors: dict[str, Visitor] = {}

    def visitor(**options) -> Visitor:
        options = {"viewport": DESKTOP, **options}
        name = repr(sorted(options.items()))
        if name not in visitors:
            visitors[name] = Visitor(browser, **options)
        return visitors[name]

    yield visitor
    for visitor in visitors.values():
        visitor.close()


@pytest.fixture
def new_page(visitor_of):
    """Opens a tab for the test."""
    with _watched_tabs(visitor_of) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def new_shared_page(visitor_of):
    """Opens a tab for several tests of a module, each of which leaves it as the next can take it.

    With `leave` it is looked at and left before the end of the module.
    """
    with _watched_tabs(visitor_of) as open_page:
        yield open_page


@contextmanager
def _watched_tabs(visitor_of) -> Iterator[Callable[..., Page]]:
    """Gives what opens a tab.

    At the end none of them may have seen an error, have sent a request to anything but the server
    that it was opened on, or have been kept from something by the policy of its page.
    """
    pages: list[Page] = []
    errors: list[str] = []
    asked: list[list[str]] = []
    exceptions: list[str] = []

    opened: dict[Page, tuple[Visitor, dict[str, Callable]]] = {}

    def open_page(**options) -> Page:
        visitor = visitor_of(**options)
        page, requests = visitor.tab(), []
        heard = {
            "pageerror": lambda error: errors.append(str(error)),
            "console": lambda said: _POLICY in said.text and errors.append(said.text),
            "request": lambda request: requests.append(request.url),
            "websocket": lambda socket: requests.append(socket.url),
        }
        for event, note in heard.items():
            page.on(event, note)
        opened[page] = visitor, heard
        pages.append(page)
        asked.append(requests)
        return page

    def leave(page: Page) -> None:
        exceptions.extend(page.get_by_test_id("stException").all_inner_texts())
        visitor, heard = opened.pop(page)
        for event, note in heard.items():
            page.remove_listener(event, note)
        visitor.leave(page)

    open_page.pages, open_page.leave = pages, leave
    yield open_page
    for page in [page for page in opened if not page.is_closed()]:
        leave(page)
    assert exceptions == []
    assert errors == []
    assert [url for urls in asked for url in urls if _host(url) not in ("", _host(urls[0]))] == []


def _host(url: str) -> str:
    """Empty for what a page makes itself, such as data: and blob: addresses."""
    return urlsplit(url).netloc


@pytest.fixture
def bench(new_page, server):
    """The Train page of the shared server in a new tab, before any run, with the quickest one."""
    train = TrainPage(new_page())
    train.page.goto(server.url + QUICK)
    train.wait_for("idle")
    return train
