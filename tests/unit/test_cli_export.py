"""The command `export`: a run becomes a page, and what is no run is refused."""

import shutil
from pathlib import Path

import pytest

FROZEN = Path(__file__).parents[1] / "data" / "frozen"


@pytest.fixture
def library(tmp_path, monkeypatch):
    shutil.copytree(FROZEN / "library", tmp_path / "library")
    monkeypatch.setenv("ATTNLAB_LIBRARY", str(tmp_path / "library"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "name"), [("1", "with a model"), (str(FROZEN / "linear.run"), "")]
)
def test_a_run_is_exported(run, library, tmp_path, named, name):
    page = tmp_path / "film.html"
    status, out, _ = run("export", named, "--html", str(page), "--address", "https://a.org")
    assert (status, out) == (0, "")
    text = page.read_text("utf-8")
    assert '"link": "https://a.org/?v=2' in text
    assert f'"footer": ["{name}"' in text or not name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("99", "--html", "a.html"), "`run` is '99': no such run"),
        (("a.run", "--html", "a.html"), "`run` is 'a.run': not read"),
        (("1", "--html", "no/a.html"), "`html` is 'no/a.html'"),
        (("1", "--html", "a.html", "--address", "javascript:a"), "not a web address"),
    ],
)
def test_what_cannot_be_exported_is_refused(run, library, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, out, err = run("export", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert not (tmp_path / "a.html").exists()
