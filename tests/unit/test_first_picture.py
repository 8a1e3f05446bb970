"""The picture that stands for the example until the engine is there."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnlab.ui.example import picture_of, read_example
from first_paint import picture

_ROOT = Path(__file__).parents[2]
_STORED = json.loads(picture.PICTURE_FILE.read_text(encoding="utf-8"))
_NUMBER = re.compile(r"-?\d+\.?\d*")
# Another release of the renderer may set a letter or round a line otherwise.
_DOTS = 1.0
_REMEDY = "The chart of the example has changed. Run: python tools/example.py --picture"


def _marks(svg: str) -> list[tuple[tuple[str | None, ...], list[float]]]:
    """The look of every path, and its numbers."""
    paths = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
    looks = ("fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "transform")
    return [
        (tuple(map(path.get, looks)), [float(n) for n in _NUMBER.findall(path.get("d", ""))])
        for path in paths
    ]


def _texts(svg: str) -> list[tuple[str, str | None]]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [("".join(text.itertext()), text.get("fill")) for text in texts]


@pytest.fixture(scope="module")
def made():
    return picture_of(read_example())


def test_what_is_said_of_it_is_what_holds(made):
    for name in ("about", "alt"):
        assert _STORED[name] == made[name], _REMEDY


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_it_shows_what_the_chart_of_the_example_shows(made, ground):
    assert _texts(_STORED[ground]) == _texts(made[ground]), _REMEDY
    stored, now = _marks(_STORED[ground]), _marks(made[ground])
    assert [look for look, _ in stored] == [look for look, _ in now], _REMEDY
    for (_, path), (_, same) in zip(stored, now, strict=True):
        np.testing.assert_allclose(path, same, atol=_DOTS, err_msg=_REMEDY)


def test_each_ground_has_its_own_colours():
    assert "#12151c" in _STORED["dark"]
    assert "#12151c" not in _STORED["light"]


def test_it_waits_for_no_import():
    # Nothing of the engine, and nothing of what Streamlit imports for a chart or an image.
    program = """
import sys
from first_paint import picture
picture._import_shell = sys.exit
try:
    picture.draw_until_engine_is_here()
except SystemExit:
    pass
print([name for name in ("attnlab", "jax", "numpy", "pandas", "PIL") if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def _page():
    import streamlit as st

    from first_paint import picture

    picture.draw_until_engine_is_here()
    st.write("the page")


@pytest.fixture
def starting(monkeypatch):
    """A server without its engine; whether it is there."""
    here = threading.Event()
    monkeypatch.setattr(picture, "engine_is_here", lambda: here)
    return here


def test_it_is_labelled_as_an_example_and_told_in_words(starting, monkeypatch):
    # As far as it comes while the engine is imported.
    monkeypatch.setattr(picture, "_import_shell", picture.st.stop)
    # To stop a script is no exception of the kind that takes the example away.
    page = AppTest.from_function(_page).run()
    assert "an example" in page.info[0].value
    assert _STORED["about"] in page.info[0].value
    (drawn,) = page.get("html")
    assert f'alt="{_STORED["alt"]}"' in drawn.proto.body
    assert not page.markdown


def test_the_page_follows_by_itself(starting, monkeypatch):
    shell = SimpleNamespace(ensure_shell=picture.st.rerun)
    monkeypatch.setattr(picture, "_import_shell", lambda: shell)
    page = AppTest.from_function(_page).run()
    assert [text.value for text in page.markdown] == ["the page"]
    assert not page.info
    assert not page.get("html")
    assert starting.is_set()


def test_an_engine_that_cannot_be_imported_is_not_announced(starting, monkeypatch):
    def import_shell():
        raise ImportError("no engine")

    monkeypatch.setattr(picture, "_import_shell", import_shell)
    page = AppTest.from_function(_page).run()
    assert len(page.exception) == 1
    assert not page.info
    assert not page.get("html")
    assert not starting.is_set()


def test_with_the_engine_there_it_draws_nothing(starting):
    starting.set()
    page = AppTest.from_function(_page).run()
    assert len(page.main) == 1
