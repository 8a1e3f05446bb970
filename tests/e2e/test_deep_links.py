"""A link to any page works as the first request that a fresh server gets."""

import pytest
from playwright.sync_api import expect

from tests.e2e.server import ROOT
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_GROUPS = ("Laboratory", "Lessons")
_PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
_DEFAULT = "train"


@pytest.mark.parametrize("name", _PAGES)
def test_first_request(name, fresh_server, new_page):
    page = new_page()
    page.goto(f"{fresh_server.url}/{'' if name == _DEFAULT else name}")
    expect(page.get_by_test_id("stTopNavSection")).to_have_text(list(_GROUPS))
    expect(page.get_by_role("heading", level=1)).to_have_text(name.capitalize().replace("_", " "))
    expect(page).to_have_title("attnlab")
    if name == _DEFAULT:
        train = TrainPage(page)
        assert train.wait_for("idle").step == 0
        for key in ("preset", "generator", "length", "model", "d_attn", "seed"):
            expect(train.part(key)).to_be_visible()
