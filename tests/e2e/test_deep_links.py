"""A link to any page works, also as the first request that a fresh server gets."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.server import AppServer
from tests.e2e.train_page import TrainPage
from tests.pages import PAGES, title_of

pytestmark = pytest.mark.e2e

_GROUPS = ("Laboratory", "Lessons", "Results")
_DEFAULT = "train"


# Settings in the address of a page, and what they make it show.
_SETTINGS = {
    "step_by_step?step_example=one-hot+keys&step_stage=scores&step_causal=true&step_at_query=3": (
        "scores 4 × 4",
        "A dictionary.",
    ),
    "step_by_step?step_inputs=1+1+0+0%0A0+0+2+0&step_stage=output": ("output 2 × 3",),
    "positional_encodings?pe_length=50&pe_width=5&pe_a=scalar&pe_b=none&pe_view=heatmap": (
        "One extra feature",
        "every order of the days looks the same",
    ),
    "positional_encodings?pe_a_base=37&pe_length=9999": (
        "asks for pe_length = '9999'",
        "asks for pe_a_base = '37'",
    ),
    "step_by_step?step_w_key=1+x&step_stage=nonsense": (
        "w_key row 1, column 2 is 'x'",
        "asks for step_stage = 'nonsense'",
    ),
}


# Streamlit has two kinds of addresses: of the app, and of a file of `pages/`.
@pytest.mark.parametrize("name", ["train", "inspect"])
def test_first_request(name, fresh_server, new_page):
    _assert_whole(new_page(), fresh_server, name)


def test_settings_of_a_first_request(fresh_server, new_page):
    _assert_settings(new_page(), fresh_server, next(iter(_SETTINGS)))


def test_every_page(server, new_page):
    page = new_page()
    for name in PAGES:
        _assert_whole(page, server, name)


def test_settings(server, new_page):
    page = new_page()
    for link in _SETTINGS:
        _assert_settings(page, server, link)


def _assert_whole(page: Page, server: AppServer, name: str) -> None:
    page.goto(f"{server.url}/{'' if name == _DEFAULT else name}")
    expect(page.get_by_test_id("stTopNavSection")).to_have_text(list(_GROUPS))
    expect(page.get_by_role("heading", level=1)).to_have_text(title_of(name))
    expect(page).to_have_title("attnlab")
    if name == _DEFAULT:
        train = TrainPage(page)
        assert train.wait_for("idle").step == 0
        for key in ("preset", "generator", "length", "model", "transformer_d_attn", "seed"):
            expect(train.part(key)).to_be_visible()


def _assert_settings(page: Page, server: AppServer, link: str) -> None:
    page.goto(f"{server.url}/{link}")
    expect(page.get_by_test_id("stTopNavSection")).to_have_text(list(_GROUPS))
    for text in _SETTINGS[link]:
        expect(page.get_by_text(text).first).to_be_visible()
    # The whole page is there, to its last part.
    expect(page.get_by_text("In code").last).to_be_visible()
