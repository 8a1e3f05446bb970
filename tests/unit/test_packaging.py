"""What package indexes and readers elsewhere see of the project."""

import importlib.util
import re

import pytest

import attnlab
from tests.unit.documents import ROOT


@pytest.fixture
def metadata(monkeypatch):
    """Makes the metadata with these settings."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def make(**settings):
        for name in ("REPOSITORY", "SITE"):
            monkeypatch.delenv(f"ATTNLAB_{name}_URL", raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(f"ATTNLAB_{name}_URL", value)
        made = {}
        module.BuiltMetadata(str(ROOT), {}).update(made)
        return made

    return make


def targets(text):
    return re.findall(r"\]\(([^)\s]+)\)", text)


def test_without_settings_the_readme_is_as_it_is_and_there_are_no_addresses(metadata):
    made = metadata()
    assert made["readme"]["text"] == (ROOT / "README.md").read_text("utf-8")
    assert made["urls"] == {}


def test_with_the_address_of_the_repository_no_link_of_the_readme_is_relative(metadata):
    made = metadata(REPOSITORY="https://example.org/me/attnlab/", SITE="https://example.org/docs")
    readme, base = made["readme"]["text"], "https://example.org/me/attnlab"
    assert f"]({base}/raw/HEAD/docs/film.webp)" in readme
    assert f"]({base}/blob/HEAD/docs/tour.md)" in readme
    relative = targets((ROOT / "README.md").read_text("utf-8"))
    assert [address.split("/HEAD/")[1] for address in targets(readme)] == relative
    assert all((ROOT / name).is_file() for name in relative)
    assert made["urls"]["Documentation"] == "https://example.org/docs"
    assert made["urls"]["Source"] == base
    assert f"]({base}/blob/HEAD/" not in metadata()["readme"]["text"]


def test_the_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {attnlab.__version__}\n" in citation
