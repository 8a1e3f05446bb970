"""The Kernel regression page without a browser."""

import pytest

from attnlab.lessons.regression_data import CURVES, PLANES
from tests.app.lessons import charts, figures, open_page, texts

PATIENCE = 120


@pytest.fixture
def page():
    app = open_page("pages/kernel_regression.py")
    yield app
    app.session_state["session"].pause()
    work = app.session_state["session"].jobs.get("metric_training")
    assert work is None or work.wait(PATIENCE)


@pytest.mark.slow
def test_every_curve(page):
    for name in CURVES:
        page.selectbox(key="curve").select(name).run()
        assert not page.exception
        assert not page.error
        assert "error against the truth" in figures(page)
        assert "in float64" in texts(page)
    # The narrowest kernel, on points that are far apart.
    page.slider(key="bandwidth").set_value(0.005).run()
    assert not page.exception
    assert not page.error


@pytest.mark.slow
def test_the_fit_follows_the_controls(page):
    seen = [figures(page)]
    for control, key, value in (
        (page.slider, "bandwidth", 0.5),
        (page.slider, "query_at", 80.0),
        (page.number_input, "curve_seed", 3),
    ):
        control(key=key).set_value(value).run()
        seen.append(figures(page))
    assert float(seen[1]["effective neighbours"]) > float(seen[0]["effective neighbours"])
    assert len({figure["fit at the query"] for figure in seen}) == 4
    page.button(key="best_bandwidth").click().run()
    assert page.slider(key="bandwidth").value < 0.2
    error = "error against the truth"
    assert float(figures(page)[error]) < float(seen[-1][error])
    assert not page.exception


@pytest.mark.slow
def test_own_points(page):
    page.selectbox(key="curve").select("own points").run()
    assert not page.exception
    assert "error against the truth" not in figures(page)
    page.text_area(key="own_points").set_value("0 0\n10 1\n20 0\n30 1").run()
    assert not page.error
    before = figures(page)
    page.text_area(key="own_points").set_value("0 0\n10 one\n20 0").run()
    assert "line 2" in page.error[0].value
    assert "10 one" in page.error[0].value
    assert figures(page) == before
    # Far apart and narrow: places where the formula is 0/0.
    page.text_area(key="own_points").set_value("0 0\n1 1\n1000 2").run()
    page.slider(key="bandwidth").set_value(0.005).run()
    assert not page.error
    assert not page.exception
    assert any("0/0" in warning.value for warning in page.warning)
    page.text_area(key="own_points").set_value("0 1\n1 1\n2 1").run()
    assert not page.exception
    assert figures(page)["fit at the query"] == "1.0000"


@pytest.mark.slow
def test_own_points_are_in_the_address_while_they_are_few(page):
    page.selectbox(key="curve").select("own points").run()
    for count in (7, 400, 8):
        points = "\n".join(f"{number}, {number % 3}" for number in range(count))
        page.text_area(key="own_points").set_value(points).run()
        assert page.query_params.get("own_points") == (points if count < 10 else None)
        said = [text.value for text in page.caption if "too long for a link" in text.value]
        assert len(said) == (count > 10)
    again = open_page("pages/kernel_regression.py", {"curve": "own points", "own_points": points})
    assert again.text_area(key="own_points").value == points


def test_every_plane(page):
    page.slider(key="plane_point").set_value(17)
    for name in PLANES:
        page.selectbox(key="plane").select(name).run()
        assert not page.exception
        assert not page.error
        assert len(charts(page)) == 5
        assert page.slider(key="plane_point").value == 17
