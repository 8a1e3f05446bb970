"""Everything that can be taken from a run is downloaded and read back."""

import csv
import io
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.e2e.server import ROOT
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e


def _take(train: TrainPage, key: str) -> bytes:
    with train.page.expect_download() as download:
        train.part(key).get_by_role("button").click()
    return download.value.path().read_bytes()


def _texts(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return "\n".join(root.itertext())


@pytest.fixture
def done(bench):
    """A short run that has ended, with the panel open since before it began."""
    bench.open_panel("files")
    expect(bench.part("files")).to_contain_text("nothing to export")
    bench.fill("steps", 30)
    bench.press("start")
    bench.wait_for("done")
    return bench


def test_the_losses_are_those_of_the_page(done):
    rows = list(csv.DictReader(io.StringIO(_take(done, "take_csv").decode())))
    assert sum(row["training_loss_nats"] != "" for row in rows) == 30
    last = rows[-1]
    assert last["step"] == "30"
    shown = done.figure("test loss (nats)")
    assert shown.startswith(f"{float(last['test_loss_nats']):.3f}")


def test_the_script_prints_the_figures_of_the_page(done, tmp_path):
    script = tmp_path / "again.py"
    script.write_bytes(_take(done, "take_script"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run(
        [sys.executable, script], env=environment, cwd=tmp_path, capture_output=True, check=True
    ).stdout.decode()
    assert printed.splitlines() == [
        "step 30",
        *(f"{name} {done.figure(name)}" for name in ("test accuracy", "test loss (nats)")),
    ]


def _take_chart(train: TrainPage, name: str, kind: str = "svg") -> bytes:
    train.choose("picture", name)
    # Below the buttons, and drawn after them: those of the chart before have no file any more.
    expect(train.part("pictures")).to_contain_text(f"“{name}” with its current data")
    train.settle()
    return _take(train, f"picture_{kind}")


def test_pictures_say_what_they_show(done):
    done.open_panel("pictures")
    loss = _texts(_take_chart(done, "Loss"))
    assert "attention on markov" in loss
    assert f"Test loss {done.figure('test loss (nats)').split()[0]}" in loss
    assert "step 30" in loss
    assert _take_chart(done, "Attention pattern", "png").startswith(b"\x89PNG\r\n\x1a\n")


def test_a_linear_model_has_its_weights_taken(bench):
    bench.choose("model", "linear")
    bench.press("step")
    bench.wait_for_step(1)
    bench.wait_for("paused")
    bench.choose("inside_view_2", "weights")
    bench.open_panel("pictures")
    assert "Weights of the linear model" in _texts(_take_chart(bench, "Weights"))


def test_the_charts_of_a_lesson_are_taken_as_they_stand(new_page, server):
    lesson = TrainPage(new_page())
    lesson.page.goto(f"{server.url}/softmax_scaling")
    lesson.open_panel("pictures")
    lesson.choose("picture", "Distribution of q · k")
    width = lesson.part("width").get_by_role("slider")
    for key, shown in (("Home", "at width 1:"), ("End", "at width 256:")):
        width.press(key)
        chart = lesson.part("chart_distribution").locator("div[aria-label]")
        expect(chart).to_have_attribute("aria-label", re.compile(shown))
        # The button stands below the chart, and is drawn after it.
        lesson.settle()
        assert shown in _texts(_take(lesson, "picture_svg"))
    assert _take(lesson, "picture_png").startswith(b"\x89PNG\r\n\x1a\n")
