"""Runs side by side, and runs as files: saved, opened, resumed and exported."""

import csv
import io
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.e2e.train_page import QUICK, TrainPage, wait_for_late_results

pytestmark = pytest.mark.e2e

_FIGURES = ("test accuracy", "test loss (nats)", "test loss at step 0", "parameters")


def _figures(train: TrainPage) -> dict[str, str]:
    return {name: train.figure(name) for name in _FIGURES}


def _take(train: TrainPage, key: str) -> bytes:
    # A file is made at the click, and dropped if the page is drawn before the browser has it.
    wait_for_late_results(train.page)
    with train.page.expect_download() as download:
        train.part(key).get_by_role("button").click()
    return download.value.path().read_bytes()


def _save(train: TrainPage) -> bytes:
    train.open_panel("files")
    return _take(train, "run_save")


def _load(train: TrainPage, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    train.part("run_file").locator("input[type=file]").set_input_files(file)


def test_earlier_runs_are_renamed_pinned_hidden_brought_back_and_deleted(bench):
    chart = bench.film.locator(".legend")
    bench.fill("steps", 60)
    bench.press("start")
    bench.wait_for("done")
    first_loss = bench.figure("test loss (nats)")
    bench.fill("learning_rate", 0.05)
    expect(bench.button("start")).to_contain_text("Train with changes")
    bench.press("start")
    bench.wait_for("running", "compiling")
    bench.wait_for("done")
    expect(chart).to_contain_text("attention")
    bench.open_panel("runs")
    bench.choose_run(0)
    bench.part("run_keep").get_by_role("button").click()
    expect(bench.part("run_keep")).to_contain_text("Unpin")
    heads = bench.part("runs").locator("[role=columnheader]")
    expect(heads.filter(has_text="loss − attention")).to_have_count(1)
    name = bench.part("run_actions").get_by_label("name")
    name.fill("the first")
    name.press("Enter")
    expect(chart).to_contain_text("the first")
    bench.part("run_hide").get_by_role("button").click()
    expect(chart).not_to_contain_text("the first")
    bench.part("run_return").get_by_role("button").click()
    expect(bench.metric("test loss (nats)")).to_have_text(first_loss)
    assert bench.wait_for("done").step == 60
    expect(bench.field("learning_rate")).to_have_value("0.005")
    expect(chart).to_contain_text("learning rate 0.05")
    # The selected row is another run now.
    expect(bench.part("run_actions")).to_have_count(0)
    bench.choose_run(0)
    bench.part("run_delete").get_by_role("button").click()
    expect(chart).not_to_contain_text("learning rate 0.05")


def test_a_saved_run_resumes_in_another_session_and_bad_files_change_nothing(
    bench, new_page, server
):
    for step in (1, 2, 3):
        bench.press("step")
        bench.wait_for_step(step)
    bench.wait_for("paused")
    content, figures = _save(bench), _figures(bench)
    other = TrainPage(new_page())
    other.page.goto(server.url + QUICK)
    other.wait_for("idle")
    other.open_panel("files")
    _load(other, "mine.run", content)
    assert other.wait_for("paused") == bench.status()
    assert _figures(other) == figures
    damaged = bytearray(content)
    damaged[-3] ^= 1
    for name, data in {
        "cut.run": content[: len(content) // 2],
        "damaged.run": bytes(damaged),
        "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    }.items():
        _load(other, name, data)
        expect(other.message(name)).to_be_visible()
        assert other.status().step == 3
        assert _figures(other) == figures
    for train in (bench, other):
        train.press("step")
        train.wait_for_step(4)
        train.wait_for("paused")
    assert _figures(other) == _figures(bench)


def _texts(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return "\n".join(root.itertext())


def _picture(train: TrainPage, kind: str) -> bytes:
    with train.page.expect_download() as download:
        train.film.get_by_role("button", name=f"Save this picture as {kind}").click()
    return download.value.path().read_bytes()


def test_losses_script_and_charts_are_those_of_the_page(bench):
    bench.open_panel("files")
    expect(bench.part("files")).to_contain_text("nothing to export")
    bench.settle()
    bench.fill("steps", 30)
    bench.press("start")
    bench.wait_for("done")
    rows = list(csv.DictReader(io.StringIO(_take(bench, "take_csv").decode())))
    assert sum(row["training_loss_nats"] != "" for row in rows) == 30
    assert rows[-1]["step"] == "30"
    shown = bench.figure("test loss (nats)")
    assert shown.startswith(f"{float(rows[-1]['test_loss_nats']):.3f}")

    # The tests of scripts run them.
    script = _take(bench, "take_script").decode()
    assert "steps=30" in script

    # The film is saved as it is seen.
    texts = _texts(_picture(bench, "SVG"))
    for seen in ("attention", "guessing 1.099", f"Step 30: test loss {shown} nats", "training"):
        assert seen in texts
    assert _picture(bench, "PNG").startswith(b"\x89PNG\r\n\x1a\n")
