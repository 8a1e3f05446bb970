"""The files of a chart are named with the page, and nothing else is changed."""

import asyncio
from pathlib import Path

import pytest
import streamlit

from early_modules import EarlyModules, chart_modules

_SCRIPTS = Path(streamlit.__file__).parent / "static" / "static" / "js"


def _answer(kind: str, *, scope: str = "http", modules=("a.js", "b.js")) -> list[dict]:
    """What the middleware sends for an answer of this content type."""

    async def application(_scope, _receive, send):
        headers = [(b"content-type", kind.encode()), (b"x", b"y")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"text"})

    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(EarlyModules(application, modules)({"type": scope}, None, send))
    return sent


def test_a_page_names_the_files_and_keeps_all_else():
    start, body = _answer("text/html; charset=utf-8")
    expected = ", ".join(
        f"<./static/js/{name}>; rel=modulepreload; crossorigin; fetchpriority=low"
        for name in ("a.js", "b.js")
    )
    assert start["headers"][2:] == [(b"link", expected.encode())]
    assert start["headers"][:2] == [(b"content-type", b"text/html; charset=utf-8"), (b"x", b"y")]
    assert start["status"] == 200
    assert body == {"type": "http.response.body", "body": b"text"}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("text/javascript", {}),
        ("text/html", {"scope": "websocket"}),
        ("text/html", {"modules": ()}),
    ],
)
def test_other_answers_stay_as_they_are(kind, options):
    start, _ = _answer(kind, **options)
    assert len(start["headers"]) == 2


def test_the_files_are_those_of_a_chart_and_not_the_pages_own():
    modules = chart_modules()
    assert any("VegaLite" in name for name in modules)
    assert all((_SCRIPTS / name).is_file() for name in modules)
    page = (_SCRIPTS.parents[1] / "index.html").read_text()
    assert not [name for name in modules if name in page]
    # Proxies have room for all headers together: 4 kilobytes where nginx is left as it comes.
    assert sum(len(name) + 75 for name in modules) < 3_500


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
    assert chart_modules(tmp_path) == ("ArrowVegaLiteChart.3.js", "vega-4.js")


def test_another_front_end_is_left_to_itself(tmp_path):
    assert chart_modules(tmp_path) == ()
