"""The picture that stands for the example until the engine is there."""

import json
import re
import subprocess
import sys
from pathlib import Path
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


def _paths(svg: str) -> list[list[float]]:
    paths = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
    return [[float(number) for number in _NUMBER.findall(path.get("d", ""))] for path in paths]


def _texts(svg: str) -> list[str]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


@pytest.fixture(scope="module")
def made():
    return picture_of(read_example())


def test_what_is_said_of_it_is_what_holds(made):
    assert {name: _STORED[name] for name in ("about", "alt")} == {
        name: made[name] for name in ("about", "alt")
    }


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_it_shows_what_the_chart_of_the_example_shows(made, ground):
    assert _texts(_STORED[ground]) == _texts(made[ground])
    stored, now = _paths(_STORED[ground]), _paths(made[ground])
    assert len(stored) == len(now)
    for path, same in zip(stored, now, strict=True):
        np.testing.assert_allclose(path, same, atol=_DOTS)


def test_each_ground_has_its_own_colours():
    assert "#12151c" in _STORED["dark"]
    assert "#12151c" not in _STORED["light"]


def test_it_waits_for_no_import():
    # Nothing of the engine, and nothing of what Streamlit imports for a chart or an image.
    program = """
import sys
from first_paint import picture
picture._draw_example()
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


def test_it_is_labelled_as_an_example_and_told_in_words(monkeypatch):
    monkeypatch.setattr(picture, "_engine_is_here", lambda: False)
    # As far as it comes while the engine is imported.
    monkeypatch.setattr(picture.importlib, "import_module", lambda name: picture.st.stop())
    page = AppTest.from_function(_page).run()
    assert "an example" in page.info[0].value
    assert _STORED["about"] in page.info[0].value
    (drawn,) = page.get("html")
    assert f'alt="{_STORED["alt"]}"' in drawn.proto.body
    assert not page.markdown


def test_the_page_follows_by_itself(monkeypatch):
    answers = iter([False])
    monkeypatch.setattr(picture, "_engine_is_here", lambda: next(answers, True))
    page = AppTest.from_function(_page).run()
    assert [text.value for text in page.markdown] == ["the page"]
    assert not page.info
    assert not page.get("html")


def test_with_the_engine_there_it_draws_nothing():
    import attnlab.ui.shell  # noqa: F401

    page = AppTest.from_function(_page).run()
    assert len(page.main) == 1
