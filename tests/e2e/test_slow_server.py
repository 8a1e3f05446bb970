"""Pages stay whole on a server that is slow to send them, while timers and clicks ask for more."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from tests.e2e.server import ROOT, AppServer
from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e


@pytest.fixture
def slow_server(tmp_path):
    server = AppServer(tmp_path / "log", script=ROOT / "tests" / "e2e" / "slow_app.py")
    server.start()
    yield server
    server.stop()
    assert server.failures() == [], server.log()


def test_runs_are_begun_and_reset_and_a_process_is_computed(slow_server, new_page):
    train = TrainPage(new_page())
    train.page.goto(slow_server.url + QUICK)
    train.wait_for("idle")
    train.fill("steps", 100_000)
    train.press("start")
    train.wait_for("running")
    train.wait_for_step(1)
    train.press("reset")
    train.wait_for("idle")
    expect(train.part("what_happened")).to_contain_text("untrained model at step 0")
    page = train.page
    query = to_query(Experiment(seed=321, length=29))
    page.goto(f"{slow_server.url}/generators?{urlencode(query)}")
    waiting = page.get_by_text("Computing the numbers below")
    waiting.wait_for()
    waiting.wait_for(state="detached")
    page.locator(".st-key-generators_section").get_by_text("What matters").click()
    expect(page.locator(".st-key-chart_dependence svg.marks")).to_be_visible()
