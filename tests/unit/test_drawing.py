"""Charts whose form is written once and whose tables come later."""

from html.parser import HTMLParser

import altair as alt
import pandas as pd
import pytest
import vl_convert
from PIL import Image

from attnlab.charts.drawing import Rows, drawn_once
from attnlab.configuration.options import OptionError

ONE = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
OTHER = pd.DataFrame({"x": [5.0], "y": [6.0]})


@pytest.fixture
def calls():
    return []


@pytest.fixture
def chart(calls):
    @drawn_once
    def chart(points: Rows, known: Rows | None, *, title: str) -> alt.LayerChart:
        calls.append(title)
        layers = [alt.Chart(points).mark_point().encode(x="x:Q", y="y:Q")]
        if known is not None:
            layers.append(alt.Chart(known).mark_rule().encode(y="y:Q"))
        return alt.layer(*layers).properties(title=title)

    return chart


def test_a_form_is_built_once_for_all_tables(chart, calls):
    first, second = chart(ONE, None, title="a"), chart(OTHER, None, title="a")
    assert first.spec == second.spec
    assert calls == ["a"]


def test_options_and_missing_tables_make_other_forms(chart, calls):
    forms = {
        chart(ONE, None, title="a").spec,
        chart(ONE, None, title="b").spec,
        chart(ONE, OTHER, title="a").spec,
    }
    assert len(forms) == 3
    assert calls == ["a", "b", "a"]


def test_the_specification_names_its_tables(chart):
    spec = chart(ONE, OTHER, title="a").specification()
    assert spec["datasets"].keys() == {"points", "known"}
    assert spec["datasets"]["points"] is ONE
    assert [layer["data"]["name"] for layer in spec["layer"]] == ["points", "known"]
    assert spec["title"] == "a"


def test_a_changed_specification_does_not_reach_the_next(chart):
    spec = chart(ONE, None, title="a").specification()
    spec["layer"].clear()
    assert chart(ONE, None, title="a").specification()["layer"]


def test_vega_copies_no_row_to_read_it_anew():
    """Of a copied row it keeps an entry until the chart goes, so that a live one grows."""

    @drawn_once
    def chart(points: Rows) -> alt.LayerChart:
        whole = alt.Chart(points).encode(x="x:Q", y="y:Q")
        return whole.mark_line() + whole.transform_filter(alt.datum.x > 1).mark_point()

    specification = chart(ONE).specification()
    specification["datasets"] = {"points": ONE.to_dict("records")}
    compiled = vl_convert.vegalite_to_vega(specification)
    steps = [step["type"] for data in compiled["data"] for step in data.get("transform", [])]
    assert "filter" in steps
    assert "formula" not in steps


def test_rows_that_belong_to_the_form_stand_beside_the_tables():
    @drawn_once
    def chart(points: Rows) -> alt.LayerChart:
        return alt.Chart(points).mark_point().encode(x="x:Q") + alt.Chart(OTHER).mark_point()

    specification = chart(ONE).specification()
    marks, own = (layer["data"]["name"] for layer in specification["layer"])
    assert specification["datasets"][marks] is ONE
    assert specification["datasets"][own] == OTHER.to_dict("records")


def loaded_by(page):
    """What the elements of a page load; texts of its scripts are none of them."""
    found, parser = [], HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.extend(
        value for name, value in attributes if name in ("src", "href")
    )
    parser.feed(page)
    return found


def test_a_drawing_is_saved_by_its_suffix(chart, tmp_path):
    drawing = chart(ONE, None, title="points")
    for name in ("a.png", "a.SVG", "a.html"):
        drawing.save(tmp_path / name, title="A title", dark=name == "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert image.width > 2 * 700
        assert sum(image.convert("RGB").getpixel((2, 2))) < 150
    assert "A title</text>" in (tmp_path / "a.SVG").read_text("utf-8")
    # An existing file is replaced.
    drawing.save(str(tmp_path / "a.png"), width=300)
    with Image.open(tmp_path / "a.png") as image:
        assert image.width < 2 * 500
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "A title" in page
    assert loaded_by(page) == []
    # Vega's menu would send the chart to a web site.
    assert '"editor":false' in page.replace(" ", "")


@pytest.mark.parametrize("name", ["a.gif", "a", ".png"])
def test_another_suffix_is_refused_with_the_ones_there_are(chart, tmp_path, name):
    with pytest.raises(OptionError, match=r"`path` is .*\.png, \.svg, \.html"):
        chart(ONE, None, title="points").save(tmp_path / name)
    assert not list(tmp_path.iterdir())
