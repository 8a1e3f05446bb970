"""The documentation site, opened from files."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.unit.documents import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture
def page(browser):
    """A tab of a phone that is offline, with the addresses it asked for and its errors."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, offline=True)
    page = context.new_page()
    page.asked, page.errors = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    context.close()


def test_the_search_finds_names_without_a_server(site, page):
    page.goto(f"{site.as_uri()}/index.html")
    page.locator("label[for=__search]").first.click()
    page.locator("input[name=query]").press_sequentially("model_at")
    page.locator(".md-search-result__item a[href*='runs.html']").first.click()
    expect(page.locator("[id='attnlab.model_at']").first).to_be_attached()
    assert page.errors == []
    assert {address.split(":")[0] for address in page.asked} <= {"file", "data"}


def test_no_command_is_cut_on_a_narrow_screen(site, page):
    for name in ("index", "installing", "hosting"):
        page.goto(f"{site.as_uri()}/{name}.html")
        hidden = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        assert page.locator("pre > code").count() > 0
        assert page.locator("pre > code").evaluate_all(hidden) == 0
