"""Runs are kept by themselves, found on the page Library, and outlive their server."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.server import AppServer
from tests.e2e.train_page import QUICK, ROW, TrainPage, go_to

pytestmark = pytest.mark.e2e


@pytest.fixture
def server(tmp_path):
    """A server of a user who has a library, which may be killed and started again."""
    server = AppServer(tmp_path / "log", {"ATTNLAB_LIBRARY": str(tmp_path / "library")})
    server.start()
    yield server
    server.stop()
    assert server.failures() == [], server.log()


def _train_page(page: Page, server: AppServer) -> TrainPage:
    train = TrainPage(page)
    page.goto(server.url + QUICK)
    train.wait_for("idle")
    return train


def _tick(train: TrainPage, row: int) -> None:
    """Tick a row of the table by its place from 0."""
    train.settle()
    grid = train.page.locator("[class*=st-key-library_table_] canvas").first
    box = grid.bounding_box()
    train.page.mouse.click(box["x"] + 16, box["y"] + (row + 1.5) * ROW)


def _click(train: TrainPage, key: str) -> None:
    train.part(key).get_by_role("button").first.click()


def test_a_run_outlives_its_server_and_is_named_deleted_opened_and_exported(new_page, server):
    train = _train_page(new_page(), server)
    train.start_long_run()
    train.press("pause")
    paused = train.wait_for("paused")
    train.page.close()
    server.kill()
    server.start()
    train = _train_page(new_page(), server)
    page, offer = train.page, train.part("continue")
    expect(offer).to_contain_text(f"step {paused.step:,} of {paused.steps:,}")
    expect(offer).to_contain_text(re.compile("just now|ago"))
    _click(train, "continue_run")
    train.wait_for_step(paused.step + 1)
    expect(offer).to_have_count(0)
    expect(train.field("steps")).to_have_value(str(paused.steps))
    train.press("pause")
    paused = train.wait_for("paused")
    loss = train.figure("test loss (nats)")
    # It is the same run, and has one row.
    go_to(page, "Library")
    expect(page.get_by_text("Run 1 of 1.")).to_be_visible()
    _tick(train, 0)
    name = train.part("library_details").get_by_label("name")
    name.fill("*the* first")
    name.press("Enter")
    expect(train.part("library_actions")).to_contain_text("*the* first")
    _click(train, "library_delete")
    expect(page.get_by_text("There are no runs yet.")).to_be_visible()
    _click(train, "library_undo")
    expect(page.get_by_text("Run 1 of 1.")).to_be_visible()
    # Another visitor opens it.
    other = TrainPage(new_page())
    other.page.goto(server.url + "/library?v=2")
    expect(other.page.get_by_text("Run 1 of 1.")).to_be_visible()
    _tick(other, 0)
    expect(other.part("library_actions")).to_contain_text("*the* first")
    _click(other, "library_open_train")
    assert other.wait_for("paused") == paused
    assert other.figure("test loss (nats)") == loss
    page = other.page
    go_to(page, "Library")
    expect(page.get_by_text("Run 1 of 1.")).to_be_visible()
    # The library travels as a file.
    panel = other.open_panel("library_travel")
    with page.expect_download() as download:
        _click(other, "library_export_all")
    content = download.value.path().read_bytes()
    for file_name, data, message in (
        ("mine.runs", content, "1 already here"),
        ("cut.runs", content[:-5], "damaged or cut off"),
    ):
        file = {"name": file_name, "mimeType": "application/octet-stream", "buffer": data}
        panel.locator("input[type=file]").set_input_files(file)
        expect(other.message(message)).to_be_visible()
    expect(page.get_by_text("Run 1 of 1.")).to_be_visible()
