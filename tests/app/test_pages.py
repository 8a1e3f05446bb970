"""Every page draws without an error, before a run and after one."""

import html
from xml.etree import ElementTree

import pytest

from attnlab.charts import to_png, to_svg
from attnlab.ui.core.page_charts import chart_picture
from tests.app.lessons import code
from tests.pages import ADDRESSES, PAGES, title_of

# Known results has a script for each result.
_WITHOUT_CODE = ("train", "library", "words", "known_results", "a_published_question")


def _assert_draws(app, page: str) -> None:
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert not app.error
    assert [drawn.value for drawn in app.title] == [title_of(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", ADDRESSES)
def test_page_before_a_run(app, page):
    _assert_draws(app, page)
    assert all(chart.proto.alt for chart in app.get("vega_lite_chart"))
    if "In code" in [block.label for block in app.expander]:
        compile(code(app), f"in code on {page}", "exec")
    else:
        assert page in _WITHOUT_CODE


@pytest.mark.slow
def test_pages_after_a_run_without_attention(app):
    app.selectbox(key="model").select("linear").run()
    app.number_input(key="steps").set_value(20).run()
    app.button(key="run_start").click().run()
    run = app.session_state["session"].run
    assert run.wait(120.0)
    assert run.snapshot().state == "done"
    for page in (*PAGES, PAGES[0]):
        _assert_draws(app, page)
    assert app.session_state["session"].run is run


# They have no charts, or none before something is asked of them.
_WITHOUT = {
    "words", "compare", "library", "train",
}  # fmt: skip
_SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> str:
    return " ".join(ElementTree.fromstring(svg).itertext())


def _shapes(svg: str) -> list[str]:
    """Kinds of the marks that are drawn from rows: neither axes nor titles, legends or words."""
    groups = ElementTree.fromstring(svg).iter(f"{_SVG}g")
    kinds = [(group.get("class", "").split(), group) for group in groups]
    return [
        kind[0]
        for kind, group in kinds
        if "role-mark" in kind and kind[0] != "mark-text"
        for shape in group
        if shape.tag == f"{_SVG}line" or shape.get("d")
    ]


@pytest.mark.slow
def test_every_chart_makes_a_picture_that_says_what_it_shows(app):
    app.number_input(key="steps").set_value(5).run()
    app.button(key="run_start").click().run()
    assert app.session_state["session"].run.wait(120.0)
    for page in (page for page in PAGES if page not in _WITHOUT):
        _assert_draws(app, page)
        # Timers, which redraw the page with late results, do not run here.
        while any("Computing" in caption.value for caption in app.caption):
            app.run()
        charts = app.session_state["session"].charts
        assert len(charts) == len(app.get("vega_lite_chart")) > 0, page
        for number, (name, chart) in enumerate(charts.items()):
            picture = chart_picture(chart, title=name, dark=number % 2 == 0)
            svg = to_svg(picture)
            assert name in _texts(svg)
            assert f"<desc>{html.escape(chart.alt)}</desc>" in svg
            assert _shapes(svg), f"{name} draws nothing"
        assert to_png(picture).startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
def test_a_page_forgets_the_charts_of_the_one_before(app):
    app.switch_page("pages/softmax_scaling.py").run()
    assert "Distribution of q · k" in app.session_state["session"].charts
    app.switch_page("pages/words.py").run()
    assert not app.session_state["session"].charts


def test_every_chart_has_a_menu_with_its_files_and_a_link_to_the_page(app):
    app.switch_page("pages/positional_encodings.py").run()
    names = list(app.session_state["session"].charts)
    menus = app.get("popover")
    labels = [menu.proto.popover.label for menu in menus]
    assert labels == [f"Save or share “{name}”" for name in names]
    assert not any(menu.children for menu in menus)
    app.session_state["share_a-sinusoidal-heatmap"] = True
    app.run()
    first, *others = app.get("popover")
    assert [file.label for file in first.get("download_button")] == ["SVG", "PNG"]
    (link,) = first.code
    assert "v=2" in link.value
    assert not any(menu.children for menu in others)
