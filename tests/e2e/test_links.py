"""Links: what they open, what they do not understand, the back button, and lessons."""

from html import escape
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from attnlab.runs.links import Lesson, to_query
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from tests.e2e.browser import DESKTOP
from tests.e2e.train_page import TrainPage, go_to

pytestmark = pytest.mark.e2e

_PATIENCE = 120_000
_MENU = ("Train", "Look inside", "Processes", "Compare", "Known results", "Library")


def _open(page: Page, server, query: dict[str, str], path: str = "") -> TrainPage:
    train = TrainPage(page)
    train.page.goto(f"{server.url}/{path}?{urlencode(query)}")
    return train


def _address(train: TrainPage) -> dict[str, str]:
    parsed = parse_qs(urlsplit(train.page.evaluate("location.href")).query)
    return {key: values[0] for key, values in parsed.items()}


def _wait_for_address(train: TrainPage, key: str, value: str) -> None:
    train.page.wait_for_function(
        "([key, value]) => new URLSearchParams(location.search).get(key) === value",
        arg=[key, value],
    )


# Streamlit has two kinds of addresses: of the app, and of a file of `pages/`.
def test_links_are_the_first_requests_of_a_fresh_server(new_page, fresh_server):
    link = "step_by_step?step_example=one-hot+keys&step_stage=scores&step_at_query=3"
    lesson, query = new_page(), to_query(PRESETS["published-dotmod-linear"].experiment)
    lesson.goto(f"{fresh_server.url}/{link}", wait_until="commit")
    train = _open(new_page(), fresh_server, query)
    train.wait_for("idle")
    expect(train.page.get_by_test_id("stTopNavLink")).to_have_text(list(_MENU))
    expect(train.field("generator")).to_have_value("dotmod")
    expect(train.field("model")).to_have_value("linear")
    assert _address(train) == query
    # Former addresses are known from the first request on, too.
    former = new_page()
    former.goto(f"{fresh_server.url}/beliefs", wait_until="commit")
    expect(former.get_by_role("heading", level=1, name="Look inside")).to_be_visible()
    expect(former.locator(".st-key-view").get_by_role("radio", checked=True)).to_have_text(
        "What it believes"
    )
    expect(former.get_by_text("Page not found")).to_have_count(0)
    for text in ("scores 4 × 4", "works like a dictionary", "In code"):
        expect(lesson.get_by_text(text).last).to_be_visible()
    # What is imported before Streamlit runs makes it warn in the terminal.
    assert "No runtime found" not in fresh_server.log()


def test_the_address_follows_the_controls_on_every_page_and_back_undoes(bench, new_page, server):
    bench.fill("steps", 700)
    _wait_for_address(bench, "steps", "700")
    bench.settle()
    bench.page.go_back()
    expect(bench.field("steps")).to_have_value("500")
    bench.settle()
    assert _address(bench) == {"v": "2"}
    bench.page.go_forward()
    expect(bench.field("steps")).to_have_value("700")
    bench.settle()
    length = bench.page.evaluate("history.length")
    for number, title in enumerate(("Glossary", "Step by step"), start=1):
        go_to(bench.page, title)
        _wait_for_address(bench, "steps", "700")
        assert bench.page.evaluate("history.length") == length + number
    # One press of Back, one page.
    bench.page.go_back()
    bench.page.get_by_role("heading", name="Glossary", exact=True).wait_for()
    lesson = _open(new_page(), server, {"step_stage": "scores"}, "step_by_step")
    expect(lesson.page.get_by_text("In code").last).to_be_visible()
    lesson.settle()
    go_to(lesson.page, "Glossary")
    _wait_for_address(lesson, "v", "2")
    go_to(lesson.page, "Step by step")
    for key, value in (("v", "2"), ("step_stage", "scores")):
        _wait_for_address(lesson, key, value)


def test_a_lesson_is_on_every_page_hides_controls_and_is_left(new_page, server):
    text = "Find the mask that *makes* it learnable."
    lesson = Lesson("Which mask?", text, ("preset", "d_attn"))
    train = _open(new_page(), server, to_query(Experiment(seed=321), lesson), "words")
    words = train.part("lesson_words").locator("p")
    expect(words).to_have_text("Find the mask that makes it learnable.")
    train.settle()
    go_to(train.page, "Train")
    train.wait_for("idle")
    expect(train.page.get_by_role("heading", name="Which mask?")).to_be_visible()
    for width in (390, DESKTOP["width"]):
        train.page.set_viewport_size({**DESKTOP, "width": width})
        box, buttons = (train.part(key).bounding_box() for key in ("lesson_strip", "bar"))
        assert box["y"] + box["height"] < buttons["y"]
    train.open_panel("more")
    expect(train.part("mask")).to_be_visible()
    for key in lesson.hidden:
        expect(train.part(key)).to_have_count(0)
    train.fill("steps", 60)
    train.press("start")
    assert train.wait_for("done").steps == 60
    assert _address(train)["hide"] == "preset,d_attn"
    train.part("lesson_leave").get_by_role("button").click()
    expect(train.part("d_attn")).to_be_visible()
    expect(train.part("lesson_strip")).to_have_count(0)
    expect(train.field("seed")).to_have_value("321")
    _wait_for_address(train, "steps", "60")
    assert "hide" not in _address(train)
    train.page.go_back()
    expect(train.part("lesson_strip")).to_be_visible()
    expect(train.part("d_attn")).to_have_count(0)


def test_a_lesson_works_in_a_frame_of_another_page(new_page, server):
    page = new_page()
    query = to_query(Experiment(), Lesson("Which mask?", "Find it.", ("preset",)))
    address = escape(f"{server.url}/?{urlencode(query | {'embed': 'true'})}")
    page.goto(f"{server.url}/_stcore/health")
    page.set_content(f'<iframe src="{address}" width="1000" height="720"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Which mask?")).to_be_visible(timeout=_PATIENCE)
    expect(frame.locator(".film .legend")).to_contain_text("test", timeout=_PATIENCE)
    expect(frame.locator(".st-key-generator")).to_have_count(1)
    for hidden in (".st-key-preset", "[data-testid=stMainMenu]"):
        expect(frame.locator(hidden)).to_have_count(0)


def test_a_link_to_a_term_scrolls_there_and_every_page_leads_to_the_glossary(new_page, server):
    page = new_page()
    page.goto(f"{server.url}/words#total-variation")
    heading = page.get_by_role("heading", level=3)
    expect(heading.filter(has_text="total variation")).to_be_in_viewport()
    page.get_by_test_id("stMain").get_by_role("link", name="dependence", exact=True).last.click()
    expect(heading.filter(has_text="dependence")).to_be_in_viewport()
    expect(heading.filter(has_text="total variation")).not_to_be_in_viewport()
    go_to(page, "Step by step")
    page.get_by_test_id("stMain").get_by_role("link", name="Glossary").click()
    page.get_by_role("heading", name="Glossary", exact=True, level=1).wait_for()
