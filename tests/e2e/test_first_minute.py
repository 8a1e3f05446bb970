"""The first minute: what the page opens on, what moves, and what keeps its place."""

import dataclasses
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from attnlab.runs.links import to_query
from attnlab.training.presets import FIRST_PRESET, PRESETS
from tests.e2e.train_page import TrainPage

pytestmark = pytest.mark.e2e

_DESKTOPS = ({"width": 1400, "height": 900}, {"width": 1280, "height": 720})
_PLACES = """() =>
    ['bar', 'state', 'prospect', 'chart_loss', 'inside', 'moment', 'what_happened'].map(key => {
        const box = document.querySelector(`.st-key-${key}`).getBoundingClientRect()
        return [key, Math.round(box.top), Math.round(box.left)]
    })"""
# A path of a cell begins at a corner and names its width and height.
_CELL = re.compile(r"M[-\d.]+,[-\d.]+h([\d.]+)v([\d.]+)h")
# The first preset, whose programs are there, with fewer steps.
_FIRST = PRESETS[FIRST_PRESET].experiment
_QUICK_HEADS = "/?" + urlencode(
    to_query(dataclasses.replace(_FIRST, training=dataclasses.replace(_FIRST.training, steps=60)))
)
_PATIENCE = 120_000


def _cells(train: TrainPage) -> list[tuple[float, float]]:
    """Width and height of all that is drawn of the patterns, the legend left out."""
    paths = train.part("chart_attention").locator(".mark-rect.role-mark path")
    expect(paths.first).to_be_attached()
    drawn = paths.evaluate_all("nodes => nodes.map(node => node.getAttribute('d'))")
    sizes = [tuple(map(float, _CELL.match(path).groups())) for path in drawn]
    return [size for size in sizes if size[0] != 4]


def test_nothing_has_diverged_before_it_was_trained(new_page, server):
    """The published head begins with a loss far above that of a uniform guess."""
    query = urlencode(to_query(PRESETS["published-dotmod-attention"].experiment))
    train = _open(new_page(), server, f"/?{query}")
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible(timeout=_PATIENCE)
    expect(train.page.get_by_text("parameters", exact=True)).to_be_visible()
    expect(train.page.get_by_text("diverges")).to_have_count(0)


def _open(page: Page, server, path: str = "") -> TrainPage:
    train = TrainPage(page)
    train.page.goto(server.url + path)
    train.wait_for("idle")
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible(timeout=_PATIENCE)
    return train


def test_it_opens_on_the_first_preset_and_shows_its_own_untrained_model(new_page, server):
    train = _open(new_page(), server)
    expect(train.field("preset")).to_have_value(FIRST_PRESET)
    expect(train.field("generator")).to_have_value("recall")
    assert train.status().steps == 2_000
    loss = train.part("chart_loss")
    for known in ("uniform guess 1.099", "floor 0.934"):
        expect(loss).to_contain_text(known, timeout=_PATIENCE)
    expect(train.part("verdict")).to_contain_text("accuracy 0.548 (exact)", timeout=_PATIENCE)
    expect(train.part("what_happened")).to_contain_text("untrained model at step 0")
    for head in ("head 1", "head 2", "head 3"):
        expect(train.part("chart_attention")).to_contain_text(head)
    # The days that the table reads are marked over each of them.
    marks = train.part("chart_attention").locator("text").filter(has_text="▼")
    expect(marks).to_have_count(9, timeout=_PATIENCE)
    # What is shown is the step 0 of the run that Start begins.
    before = _pattern(train)
    at_start = train.figure("test loss (nats)")
    train.press("step")
    train.wait_for_step(1)
    train.wait_for("paused")
    assert _pattern(train) != before
    train.slide("shown_step", "Home")
    expect(train.metric("test loss (nats)")).to_have_text(at_start)
    assert _pattern(train) == before


def _pattern(train: TrainPage) -> list[str]:
    train.settle()
    cells = train.part("chart_attention").locator(".mark-rect.role-mark path")
    return cells.evaluate_all("nodes => nodes.map(node => node.getAttribute('fill'))")


def test_another_process_brings_its_own_lines_before_start(new_page, server):
    train = _open(new_page(), server)
    train.choose("generator", "dotmod")
    for known in ("uniform guess 1.099", "floor 0.196"):
        expect(train.part("chart_loss")).to_contain_text(known, timeout=_PATIENCE)
    expect(train.part("chart_loss")).not_to_contain_text("0.934")
    assert train.status().state == "idle"
    train.fill("steps", 3_000)
    expect(train.part("run_status")).to_contain_text("of 3,000")


def _places(train: TrainPage, *, on_screen: bool = False) -> list:
    """Where the parts stand on each desktop; all that moves is on it, if so asked."""
    places = []
    for screen in _DESKTOPS:
        train.page.set_viewport_size(screen)
        train.settle()
        places.append(train.page.evaluate(_PLACES))
        if on_screen:
            for key in ("chart_loss", "chart_attention", "moment", "what_happened"):
                box = train.part(key).bounding_box()
                assert box["y"] + box["height"] <= screen["height"], key
    return places


def test_the_first_screen_holds_all_of_it_and_nothing_moves(new_page, server):
    train = _open(new_page(), server, _QUICK_HEADS)
    places = _places(train, on_screen=True)
    train.press("start")
    train.wait_for("done")
    assert _places(train, on_screen=True) == places
    train.slide("transformer_d_attn", "ArrowRight")
    expect(train.button("start")).to_contain_text("Train with changes: d_attn 8 → 9")
    assert _places(train) == places
    train.press("reset")
    train.wait_for("idle")
    expect(train.part("chart_loss")).to_contain_text("brisk otter")
    expect(train.part("chart_attention").locator("svg.marks")).to_be_visible(timeout=_PATIENCE)
    assert _places(train) == places
    # Nor does it move for a model with one head, or with none.
    for model in ("attention", "gru"):
        train.choose("model", model)
        assert _places(train) == places


def test_cells_are_square_and_as_large_as_their_place_allows(new_page, server):
    """The last is 1280 × 720 at a zoom of 150 %."""
    page = new_page()
    for width, height, least in ((1280, 720, 24), (1400, 900, 24), (1024, 768, 19), (853, 480, 14)):
        page.set_viewport_size({"width": width, "height": height})
        train = _open(page, server, _QUICK_HEADS)
        small = [size for size in _cells(train) if abs(size[0] - size[1]) < 0.1]
        # Three triangles without their last rows.
        assert len(small) == 3 * 45
        assert min(width for width, _ in small) + 1 >= least
        loss, heads = (train.part(key).bounding_box() for key in ("chart_loss", "chart_attention"))
        assert heads["y"] >= loss["y"] + loss["height"]


def test_one_head_has_cells_of_24_pixels_on_a_small_screen(new_page, server):
    page = new_page()
    page.set_viewport_size({"width": 1024, "height": 768})
    train = _open(page, server, "/?v=2")
    assert min(width for width, height in _cells(train) if abs(width - height) < 0.1) >= 23


def test_a_run_is_slowed_down_while_it_runs_and_set_free(bench):
    bench.fill("steps", 400)
    bench.choose("run_speed", "1 step/s")
    bench.press("start")
    bench.wait_for("running")
    slow = bench.wait_for_step(2)
    assert slow.step < 400
    bench.choose("run_speed", "full speed")
    assert bench.wait_for("done").step == 400


def test_a_finished_run_is_replayed_in_all_panels(bench):
    replay, stop = (
        bench.part("run_replay").get_by_role("button", name=name) for name in ("Replay", "Stop")
    )
    bench.fill("steps", 100)
    bench.press("start")
    bench.wait_for("done")
    last, headline = bench.figure("test loss (nats)"), bench.part("headline").inner_text()
    replay.click()
    expect(stop).to_be_visible()
    expect(bench.part("headline")).not_to_have_text(headline)
    at = bench.part("shown_step").get_by_test_id("stSliderThumbValue")
    expect(at).to_have_text(re.compile("^[3-9]$|^[1-9][0-9]$"))
    stop.click()
    expect(replay).to_be_visible()
    bench.settle()
    assert at.inner_text() not in ("now", "100")
    expect(bench.metric("test loss (nats)")).not_to_have_text(last)
    # It goes on where it stands, and ends at now.
    replay.click()
    expect(at).to_have_text("now", timeout=_PATIENCE)
    expect(replay).to_be_visible()
    expect(bench.metric("test loss (nats)")).to_have_text(last)


def test_what_happened_is_told_in_a_sentence(new_page, server):
    one_head = "&generator=recall&learning_rate=0.01&batch=256&data=fresh&steps=1000"
    train = _open(new_page(), server, f"/?v=2{one_head}")
    train.press("start")
    train.wait_for("done")
    words = train.part("what_happened")
    expect(words).to_contain_text(re.compile(r"9\d.* % of the attention is on days 1, 4 and 8"))
    expect(words).to_contain_text("The best linear predictor learns")


def test_the_steps_stand_on_a_logarithmic_axis(bench):
    bench.finish_default_run()
    labels = bench.part("chart_loss").locator(".role-axis-label text")
    bench.part("log_steps").locator("label").click()
    expect(labels.filter(has_text=re.compile("^10$"))).to_have_count(1)
    bench.settle()
    ticks = {text.replace(",", "") for text in labels.all_text_contents()}
    assert {"0", "1", "10", "100"} <= ticks


def test_a_pinned_run_is_the_baseline_of_the_table(bench):
    bench.fill("steps", 60)
    bench.press("start")
    bench.wait_for("done")
    bench.fill("steps", 80)
    bench.press("start")
    bench.wait_for_step(70)
    bench.wait_for("done")
    bench.open_panel("runs")
    bench.choose_run(0)
    bench.part("run_keep").get_by_role("button").click()
    expect(bench.part("run_keep")).to_contain_text("Unpin")
    heads = bench.part("runs_table").locator("[role=columnheader]")
    expect(heads.filter(has_text="loss − brisk otter")).to_have_count(1)
    names = [name for name in heads.all_text_contents() if name]
    assert names[:4] == ["run", "change", "loss (nats)", "loss − brisk otter"]
