"""A film opens from a file: it fetches nothing, plays, follows pointer and keys, is accessible."""

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from attnlab.film import film_of, film_page, page_of, shipped_film, words_of
from attnlab.runs.storage import from_bytes
from attnlab.training.presets import PRESETS

pytestmark = pytest.mark.e2e
FROZEN = Path(__file__).parents[1] / "data" / "frozen"
HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror="alert(1)">'


@pytest.mark.parametrize("name", ["transformer", "linear", "encoder-decoder", "with_changes"])
def test_a_film_opens_offline_and_is_played(name, new_page, tmp_path):
    run = from_bytes((FROZEN / f"{name}.run").read_bytes())
    history, step = run.history, int(run.state.step)
    if len(history.checkpoints) == 1:
        # A second frame, which the frozen runs have not kept.
        kept = (*history.checkpoints, (step, run.state.model))
        tests = (*history.tests, (step, history.tests[-1][1]))
        run = run._replace(history=dataclasses.replace(history, checkpoints=kept, tests=tests))
    film = film_of(run)
    words = words_of(film, name=HOSTILE, version="0.2.0", address="https://example.org")
    (tmp_path / "film.html").write_bytes(film_page(film, words))
    page, said = new_page(color_scheme="light"), []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto((tmp_path / "film.html").as_uri())
    slider, readout = page.get_by_role("slider"), page.locator("output")
    expect(readout).to_contain_text(f"Step {film.frames[-1].step:,}:")
    slider.press("Home")
    expect(readout).to_contain_text("Step 0:")
    loss = page.locator(".loss")
    box = loss.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
    expect(readout).to_contain_text(f"Step {film.frames[-1].step:,}:")
    page.get_by_role("button", name="Play").click()
    expect(readout).to_contain_text("Step 0:")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(readout).to_contain_text(f"Step {film.frames[-1].step:,}:")
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert Axe().run(page).response["violations"] == []
    assert page.title() == words.title
    assert said == []


def _shipped(name, folder):
    """The address of a film that comes with attnlab, in the player of today."""
    film = shipped_film(PRESETS[name].experiment)
    (folder / "shipped.html").write_bytes(page_of({**film, "title": name}, name))
    return (folder / "shipped.html").as_uri()


_PLAYER = """() => {
    const data = JSON.parse(document.querySelector("script[type='application/json']").textContent)
    window.reported = []
    window.update = createFilm(document.querySelector("main"), step => window.reported.push(step))
    window.update(window.given = {...data, key: "run", at: null})
}"""


def test_beliefs_follow_new_data_and_play_leaves_no_panel_at_its_first_step(new_page, tmp_path):
    page = new_page(color_scheme="light")
    page.goto(_shipped("mess3-belief", tmp_path))
    page.evaluate(_PLAYER)
    caption = page.locator(".beliefs figcaption").last
    expect(caption).to_contain_text("at the output")
    # Of the same step, but read from another part of the model.
    page.evaluate(
        """() => window.update({...window.given, measured: window.given.measured.map(
            each => ({...each, title: "after embedding", points: window.given.subject.exact}))})"""
    )
    expect(caption).to_have_text("after embedding, step 600")
    page.get_by_role("slider").press("Home")
    page.wait_for_function("() => window.reported.at(-1) === 0")
    page.get_by_role("button", name="Play").click()
    assert page.evaluate("() => window.reported.at(-1)") is None


def test_a_saved_picture_has_the_line_of_the_step_below_all_else(new_page, tmp_path):
    page = new_page(color_scheme="light")
    # So low that this line sticks to the window, above the maps.
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(_shipped("mess3-belief", tmp_path))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save this picture as SVG").click()
    saved.value.save_as(tmp_path / "film.svg")
    svg = ElementTree.parse(tmp_path / "film.svg").getroot()
    heights = {each.text or "": float(each.get("y", 0)) for each in svg}
    (line,) = (y for text, y in heights.items() if text.startswith("Step 600:"))
    images = [each for each in svg if each.tag.endswith("image")]
    bottoms = [float(each.get("y")) + float(each.get("height")) for each in images]
    assert max(bottoms) < line < float(svg.get("height"))


@pytest.mark.parametrize("name", ["mess3-belief", "induction"])
def test_a_shipped_film_shows_what_its_process_is_about(name, new_page, tmp_path):
    page, said = new_page(color_scheme="light"), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(_shipped(name, tmp_path))
    pictures = page.locator(".beliefs canvas, svg.losses")
    last = pictures.last.get_attribute("aria-label")
    page.get_by_role("slider").press("Home")
    expect(pictures.last).to_have_attribute("aria-label", re.compile("step 0"))
    page.get_by_role("slider").press("End")
    expect(pictures.last).to_have_attribute("aria-label", last)
    # Other heights of the window leave cells square.
    for width, height in ((1280, 600), (1280, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            "() => [...document.querySelectorAll('.maps canvas')].every(({ clientWidth, "
            "clientHeight }) => clientWidth < clientHeight && clientHeight < clientWidth + 30)"
        )
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert Axe().run(page).response["violations"] == []
    assert said == []
