"""Environment variables with values that the app cannot use: one sentence, and no page breaks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnlab.ui.core.server import switch_on_cache

_ROOT = Path(__file__).resolve().parents[2]
_NOBODY = "~nobody-of-this-name/x"


def test_what_no_page_can_do_without_is_said_on_every_page(monkeypatch):
    monkeypatch.setenv("ATTNLAB_TRAININGS", "perhaps")
    app = AppTest.from_file(_ROOT / "app.py", default_timeout=60).run()
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith("`ATTNLAB_TRAININGS` is 'perhaps'")


@pytest.mark.slow
def test_a_server_that_may_be_shared_or_not_does_not_start():
    environment = {**os.environ, "ATTNLAB_HOSTED": "perhaps"}
    command = [sys.executable, "-c", "import app"]
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert (
        done.stderr.decode().splitlines()[-1].startswith("attnlab: `ATTNLAB_HOSTED` is 'perhaps'")
    )


@pytest.mark.slow
def test_without_its_folder_the_library_is_in_memory_and_says_why(monkeypatch):
    monkeypatch.setenv("ATTNLAB_LIBRARY", _NOBODY)
    app = AppTest.from_file(_ROOT / "app.py", default_timeout=60).run()
    assert not app.exception
    assert not app.error
    app.switch_page("pages/library.py").run()
    assert not app.exception
    (line,) = [each.value for each in app.caption if "ATTNLAB_LIBRARY" in each.value]
    assert "this user has no home folder" in line


def test_a_cache_without_its_folder_is_off_and_logged(monkeypatch, caplog):
    monkeypatch.setenv("ATTNLAB_CACHE", _NOBODY)
    assert switch_on_cache() is None
    assert f"`ATTNLAB_CACHE` is '{_NOBODY}'" in caplog.text


@pytest.mark.parametrize("text", ["off", "FALSE", "no", "0"])
def test_a_cache_is_switched_off_by_every_word_for_it(monkeypatch, tmp_path, text):
    monkeypatch.setenv("ATTNLAB_CACHE", text)
    monkeypatch.chdir(tmp_path)
    assert switch_on_cache() is None
    assert not list(tmp_path.iterdir())
