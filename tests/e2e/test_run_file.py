"""A run is saved, opened by somebody else, and goes on; bad files change nothing."""

import pytest
from playwright.sync_api import expect

from tests.e2e.menu import go_to
from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e

_FIGURES = ("test accuracy", "test loss (nats)", "test loss at step 0", "parameters")


def _figures(train: TrainPage) -> dict[str, str]:
    return {name: train.figure(name) for name in _FIGURES}


def _save(train: TrainPage) -> bytes:
    train.open_panel("files")
    with train.page.expect_download() as download:
        train.part("run_save").get_by_role("button").click()
    return download.value.path().read_bytes()


def _load(train: TrainPage, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    train.part("run_file").locator("input[type=file]").set_input_files(file)


@pytest.fixture
def paused(bench):
    """A run of three steps."""
    for step in (1, 2, 3):
        bench.press("step")
        bench.wait_for_step(step)
    bench.wait_for("paused")
    return bench


def test_a_saved_run_goes_on_in_another_session(paused, new_page, server):
    content, figures = _save(paused), _figures(paused)
    other = TrainPage(new_page())
    other.page.goto(server.url + QUICK)
    other.wait_for("idle")
    other.open_panel("files")
    _load(other, "mine.run", content)
    assert other.wait_for("paused") == paused.status()
    assert _figures(other) == figures
    other.press("step")
    assert other.wait_for_step(4).step == 4
    paused.press("step")
    paused.wait_for_step(4)
    paused.wait_for("paused")
    other.wait_for("paused")
    assert _figures(other) == _figures(paused)


def test_a_finished_run_comes_back_finished(bench, new_page, server):
    bench.choose("model", "linear")
    bench.fill("steps", 20)
    bench.press("start")
    done = bench.wait_for("done")
    content, figures = _save(bench), _figures(bench)
    bench.page.reload()
    bench.wait_for("idle")
    bench.open_panel("files")
    _load(bench, "mine.run", content)
    assert bench.wait_for("done") == done
    assert _figures(bench) == figures
    expect(bench.field("model")).to_have_value("linear")
    expect(bench.message("Settings changed")).to_have_count(0)


def test_bad_files_are_named_and_change_nothing(paused):
    content, figures = _save(paused), _figures(paused)
    damaged = bytearray(content)
    damaged[-3] ^= 1
    bad = {
        "cut.run": content[: len(content) // 2],
        "header.run": content[:40],
        "damaged.run": bytes(damaged),
        "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "empty.run": b"",
    }
    for name, data in bad.items():
        _load(paused, name, data)
        expect(paused.message(name)).to_be_visible()
        expect(paused.message(name)).to_contain_text("present run is kept")
        assert paused.status().step == 3
        assert _figures(paused) == figures
    paused.press("step")
    paused.wait_for_step(4)


def test_a_loaded_run_is_inspected_at_its_newest_step(bench, new_page, server):
    bench.choose("model", "linear")
    bench.fill("steps", 20)
    bench.press("start")
    bench.wait_for("done")
    content = _save(bench)
    # A message of Streamlit that is sent once may meet a page that is drawn anew, or not.
    for _ in range(3):
        other = TrainPage(new_page())
        other.page.goto(server.url)
        other.wait_for("idle")
        other.open_panel("files")
        _load(other, "mine.run", content)
        other.wait_for("done")
        go_to(other.page, "Laboratory", "Inspect")
        expect(other.part("chart_depends").locator("svg.marks")).to_be_visible()
        assert other.field("shown_step").get_attribute("aria-valuetext") == "now"
        assert other.status().step == 20
