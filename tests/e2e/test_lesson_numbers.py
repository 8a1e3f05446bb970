"""The pages Softmax scaling and Kernel regression in a browser: turned, clicked, trained, left."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

_PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
_OVERFLOWS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
    .map(node => node.scrollWidth - node.clientWidth)"""
_LONG = 240_000


def _open(page: Page, server, name: str, query: str = "") -> Page:
    page.goto(f"{server.url}/{name}{query}")
    # The last part of each page: what stands above it is there.
    last = {"softmax_scaling": "safety", "kernel_regression": "metric_weights"}[name]
    page.locator(f".st-key-{last}").wait_for(timeout=_LONG)
    return page


def _slider(page: Page, key: str):
    return page.locator(f".st-key-{key}").get_by_role("slider")


def _metric(page: Page, label: str):
    name = page.get_by_test_id("stMetricLabel").get_by_text(label, exact=True)
    return page.get_by_test_id("stMetric").filter(has=name).get_by_test_id("stMetricValue")


def test_a_link_to_softmax_scaling(fresh_server, new_page):
    query = "?width=64&keys=4&component=2&logits=3+1+-inf&temperature_of_logits=2"
    page = _open(new_page(), fresh_server, "softmax_scaling", query)
    expect(page.get_by_role("heading", level=1)).to_have_text("Softmax scaling")
    expect(_slider(page, "keys")).to_have_value("4")
    expect(page.locator(".st-key-variance_formula")).to_contain_text("1024")
    expect(page.locator(".st-key-verdicts")).to_contain_text("d = 64")
    expect(page.locator(".st-key-logits input")).to_have_value("3 1 -inf")
    # 1/(1 + exp(-1))
    expect(_metric(page, "largest weight")).to_have_text("0.7311")


def test_a_link_to_kernel_regression(fresh_server, new_page):
    query = "?curve=step&bandwidth=0.2&query_at=75&plane=slanted&plane_point=9"
    page = _open(new_page(), fresh_server, "kernel_regression", query)
    expect(page.get_by_role("heading", level=1)).to_have_text("Kernel regression")
    expect(page.locator(".st-key-curve input")).to_have_value("step")
    expect(_slider(page, "bandwidth")).to_have_value("0.2")
    expect(_slider(page, "query_at")).to_have_value("75")
    expect(_slider(page, "plane_point")).to_have_value("9")
    expect(page.locator(".st-key-plane input")).to_have_value("slanted")


def test_own_points_stand_in_the_address_while_they_are_few(new_page, server):
    def points(count: int) -> str:
        return "\n".join(f"{number}, {number % 3}" for number in range(count))

    page = _open(new_page(), server, "kernel_regression", "?curve=own+points")
    field = page.locator(".st-key-own_points textarea")
    for count, is_kept in ((7, True), (400, False), (8, True)):
        field.fill(points(count))
        field.blur()
        page.wait_for_function(
            "text => new URLSearchParams(location.search).get('own_points') === text",
            arg=points(count) if is_kept else None,
        )
        expect(page.get_by_text("Too many points for the address")).to_have_count(
            0 if is_kept else 1
        )
    page.reload()
    expect(field).to_have_value(points(8))


def test_softmax_scaling_is_turned(new_page, server):
    page = _open(new_page(), server, "softmax_scaling")
    verdict = page.locator(".st-key-verdicts")
    expect(verdict).to_contain_text("without, d = 16: partly saturated")
    _slider(page, "width").press("End")
    expect(verdict).to_contain_text("without, d = 256: saturated")
    expect(page).to_have_url(re.compile(r"[?&]width=256"))
    for name, largest in (
        ("8 × the vector", "0.8000"), ("one impossible", "0.6652"), ("huge", "0.7311"),
        ("all alike", "0.1250"), ("the vector", "0.2872"),
    ):  # fmt: skip
        page.get_by_role("button", name=name, exact=True).click()
        expect(_metric(page, "largest weight")).to_have_text(largest)
    field = page.locator(".st-key-logits input")
    field.fill("1 two")
    field.press("Enter")
    expect(page.get_by_test_id("stAlert").filter(has_text="logits")).to_be_visible()
    expect(_metric(page, "largest weight")).to_have_text("0.2872")


def test_runs_are_started_and_stopped(new_page, server):
    page = _open(new_page(), server, "softmax_scaling", "?sweep_steps=1000&sweep_seeds=6")
    page.locator(".st-key-sweep_start button").click()
    status = page.locator(".st-key-sweep_status")
    expect(status).to_contain_text("running")
    expect(status).to_contain_text("s left", timeout=_LONG)
    expect(page.locator(".st-key-chart_training_gap svg.marks")).to_be_visible(timeout=_LONG)
    page.locator(".st-key-sweep_stop button").click()
    expect(status).to_contain_text("stopped", timeout=_LONG)
    expect(page.locator(".st-key-sweep_start button")).to_be_enabled()
    expect(page.locator(".st-key-chart_training_gap svg.marks")).to_be_visible()
    page.locator(".st-key-sweep_go_on button").click()
    expect(status).to_contain_text("running")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's /proc")
def test_a_closed_tab_ends_the_runs(new_page, server):
    page = _open(new_page(), server, "softmax_scaling", "?sweep_steps=1000&sweep_seeds=6")
    page.locator(".st-key-sweep_start button").click()
    drawn = page.locator(".st-key-chart_training_gap svg.marks")
    expect(drawn).to_be_visible(timeout=_LONG)

    def load(seconds: float = 1.0) -> float:
        before = server.processor_seconds()
        time.sleep(seconds)
        return (server.processor_seconds() - before) / seconds

    page.close()
    end = time.monotonic() + 30
    while (idle := load()) > 0.1 and time.monotonic() < end:
        pass
    assert idle <= 0.1


def test_a_click_puts_the_query_there(new_page, server):
    page = _open(new_page(), server, "kernel_regression")
    fit = _metric(page, "fit at the query")
    before = fit.inner_text()
    picture = page.locator(".st-key-chart_fit svg.marks")
    picture.scroll_into_view_if_needed()
    place = picture.bounding_box()
    page.mouse.click(place["x"] + place["width"] * 0.7, place["y"] + place["height"] * 0.3)
    expect(fit).not_to_have_text(before)
    at = float(_slider(page, "query_at").input_value())
    assert 55 < at < 85
    _slider(page, "query_at").press("Home")
    expect(_slider(page, "query_at")).to_have_value("0")


def test_the_kernel_is_learned_live(new_page, server):
    page = _open(new_page(), server, "kernel_regression")
    fixed = _metric(page, "MSE against the truth: best fixed").inner_text()
    page.locator(".st-key-metric_train button").click()
    status = page.locator(".st-key-metric_status")
    expect(status).to_contain_text("running")
    expect(status).to_contain_text("done", timeout=_LONG)
    learned = _metric(page, "MSE against the truth: learned").inner_text()
    assert float(learned.split()[0]) < float(fixed.split()[0])
    _slider(page, "plane_point").press("End")
    expect(_slider(page, "plane_point")).to_have_value("150")


@pytest.mark.parametrize("name", ["softmax_scaling", "kernel_regression"])
def test_it_fits_a_phone(name, new_page, server):
    page = _open(new_page(**_PHONE), server, name)
    assert page.evaluate(_OVERFLOWS) == [0, 0]
