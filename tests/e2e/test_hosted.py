"""A server that strangers share: they wait their turn, within caps, and leave nothing behind."""

import http.client
import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.server import ROOT, AppServer, plain_environment
from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e

_LONG = 20_000
# Milliseconds that a page of many figures may take on a busy machine.
_PATIENCE = 180_000
# Sends a file as Streamlit's own page does, past the size that the page itself would refuse.
_SEND = """async ([url, headers, megabytes]) => {
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(megabytes * 1024 * 1024)]), "large.run");
    delete headers["content-type"];
    const answer = await fetch(url, { method: "PUT", headers, body: form, credentials: "include" });
    return answer.status;
}"""
_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
_BROKEN = """
from streamlit import App

from attnlab.ui.core.web import show_error

app = App({script!r}, on_script_error=show_error)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where a program that keeps something between its starts would keep it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def hosted_server(tmp_path_factory, home):
    environment = {
        "ATTNLAB_HOSTED": "1",
        "ATTNLAB_TRAININGS": "1",
        "STREAMLIT_SERVER_MAX_UPLOAD_SIZE": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR"), str(home)),
    }
    server = AppServer(tmp_path_factory.mktemp("hosted") / "log", environment)
    server.start()
    yield server
    server.stop()
    assert server.failures() == [], server.log()


@pytest.fixture
def visitor(new_page, hosted_server):
    """Opens the Train page for another visitor, with the settings of a long run."""

    def open_train():
        train = TrainPage(new_page())
        # Not until all is loaded, which takes long while others train: until it can be used.
        train.page.goto(f"{hosted_server.url}{QUICK}&steps={_LONG}", wait_until="commit")
        train.wait_for("idle")
        return train

    return open_train


def _start(train):
    train.press("start")
    train.wait_for_step(1)


def test_all_long_work_stands_in_one_queue(visitor, new_page, hosted_server):
    # Before anything trains, which would make the page late.
    sweep = new_page()
    sweep.goto(f"{hosted_server.url}/softmax_scaling?sweep_seeds=3", wait_until="commit")
    start = sweep.locator(".st-key-sweep_start button")
    status = sweep.locator(".st-key-sweep_status")
    expect(start).to_be_enabled(timeout=_PATIENCE)
    first, second = visitor(), visitor()
    # Slow, so that it outlasts the test and the others' pages have the machine.
    for train in (first, second):
        train.choose("run_speed", "10 steps/s")
    _start(first)
    start.click()
    expect(status).to_contain_text("waiting: place 1 in the queue")
    second.press("start")
    waiting = "waiting: place 2 in the queue, 1 computation at a time"
    expect(second.part("run_status")).to_contain_text(waiting)
    # Who waits can pause.
    second.press("pause")
    second.wait_for("paused")
    expect(second.part("what_happened")).to_contain_text("Paused before the first step")
    # Who closes the tab gives the place back.
    first.page.close()
    expect(status).to_contain_text("running")
    second.press("start")
    expect(second.part("run_status")).to_contain_text("waiting: place 1 in the queue")
    sweep.close()
    second.wait_for_step(1)


def test_values_and_files_above_their_caps_are_refused_and_nothing_is_left_on_the_disk(
    visitor, home
):
    train, sent = visitor(), []
    train.fill("steps", 20_001)
    message = train.message("steps is 20001")
    expect(message).to_contain_text("more than the cap of 20,000 on this server")
    expect(message).to_contain_text("or run attnlab on your own machine")
    expect(train.button("start")).to_be_disabled()
    train.fill("steps", 50)
    expect(message).to_have_count(0)
    train.page.on("request", lambda r: sent.append(r) if "upload_file" in r.url else None)
    train.open_panel("files")

    def load(size):
        file = {"name": f"{size}.run", "mimeType": "", "buffer": bytes(size)}
        train.part("run_file").locator("input[type=file]").set_input_files(file)

    # The page does not even send it.
    load(2 * 1024 * 1024 + 1)
    expect(train.part("run_file")).to_contain_text(re.compile("2.*MB or smaller"))
    assert sent == []
    # A small one is sent, read and refused by its content.
    load(100)
    expect(train.message("'100.run': This is not a run file")).to_be_visible()
    upload = next(request for request in sent if request.method == "PUT")
    headers = {"X-Xsrftoken": upload.headers.get("x-xsrftoken", "")}
    for megabytes, status in ((1, 204), (3, 413), (30, 413)):
        assert train.page.evaluate(_SEND, [upload.url, headers, megabytes]) == status
    assert train.status().state == "idle"
    train.press("start")
    train.wait_for("done")
    assert [path.relative_to(home) for path in home.rglob("*")] == []


def test_an_unforeseen_error_is_explained_without_a_traceback(new_page, tmp_path):
    script, served = tmp_path / "broken.py", tmp_path / "served.py"
    script.write_text("import streamlit as st\nst.title('Here')\nraise RuntimeError('a secret')\n")
    served.write_text(_BROKEN.format(script=str(script)))
    server = AppServer(tmp_path / "log", {"PYTHONPATH": str(ROOT)}, served)
    server.start()
    try:
        page = new_page()
        page.goto(server.url)
        expect(page.get_by_test_id("stAlert")).to_contain_text("Your run is kept")
        expect(page.get_by_role("heading", name="Here")).to_be_visible()
        expect(page.get_by_text(re.compile("secret|Traceback|RuntimeError"))).to_have_count(0)
        assert "RuntimeError: a secret" in server.log()
    finally:
        server.stop()


def _ask(server, path, **headers):
    """Status and headers of the answer, whatever the host it is asked of."""
    port = int(server.url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {name.replace("_", "-"): text.format(port=port) for name, text in headers.items()}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status, {name.lower(): text for name, text in answer.getheaders()}


@pytest.mark.parametrize("kind", ["desktop", "hosted"])
def test_which_names_and_origins_are_answered(kind, request):
    """A desktop answers the names of its own machine, a hosted server all."""
    server = request.getfixturevalue("shared_server" if kind == "desktop" else "hosted_server")
    for host in ("localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST"):
        own = {"Host": host, "Origin": f"http://{host}"}
        assert _ask(server, "/", Host=host)[0] == 200, host
        assert _ask(server, "/_stcore/stream", **own, **_UPGRADE)[0] == 101, host
    for host in (
        "evil.example:{port}", "localhost.evil.example", "evil.example:localhost",
        "localhost@evil.example", "192.0.2.1:{port}", "127.0.0.1.evil.example:{port}",
    ):  # fmt: skip
        for path, headers, fine in (("/", {}, 200), ("/_stcore/stream", _UPGRADE, 101)):
            status, _ = _ask(server, path, Host=host, Origin=f"http://{host}", **headers)
            assert status == (fine if kind == "hosted" else 403), (host, path)
    # Pages of other servers open no session.
    for origin in (
        "http://evil.example", "http://evil.example:{port}", "null", "http://localhost:9",
        "http://127.0.0.1:{port}", "http://[", "",
    ):  # fmt: skip
        own = {"Host": "localhost:{port}", "Origin": origin}
        assert _ask(server, "/_stcore/stream", **own, **_UPGRADE)[0] == 403, origin
    for path in ("/", "/_stcore/health"):
        _, headers = _ask(server, path, Host="localhost")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    with urllib.request.urlopen(f"{server.url}/_stcore/host-config", timeout=30) as answer:
        assert json.load(answer)["allowedOrigins"] == []
    status, _ = _ask(server, "/_stcore/metrics", Host="localhost")
    assert status == (404 if kind == "hosted" else 200)


def test_a_desktop_is_reached_by_itself_alone(tmp_path):
    # As a user starts it. `AppServer` names an address.
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--server.port", "0"], cwd=ROOT, env=plain_environment(), stdout=log,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            addresses = _listening(process.pid)
        finally:
            process.kill()
            process.wait()
    assert addresses
    assert all(address in ("0100007F", "00000000000000000000000001000000") for address in addresses)


def _listening(pid: int) -> set[str]:
    """The addresses at which a process listens, as Linux writes them; empty after a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        links = []
        for each in Path(f"/proc/{pid}/fd").iterdir():
            try:
                links.append(str(each.readlink()))
            except FileNotFoundError:
                continue
        sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
        found = set()
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                # 0A is LISTEN; the socket's number is the sixth of the rest.
                if state == "0A" and rest[5] in sockets:
                    found.add(local.partition(":")[0])
        if found:
            return found
        time.sleep(0.1)
    return set()
