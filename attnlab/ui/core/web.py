"""The web server around the pages: who may reach it, what pages may load, errors and logs.

`outside.py` keeps untrusted text from loading anything into a page. As a second barrier, the
headers set here make browsers load from this server only.
"""

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnlab.ui.core.outside import FAULT, draw_error
from attnlab.ui.core.server import hosted
from attnlab.ui.core.session import session

# Limits of a log message: an error may repeat up to a megabyte that the browser sent.
_MOST_LETTERS, _MOST_LINES = 1_000, 200

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# Framing stays allowed: Hugging Face Spaces show the page in a frame.
POLICY = "; ".join(
    (
        "default-src 'self'",
        # Streamlit's page and the code that completes the address are inline scripts.
        # Streamlit decodes long numbers with WebAssembly; without it, it uses JavaScript, and
        # Firefox reports an error.
        # A component's script, here that of films, is a module at an address of `blob:`.
        "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
        # Streamlit creates styles in the browser.
        "style-src 'self' 'unsafe-inline'",
        # Icons in Streamlit's tables.
        "img-src 'self' data:",
        # A font of KaTeX, for formulas.
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)


_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_REFUSAL = (
    "This server answers requests for localhost only. Start it with ATTNLAB_HOSTED=1 to share it, "
    "or name its hosts by --server.allowedHosts."
)
_OTHER_PAGE = (
    "This server answers its own pages only. Name the origins of others by "
    "--server.corsAllowedOrigins."
)


class KnownHostsOnly:
    """ASGI middleware: refuse pages of other servers and, on a desktop, any host but this machine.

    A website can make its own host name point to 127.0.0.1, and its pages could then use the app as
    if they belonged to it. Streamlit checks the hosts that the operator lists in
    `server.allowedHosts`. It lets pages of any port of this machine connect, so that the port is
    compared here. A hosted server also hides Streamlit's metrics.
    """

    def __init__(self, app: Application):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer: Application = self._app
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            if not _is_known(host):
                answer = PlainTextResponse(_REFUSAL, status_code=403)
            elif not _is_own(headers.get("origin"), host):
                answer = PlainTextResponse(_OTHER_PAGE, status_code=403)
            elif hosted() and scope["path"].endswith("/_stcore/metrics"):
                answer = PlainTextResponse("Not found", status_code=404)
        await answer(scope, receive, send)


def _is_known(host: str) -> bool:
    if hosted() or st.get_option("server.allowedHosts"):
        return True
    name, _, port = host.lower().rpartition(":")
    return host.lower() in _LOCAL or (name in _LOCAL and port.isdecimal())


def _is_own(origin: str | None, host: str) -> bool:
    if not st.get_option("server.enableCORS") or st.get_option("server.corsAllowedOrigins"):
        # Streamlit checks the origins that the operator lists.
        return True
    return origin is None or origin.partition("://")[2] == host


class OwnServerOnly:
    """ASGI middleware that adds `POLICY` to HTML responses as their Content-Security-Policy."""

    def __init__(self, app: Application):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = list(_HEADERS)
                if dict(message["headers"]).get(b"content-type", b"").startswith(b"text/html"):
                    added.append((b"content-security-policy", POLICY.encode()))
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._app(scope, receive, send_with_policy if scope["type"] == "http" else send)


def shorten_log() -> None:
    """Cut log messages to 1,000 characters, and tracebacks to 200 such lines.

    An error of a page is logged once a session and place: a script can send many bad values.
    """
    make = logging.getLogRecordFactory()

    def make_short(*arguments, **rest) -> logging.LogRecord:
        record = make(*arguments, **rest)
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            # Handlers report messages whose arguments do not match.
            return record
        if len(message) > _MOST_LETTERS:
            record.msg, record.args = _cut(message), ()
        if record.exc_info and record.exc_info[1] is not None:
            # Handlers write this text if it is set.
            record.exc_text = _short_traceback(record.exc_info[1])
        return record

    logging.setLogRecordFactory(make_short)
    logging.getLogger("streamlit.error_util").addFilter(_is_new)


def _is_new(record: logging.LogRecord) -> bool:
    """Return whether the session logs an exception of this class and line for the first time."""
    if not record.exc_info or record.exc_info[1] is None or get_script_run_ctx(True) is None:
        return True
    frame = traceback.extract_tb(record.exc_info[2])[-1]
    kind = record.exc_info[0], frame.filename, frame.lineno
    logged: set[Any] = session().kept.setdefault("logged_errors", set())
    is_new = kind not in logged
    logged.add(kind)
    return is_new


def _short_traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error)).rstrip("\n")
    lines = [_cut(line) for line in text.split("\n")]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


def show_error(error: Exception) -> bool:
    """Show a page error as one fixed message, without details.

    For `on_script_error` of `streamlit.App`, where returning True means that the page shows the
    error. Streamlit has already written the traceback to the server's log.
    """
    draw_error(
        "An error occurred while this page was drawn, and the rest of it is missing. Your run is "
        f"kept. Change the last setting back or reload the page. {FAULT}"
    )
    return True


def page_address(page: str, query: Mapping[str, str] | None = None, fragment: str = "") -> str:
    """Return the address of a page of this server, also below a path; "" if it is not known."""
    here = urlsplit(st.context.url or "")
    if not here.netloc:
        return ""
    path = "/".join(filter(None, (st.get_option("server.baseUrlPath").strip("/"), page)))
    return here._replace(path=path, query=urlencode(query or {}), fragment=fragment).geturl()
