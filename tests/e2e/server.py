"""The app as its users start it: a Streamlit process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TRACEBACK_ENDING = r"^Traceback .*\n(?:[ \t].*\n)*[ \t]+File .*{file}.*\n(?:    .*\n)*{error}$"
# What Streamlit and Starlette say of themselves, although a request passed through our files.
_THEIR_OWN = [
    re.compile(_TRACEBACK_ENDING.format(file=re.escape(file), error=re.escape(error)), re.MULTILINE)
    for file, error in (
        # Two script threads of one session work on its state, each with a lock of its own, while
        # the earlier of them is being stopped.
        (
            "/streamlit/runtime/state/session_state.py",
            "RuntimeError: dictionary changed size during iteration",
        ),
        # Streamlit closes a socket that is closed.
        (
            "/starlette/websockets.py",
            "starlette.websockets.WebSocketDisconnected: "
            'Cannot call "send" once a close message has been sent.',
        ),
    )
]
_START_SECONDS = 60
_STOP_SECONDS = 10


class AppServer:
    """A server of this app on a free port of this machine, and what it logs.

    `environment` is added to the user's, without what that says about hosting. Python runs
    `command`, by default Streamlit with `script`, in `folder`.
    """

    def __init__(
        self,
        log: Path,
        environment: Mapping[str, str] | None = None,
        script: Path = ROOT / "app.py",
        command: Sequence[str] = (),
        folder: Path = ROOT,
    ):
        self._log = log
        # Streamlit asks the internet whether an unknown origin is this machine.
        nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        self._environment = {**plain_environment(), **nowhere, **(environment or {})}
        self._command = command or ("-m", "streamlit", "run", str(script))
        self._folder = folder
        self._process: subprocess.Popen | None = None
        self.url = ""

    def start(self) -> None:
        """Start it and wait until it answers."""
        port = _free_port()
        base = self._environment.get("STREAMLIT_SERVER_BASE_URL_PATH", "")
        self.url = f"http://127.0.0.1:{port}/{base}".rstrip("/")
        server = {"HEADLESS": "true", "ADDRESS": "127.0.0.1", "PORT": str(port)}
        environment = {f"STREAMLIT_SERVER_{name}": value for name, value in server.items()}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._command],
                cwd=self._folder,
                env=self._environment | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"The server did not start:\n{self.log()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it, by force if it does not listen."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def interrupt(self) -> int:
        """End it as Ctrl-C does; its exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(_STOP_SECONDS)

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._process = None

    def log(self) -> str:
        """All it has said so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def failures(self) -> list[str]:
        """The lines of its log where an exception passed through a file of this project.

        Streamlit also logs a socket that the browser closes before it is open; that is not ours.
        """
        ours = tuple(f'File "{ROOT / part}' for part in ("app.py", "attnlab", "pages"))
        log = self.log()
        for theirs in _THEIR_OWN:
            log = theirs.sub("", log)
        return [line for line in log.splitlines() if line.strip().startswith(ours)]

    def processor_seconds(self) -> float:
        """Processor time that all its threads have used. Linux only."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        # The name in parentheses may hold spaces; user and system time are fields 14 and 15.
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of this machine's memory that it holds. Linux only."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return 1024 * int(line.split()[1])

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def plain_environment() -> dict[str, str]:
    """The user's, without Python's warnings, which would be those of Streamlit too, and hosting."""
    left_out = ("PYTHONWARNINGS", "ATTNLAB_HOSTED", "ATTNLAB_TRAININGS")
    return {name: value for name, value in os.environ.items() if name not in left_out}
