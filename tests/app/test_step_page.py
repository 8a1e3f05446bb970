"""The Step by step page without a browser."""

import json
import re
from pathlib import Path

import pytest

from attnlab.attention import SCORES
from attnlab.lessons.stages import WORKED_EXAMPLES
from attnlab.ui.lessons.head_panel import STAGES
from tests.app.lessons import alts, charts

_REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "unit" / "worked_example.json").read_text()
)


@pytest.fixture
def page(app):
    # Outside a browser the values of controls come one run after the page.
    app.switch_page("pages/step_by_step.py").run().run()
    assert not app.exception
    return app


def _results(page):
    """The numbers in bold at the end of every line of arithmetic."""
    lines = [text.value for text in page.latex if r"\mathbf" in text.value]
    return [re.search(r"\\mathbf\{(.*)\}", line)[1] for line in lines]


def _choose(page, stage, **cell):
    page.segmented_control(key="step_stage").set_value(stage)
    for name, number in cell.items():
        page.number_input(key=f"step_at_{name}").set_value(number)
    page.run()
    assert not page.exception


@pytest.mark.slow
def test_the_arithmetic_ends_in_the_literature_s_numbers(page):
    query, key, component = 2, 3, 2
    for stage in ("queries", "keys", "values", "scores", "pattern"):
        _choose(page, stage, query=query, key=key, component=component)
        row = {"queries": query, "scores": query, "pattern": query}.get(stage, key)
        column = key if stage in ("scores", "pattern") else component
        printed = float(_REFERENCE[stage][row - 1][column - 1])
        (result,) = _results(page)
        result = float(result.replace(r" \times 10^{", "e").replace("}", ""))
        assert result == pytest.approx(printed, rel=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKED_EXAMPLES)
def test_every_example_with_every_score_and_all_stages(page, name):
    page.selectbox(key="step_example").select(name).run()
    _choose(page, "all")
    for score in SCORES:
        page.selectbox(key="step_score").select(score).run()
        assert not page.exception
        assert not page.error
        assert len(_results(page)) == len(STAGES)
    assert all(alts(page))


@pytest.mark.slow
def test_buttons_walk_through_the_stages(page):
    assert page.session_state["step_stage"] == STAGES[0]
    # Small matrices have square cells: inputs, W_Q and queries.
    sizes = [(spec["height"], spec["width"]) for spec in charts(page)[:3]]
    assert sizes == [(120, 160), (160, 120), (120, 120)]
    for stage in (*STAGES[1:], "all", "all"):
        page.button(key="step_next").click().run()
        assert page.session_state["step_stage"] == stage
    page.button(key="step_previous").click().run()
    assert page.session_state["step_stage"] == STAGES[-1]


@pytest.mark.slow
def test_switches(page):
    _choose(page, "scores", query=2, key=2)
    plain = _results(page)
    page.toggle(key="step_bias").set_value(True).run()
    assert _results(page) != plain
    page.toggle(key="step_bias").set_value(False).run()
    page.toggle(key="step_scaling").set_value(True).run()
    assert _results(page) == plain
    _choose(page, "scaled")
    assert float(_results(page)[0]) == pytest.approx(16 / 3**0.5, rel=1e-5)
    page.toggle(key="step_causal").set_value(True).run()
    _choose(page, "masked", query=1, key=3)
    assert _results(page) == [r"-\infty"]
    page.toggle(key="step_cross").set_value(True).run()
    assert not page.exception
    assert page.toggle(key="step_causal").disabled
    _choose(page, "all", query=2)
    assert page.number_input(key="step_at_query").max == 2


@pytest.mark.slow
def test_a_smaller_table_takes_the_cell_along(page):
    _choose(page, "output", query=3, key=3, component=3)
    page.text_area(key="step_inputs").set_value("1 0 1 0; 0 2 0 2").run()
    assert not page.exception
    assert page.number_input(key="step_at_query").value == 2


@pytest.mark.slow
def test_a_bad_table_keeps_the_last_good_picture(page):
    page.text_area(key="step_inputs").set_value("1 0 1 0; 0 3 0 3").run()
    _choose(page, "scores", query=2, key=2)
    picture = _results(page)
    for table, text, words in (
        ("inputs", "1 0 1", "`w_query` is '4 × 3'"),
        ("inputs", "", "`inputs` is ''"),
        ("w_value", "1; ?; 1; 1", "`w_value row 2, column 1` is ''"),
    ):
        good = page.text_area(key=f"step_{table}").value
        page.text_area(key=f"step_{table}").set_value(text).run()
        assert not page.exception
        (error,) = page.error
        assert words in error.value
        assert _results(page) == picture
        assert "last valid tables" in page.info[0].value
        page.text_area(key=f"step_{table}").set_value(good).run()
        assert not page.error
        assert not page.info


@pytest.mark.slow
def test_another_example_takes_its_own_tables(page):
    page.text_area(key="step_inputs").set_value("nonsense").run()
    page.selectbox(key="step_example").select("one-hot keys").run()
    assert not page.error
    assert page.text_area(key="step_inputs").value.split("\n")[0] == "1 0 0 0"
    _choose(page, "pattern", query=1, key=2)
    assert float(_results(page)[0]) == pytest.approx(0.9926, abs=1e-4)


@pytest.mark.slow
def test_averages_at_any_size(page):
    for key, value in (("step_T", 16), ("step_T", 1), ("step_C", 8)):
        page.slider(key=key).set_value(value).run()
        rows, features = page.slider(key="step_T").value, page.slider(key="step_C").value
        assert any(
            alt.startswith(f"inputs so far: {rows} rows of {features}") for alt in alts(page)
        )
    page.toggle(key="step_content").set_value(True).run()
    assert not page.exception
    assert any("attention" in alt for alt in alts(page))


@pytest.mark.slow
def test_only_positions_and_masks_tell_orders_apart(page):
    page.selectbox(key="step_example").select("random head of width 16").run()
    for number in (1, 5, 9):
        page.number_input(key="step_shuffle").set_value(number).run()
        table = next(text.value for text in page.markdown if text.value.startswith("| head"))
        plain, positions, causal = (line.split("|")[2:4] for line in table.splitlines()[2:])
        assert float(plain[0]) < 1e-5
        assert plain[1].strip() == "5 of 5"
        assert float(positions[0]) > 1e-2
        assert positions[1].strip() == "0 of 5"
        assert float(causal[0]) > 1e-2


@pytest.mark.slow
def test_a_parameter_that_the_page_does_not_have_is_named_until_it_is_dismissed(page):
    page.query_params["foo"] = "1"
    page.run()
    assert "'foo'" in page.warning[0].value
    page.button(key="unknown_dismiss").click().run()
    assert not page.exception
    assert not page.warning
    assert "foo" not in page.query_params
