"""Every page draws without an error."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

_PAGES = sorted((Path(__file__).resolve().parents[2] / "pages").glob("*.py"))


@pytest.mark.parametrize("path", _PAGES, ids=lambda path: path.stem)
def test_page(path):
    app = AppTest.from_file(path, default_timeout=60)
    # Alone, as here, a page would wait for app.py to draw the shell around it.
    app.session_state["in_shell"] = True
    app.run()
    assert not app.exception
    assert not app.error
    assert [title.value for title in app.title] == [path.stem.capitalize()]
