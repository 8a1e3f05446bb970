"""The app below a path of a server, behind a proxy that cuts the connections of pages."""

import selectors
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.server import AppServer
from tests.e2e.train_page import QUICK, TrainPage, go_to

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_TICK = 0.2


class CuttingProxy:
    """Hands bytes on to a port of this machine; `cut` ends the connections of all open pages."""

    def __init__(self, port: int):
        self._port, self._ended = port, threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_TICK)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> int:
        """Return how many there were."""
        cut, self._sockets = self._sockets, []
        for each in cut:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(cut)

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            with suppress(TimeoutError):
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._hand_on, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _hand_on(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._port))
        with client, server, selectors.DefaultSelector() as either:
            either.register(client, selectors.EVENT_READ, server)
            either.register(server, selectors.EVENT_READ, client)
            with suppress(OSError):
                while not self._ended.is_set():
                    for key, _ in either.select(_TICK):
                        if not (part := key.fileobj.recv(65536)):
                            return
                        if key.fileobj is client and b"upgrade: websocket" in part.lower():
                            self._sockets.append(client)
                        key.data.sendall(part)


@pytest.fixture
def proxied(tmp_path):
    """The address of the app, and its proxy."""
    server = AppServer(tmp_path / "log", {"STREAMLIT_SERVER_BASE_URL_PATH": "a/bench"})
    server.start()
    proxy = CuttingProxy(urlsplit(server.url).port)
    yield f"http://127.0.0.1:{proxy.port}/a/bench", proxy
    proxy.close()
    server.stop()


def test_a_page_below_a_path_comes_back_with_its_run_after_a_cut(proxied, new_page):
    address, proxy = proxied
    train = TrainPage(new_page())
    train.page.goto(f"{address}{QUICK}&steps=40", wait_until="commit")
    train.wait_for("idle")
    train.press("start")
    assert train.wait_for("done").steps == 40
    assert proxy.cut() == 1
    # The session is the same one.
    go_to(train.page, "Library")
    expect(train.page.get_by_test_id("stMain")).to_contain_text("1 run")
    assert urlsplit(train.page.url).path == "/a/bench/library"
    go_to(train.page, "Train")
    assert train.wait_for("done").steps == 40
    assert urlsplit(train.page.url).path.rstrip("/") == "/a/bench"
