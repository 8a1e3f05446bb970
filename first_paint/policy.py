"""Whom the server answers, and what its pages may load.

Untrusted text cannot name what to load, by `attnlab/ui/core/outside.py`. Should that fail, the
browser still loads from this server alone.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from first_paint.hosting import hosted

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# Who may frame the page is left open: Spaces of Hugging Face show it in a frame.
POLICY = "; ".join(
    (
        "default-src 'self'",
        # Streamlit's page holds a line of script, and ours the one that completes the address.
        # Streamlit's reader of messages computes with long numbers in WebAssembly; kept from it,
        # it does so in JavaScript, and Firefox reports an error.
        "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
        # Streamlit's styles are made in the browser.
        "style-src 'self' 'unsafe-inline'",
        # Signs in Streamlit's tables.
        "img-src 'self' data:",
        # A size of the signs in formulas.
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


class KnownHostsOnly:
    """ASGI middleware: on a desktop, refuse requests for any host but this machine.

    A website can make its own name point to 127.0.0.1, and its pages would then reach the app as
    if they belonged to it. Hosts that the operator lists in `server.allowedHosts` are checked by
    Streamlit. A hosted server also hides Streamlit's metrics.
    """

    def __init__(self, app: Application):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer: Application = self._app
        if scope["type"] in ("http", "websocket"):
            if not _is_known(Headers(scope=scope).get("host", "")):
                answer = PlainTextResponse(_REFUSAL, status_code=403)
            elif hosted() and scope["path"].endswith("/_stcore/metrics"):
                answer = PlainTextResponse("Not found", status_code=404)
        await answer(scope, receive, send)


def _is_known(host: str) -> bool:
    if hosted() or st.get_option("server.allowedHosts"):
        return True
    name, _, port = host.lower().rpartition(":")
    return host.lower() in _LOCAL or (name in _LOCAL and port.isdecimal())


class OwnServerOnly:
    """ASGI middleware: HTML answers carry `POLICY` as their Content-Security-Policy."""

    def __init__(self, app: Application):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = [(b"content-security-policy", POLICY.encode())]
                added = [*_HEADERS, *(policy if _is_page(message) else [])]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._app(scope, receive, send_with_policy if scope["type"] == "http" else send)


def _is_page(start: Message) -> bool:
    return dict(start["headers"]).get(b"content-type", b"").startswith(b"text/html")
