"""Tabs that close, reload, leave the page or lose the network, and tabs beside each other."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.train_page import QUICK, TrainPage

pytestmark = pytest.mark.e2e

# Keeps hold of the page's sockets, so that a test can cut them.
_HOLD_SOCKETS = """
const Native = window.WebSocket;
window.sockets = [];
window.WebSocket = class extends Native {
    constructor(...values) { super(...values); window.sockets.push(this); }
};
"""
_PAUSED_OR_BEYOND = r"""step => {
    const text = document.querySelector('.st-key-run_status')?.innerText ?? '';
    const at = Number((text.match(/step ([\d,]+)/)?.[1] ?? '-1').replace(/,/g, ''));
    return /\bpaused\b/.test(text) || at > step;
}"""
_CUT_SOCKETS = "window.sockets.splice(0).forEach(socket => socket.close())"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's /proc")
def test_a_closed_tab_ends_the_work(bench, server):
    def load(seconds: float = 1.0) -> float:
        before = server.processor_seconds()
        time.sleep(seconds)
        return (server.processor_seconds() - before) / seconds

    bench.start_long_run("full speed")
    busy = load()
    bench.page.close()
    end = time.monotonic() + 20
    while (idle := load()) > busy / 5 and time.monotonic() < end:
        pass
    assert idle <= busy / 5


def test_a_dropped_connection_loses_nothing(new_page, server):
    # Of a visitor whose tab is not used afterwards, since the script stays in it.
    page = new_page(locale="en-GB")
    page.add_init_script(_HOLD_SOCKETS)
    page.goto(server.url + QUICK)
    train = TrainPage(page)
    train.wait_for("idle")
    before = train.start_long_run()
    page.context.set_offline(True)
    try:
        page.evaluate(_CUT_SOCKETS)
        page.wait_for_timeout(3000)
    finally:
        page.context.set_offline(False)
    # Which of the two depends on whether the server noticed.
    # A function, since the policy of the page keeps an expression from being read again.
    page.wait_for_function("() => window.sockets.some(socket => socket.readyState === 1)")
    back = train.wait_for("paused", "running")
    assert back.step >= before.step
    expect(train.part("figures")).to_be_visible()
    # The first picture after the drop may still say what was before it, so that a run counts as
    # running once its steps have grown from one picture to the next.
    for _ in range(2):
        page.wait_for_function(_PAUSED_OR_BEYOND, arg=train.status().step)
    if train.status().state == "running":
        train.press("pause")
    paused = train.wait_for("paused")
    assert paused.step >= back.step
    train.press("start")
    train.wait_for("running")
    train.wait_for_step(paused.step + 1)


def test_two_tabs_are_two_runs_and_a_reloaded_one_begins_with_its_settings(bench, new_page, server):
    other = TrainPage(new_page())
    bench.start_long_run()
    other.page.goto(server.url + QUICK)
    assert other.wait_for("idle").step == 0
    other.start_long_run()
    bench.press("pause")
    paused = bench.wait_for("paused")
    at = other.status()
    assert at.state == "running"
    other.wait_for_step(at.step + 1)
    assert bench.status() == paused
    other.page.reload()
    assert other.wait_for("idle").step == 0
    # The address kept them.
    expect(other.field("steps")).to_have_value("100000")
