"""The browser is told of the first page's code with the page, before anything is drawn.

Streamlit's front end comes in some three hundred files, and a browser learns which of them draw a
chart or a slider when the first of these arrives. Until then its line is idle, and then the first
picture waits for them.
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

# What the Train page shows before anybody touched it, by the names of Streamlit's components.
ON_FIRST_PAGE = (
    "ArrowVegaLiteChart",
    "loadVegaEmbed",
    "Selectbox",
    "TextInput",
    "TextArea",
    "Slider",
    "NumberInput",
    "Button",
    "Progress",
    "Metric",
    "Html",
)
_FRONT_END = Path(st.__file__).parent / "static"
_IMPORTED = re.compile(r"""(?:from|import)["']\./([\w.-]+\.js)["']""")
_NAMED = re.compile(r"static/js/([\w.-]+\.js)")
_END_OF_HEAD = b"</head>"


class EarlyModules:
    """ASGI middleware: HTML pages name `modules` (default: those of the first page) in their heads.

    The files are given as the page itself gives its own, relative to where the app is mounted, and
    come behind those. Not in a header: proxies have little room there.
    """

    def __init__(self, app: Application, modules: tuple[str, ...] | None = None):
        self._app = app
        links = (
            f'<link rel="modulepreload" crossorigin fetchpriority="low" href="./static/js/{name}">'
            for name in (early_modules() if modules is None else modules)
        )
        self._links = "".join(links).encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        start: Message | None = None
        page = b""

        async def send_with_links(message: Message) -> None:
            nonlocal start, page
            if _begins_page(message):
                start = message
            elif start is None:
                await send(message)
            else:
                page += message.get("body", b"")
                if not message.get("more_body", False):
                    for part in _answer(start, page, self._links):
                        await send(part)

        if scope["type"] == "http":
            await self._app(_for_plain_text(scope), receive, send_with_links)
        else:
            await self._app(scope, receive, send)


def _for_plain_text(scope: Message) -> Message:
    """The request, for a text that is not compressed if it may be one for a page."""
    headers = scope["headers"]
    is_navigation = any(key == b"accept" and b"text/html" in value for key, value in headers)
    # Downloads are navigations too, and large.
    if not is_navigation or "/media/" in scope["path"]:
        return scope
    return _without(scope, b"accept-encoding")


def _begins_page(message: Message) -> bool:
    if message["type"] != "http.response.start" or message["status"] != 200:
        return False
    headers = dict(message.get("headers", ()))
    is_page = headers.get(b"content-type", b"").startswith(b"text/html")
    return is_page and b"content-encoding" not in headers


def _answer(start: Message, page: bytes, links: bytes) -> tuple[Message, Message]:
    page = page.replace(_END_OF_HEAD, links + _END_OF_HEAD, 1)
    # The answer to HEAD has no text, and none of the page's length.
    length = [(b"content-length", str(len(page)).encode())] if page else []
    # By those of Streamlit's file a browser would keep a page that names other files.
    start = _without(start, b"content-length", b"etag", b"last-modified")
    start["headers"] += length
    return start, {"type": "http.response.body", "body": page}


def _without(message: Message, *names: bytes) -> Message:
    headers = [(name, value) for name, value in message["headers"] if name not in names]
    return {**message, "headers": headers}


def early_modules(front_end: Path = _FRONT_END) -> tuple[str, ...]:
    """The files that draw the first page and that the page does not name itself.

    They are found by following imports. None where Streamlit is built in another way: they then
    come when they are asked for.
    """
    scripts, page = front_end / "static" / "js", front_end / "index.html"
    if not page.is_file():
        return ()
    named = _all_imported(scripts, _NAMED.findall(page.read_text(encoding="utf-8")))
    files = [path.name for kind in ON_FIRST_PAGE for path in scripts.glob(f"{kind}.*.js")]
    return tuple(sorted(_all_imported(scripts, files) - named))


def _all_imported(scripts: Path, names: list[str]) -> set[str]:
    """These files and all that they import, in any depth."""
    left, found = list(names), set()
    while left:
        name = left.pop()
        if name not in found and (scripts / name).is_file():
            found.add(name)
            left += _IMPORTED.findall((scripts / name).read_text(encoding="utf-8"))
    return found
