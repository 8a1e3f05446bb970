"""The files of the first page are named in every page, and nothing else is changed."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit

from first_paint.modules import ON_FIRST_PAGE, EarlyModules, early_modules

_FRONT_END = Path(streamlit.__file__).parent / "static"
_SCRIPTS = _FRONT_END / "static" / "js"
_PAGE = (b"<html><head><title>t</title></he", b"ad><body></head></body></html>")


def _run(coroutine: Coroutine) -> None:
    # In a thread of its own: where a browser's tests run too, this one has a loop already.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()


def _answer(
    *parts: bytes,
    kind: str = "text/html; charset=utf-8",
    status: int = 200,
    scope: str = "http",
    modules: tuple[str, ...] = ("a.js", "b.js"),
    more: tuple[tuple[bytes, bytes], ...] = (),
) -> tuple[list[dict], list[dict]]:
    """What an application answers, in parts, and what the middleware makes of it."""
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(b"".join(parts))).encode()),
        *more,
    ]
    messages = [{"type": "http.response.start", "status": status, "headers": headers}]
    messages += [
        {"type": "http.response.body", "body": part, "more_body": part is not parts[-1]}
        for part in parts
    ]
    sent = []

    async def application(_scope, _receive, send):
        for message in messages:
            await send(message)

    async def send(message):
        sent.append(message)

    request = {"type": scope, "path": "/", "headers": []}
    _run(EarlyModules(application, modules)(request, None, send))
    return messages, sent


def test_a_page_names_the_files_in_its_head_and_keeps_all_else():
    (before, *_), (start, body) = _answer(*_PAGE, more=((b"x", b"y"), (b"etag", b"of the file")))
    first, last = b"".join(_PAGE).split(b"</head>", 1)
    links = body["body"].removeprefix(first).removesuffix(b"</head>" + last)
    assert links.count(b"<link ") == 2
    assert links.count(b'rel="modulepreload" crossorigin fetchpriority="low"') == 2
    assert b'href="./static/js/a.js"' in links
    assert b'href="./static/js/b.js"' in links
    told = dict(start["headers"])
    assert told.pop(b"content-length") == str(len(body["body"])).encode()
    kept = dict(before["headers"])
    del kept[b"content-length"], kept[b"etag"]
    assert told == kept
    assert start["status"] == 200
    assert not body.get("more_body", False)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "text/javascript"},
        {"scope": "websocket"},
        {"status": 206},
        {"more": ((b"content-encoding", b"gzip"),)},
    ],
)
def test_other_answers_stay_as_they_are(options):
    messages, sent = _answer(*_PAGE, **options)
    assert sent == messages


@pytest.mark.parametrize(
    ("parts", "options"), [((b"<p>no head</p>",), {}), (_PAGE, {"modules": ()})]
)
def test_a_page_without_a_head_or_without_files_keeps_its_text(parts, options):
    messages, sent = _answer(*parts, **options)
    assert sent[0] == messages[0]
    assert sent[1]["body"] == b"".join(parts)


def test_an_answer_without_a_text_does_not_tell_the_length_of_another():
    _, (start, body) = _answer(b"")
    assert body["body"] == b""
    assert b"content-length" not in dict(start["headers"])


@pytest.mark.parametrize(
    ("path", "accept", "is_plain"),
    [
        ("/softmax_scaling", b"text/html,*/*", True),
        ("/static/js/a.js", b"*/*", False),
        ("/media/losses.csv", b"text/html,*/*", False),
    ],
)
def test_pages_alone_are_asked_for_uncompressed(path, accept, is_plain):
    asked = []

    async def application(scope, _receive, _send):
        asked.append(scope)

    rest = ((b"accept", accept), (b"host", b"x"))
    request = {"type": "http", "path": path, "headers": [*rest, (b"accept-encoding", b"gzip")]}
    _run(EarlyModules(application, ())(request, None, None))
    (passed,) = asked
    assert passed["path"] == path
    assert set(rest) <= set(passed["headers"])
    assert ((b"accept-encoding", b"gzip") not in passed["headers"]) == is_plain


def test_the_files_are_those_of_the_first_page_and_not_the_pages_own():
    modules = early_modules()
    assert len(modules) == len(set(modules))
    assert all((_SCRIPTS / name).is_file() for name in modules)
    page = (_FRONT_END / "index.html").read_text()
    assert not [name for name in modules if name in page]


@pytest.mark.parametrize("kind", ON_FIRST_PAGE)
def test_streamlit_still_calls_its_components_so(kind):
    assert [name for name in early_modules() if name.startswith(f"{kind}.")]


def test_imports_are_followed_in_circles_and_into_files_that_are_not_there(tmp_path):
    scripts = tmp_path / "static" / "js"
    scripts.mkdir(parents=True)
    (tmp_path / "index.html").write_text('<script src="./static/js/index.1.js"></script>')
    (scripts / "index.1.js").write_text('import{a}from"./shared.2.js";')
    (scripts / "shared.2.js").write_text("")
    (scripts / "ArrowVegaLiteChart.3.js").write_text(
        'import"./shared.2.js";import{b as c}from"./vega-4.js";import{d}from"./gone.js";'
    )
    (scripts / "vega-4.js").write_text("import{e}from'./ArrowVegaLiteChart.3.js';")
    (scripts / "Slider.5.js").write_text('import"./shared.2.js";')
    expected = ("ArrowVegaLiteChart.3.js", "Slider.5.js", "vega-4.js")
    assert early_modules(tmp_path) == expected


def test_another_front_end_is_left_to_itself(tmp_path):
    assert early_modules(tmp_path) == ()
