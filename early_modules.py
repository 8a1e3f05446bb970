"""The browser is told of the charts' code with the page, before the page asks for it.

Streamlit's front end comes in some hundred files, and a browser learns which of them draw a chart
when the first chart arrives. Until then its line is idle, and then the first picture waits for
them. Here and not in `attnlab`, whose import takes the engine along, for which no visitor waits.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import streamlit as st

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_FRONT_END = Path(st.__file__).parent / "static"
_CHART = "ArrowVegaLiteChart.*.js"
_IMPORTED = re.compile(r"""(?:from|import)["']\./([\w.-]+\.js)["']""")
_NAMED = re.compile(r"static/js/([\w.-]+\.js)")


class EarlyModules:
    """ASGI middleware: a `Link` header with every HTML page, for `modules` (default: a chart's).

    The files are given as the page itself gives its own, relative to where the app is mounted, and
    come behind those.
    """

    def __init__(self, app: Application, modules: tuple[str, ...] | None = None):
        self._app = app
        links = (
            f"<./static/js/{name}>; rel=modulepreload; crossorigin; fetchpriority=low"
            for name in (chart_modules() if modules is None else modules)
        )
        self._link = ", ".join(links).encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_link(message: Message) -> None:
            if message["type"] == "http.response.start" and self._link:
                headers = list(message.get("headers", ()))
                if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
                    message = {**message, "headers": [*headers, (b"link", self._link)]}
            await send(message)

        await self._app(scope, receive, send_with_link if scope["type"] == "http" else send)


def chart_modules(front_end: Path = _FRONT_END) -> tuple[str, ...]:
    """The files that draw a chart and that the page does not name itself, by following imports.

    None where Streamlit is built in another way: they then come when they are asked for.
    """
    scripts, page = front_end / "static" / "js", front_end / "index.html"
    if not page.is_file():
        return ()
    named = _all_imported(scripts, _NAMED.findall(page.read_text(encoding="utf-8")))
    drawing = _all_imported(scripts, [path.name for path in scripts.glob(_CHART)])
    return tuple(sorted(drawing - named))


def _all_imported(scripts: Path, names: list[str]) -> set[str]:
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found and (scripts / name).is_file():
            found.add(name)
            names += _IMPORTED.findall((scripts / name).read_text(encoding="utf-8"))
    return found
