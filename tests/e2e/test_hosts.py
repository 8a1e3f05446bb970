"""Which requests a server answers, by the names that they ask for. No browser sends these."""

import http.client
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.server import ROOT, AppServer, plain_environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module", params=["", "1"], ids=["desktop", "hosted"])
def server(request, tmp_path_factory):
    # Of an unknown origin Streamlit asks the internet whether it is this machine.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment = {"ATTNLAB_HOSTED": request.param, **nowhere}
    server = AppServer(tmp_path_factory.mktemp("hosts") / "log", environment)
    server.start()
    server.is_hosted = bool(request.param)
    yield server
    server.stop()
    assert server.failures() == []


def _ask(server, path, **headers):
    """Status and headers of the answer, whatever the host it is asked of."""
    port = int(server.url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {name.replace("_", "-"): text.format(port=port) for name, text in headers.items()}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status, {name.lower(): text for name, text in answer.getheaders()}


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST"]
)
def test_this_machine_is_answered(server, host):
    assert _ask(server, "/", Host=host)[0] == 200
    assert _ask(server, "/_stcore/stream", Host=host, Origin=f"http://{host}", **_UPGRADE)[0] == 101


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "localhost.evil.example",
        "evil.example:localhost",
        "localhost@evil.example",
        "192.0.2.1:{port}",
        "127.0.0.1.evil.example:{port}",
    ],
)
def test_other_names_are_answered_by_a_hosted_server_alone(server, host):
    for path, origin, fine in (("/", {}, 200), ("/_stcore/stream", _UPGRADE, 101)):
        status, _ = _ask(server, path, Host=host, Origin=f"http://{host}", **origin)
        assert status == (fine if server.is_hosted else 403), path


@pytest.mark.parametrize("origin", ["http://evil.example", "http://evil.example:{port}", "null"])
def test_pages_of_other_servers_open_no_session(server, origin):
    host = "localhost:{port}"
    assert _ask(server, "/_stcore/stream", Host=host, Origin=origin, **_UPGRADE)[0] == 403


def test_answers_keep_their_type_and_name_no_address(server):
    for path in ("/", "/_stcore/health"):
        _, headers = _ask(server, path, Host="localhost")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_strangers_see_no_metrics(server):
    status, _ = _ask(server, "/_stcore/metrics", Host="localhost")
    assert status == (404 if server.is_hosted else 200)


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
