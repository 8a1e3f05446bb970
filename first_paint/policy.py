"""The second wall: a page loads from its own server alone, whatever stands on it.

The first is `attnlab/ui/core/outside.py`, which keeps words from outside from naming what to load.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

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


class OwnServerOnly:
    """ASGI middleware: HTML answers carry `POLICY` as their Content-Security-Policy."""

    def __init__(self, app: Application):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                policy = (b"content-security-policy", POLICY.encode())
                message = {**message, "headers": [*message["headers"], policy]}
            await send(message)

        await self._app(scope, receive, send_with_policy if scope["type"] == "http" else send)


def _is_page(start: Message) -> bool:
    return dict(start["headers"]).get(b"content-type", b"").startswith(b"text/html")
