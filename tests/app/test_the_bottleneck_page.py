"""The bottleneck page without a browser."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from attnlab.lessons.bottleneck import swept
from attnlab.runs.links import from_query
from tests.app.lessons import charts, latex, open_page, texts


@pytest.fixture
def page():
    return open_page("pages/the_bottleneck.py")


def opened(page, section):
    """The page with this section open."""
    page.segmented_control(key="bottleneck_section").set_value(section).run()
    assert not page.exception
    return page


@pytest.mark.slow
def test_every_part_is_there_and_says_what_it_shows(page):
    # The sweep, matrices, maps of tasks and of kinds of attention.
    for section, count, words in (
        ("Cards", 4, "With 10 cards and width 128, the model without attention sorts **"),
        ("Letters backwards", 0, "points ("),
        ("One decoder step", 3, "Step 1 writes"),
        ("Copy, reverse, sort", 7, "One small model per task"),
        ("Kinds of attention", 3, "Three kinds of attention use the same formula"),
    ):
        assert len(charts(opened(page, section))) == count
        assert not page.error
        assert words in texts(page)
    opened(page, "Cards")
    page.session_state["match_bits"] = True
    assert "33.9" in latex(page.run())
    page.session_state["match_settings"] = True
    page.run()
    assert any("160 runs, 4 seeds a setting" in each.value for each in page.caption)


@pytest.mark.slow
def test_a_link_opens_the_section_of_its_control_and_keeps_the_others():
    page = open_page("pages/the_bottleneck.py", {"decoder_step": "3", "maps_task": "sort"})
    assert page.number_input(key="decoder_step").value == 3
    assert opened(page, "Kinds of attention").segmented_control(key="maps_task").value == "sort"
    assert opened(page, "One decoder step").number_input(key="decoder_step").value == 3
    page = open_page("pages/the_bottleneck.py", {"bottleneck_section": "Letters backwards"})
    assert "points (" in texts(page)


def point(page, hand, width):
    """The line about a setting with attention."""
    page.selectbox(key="match_family").select("rnn-attention")
    page.segmented_control(key="match_hand").set_value(hand)
    page.segmented_control(key="match_width").set_value(width).run()
    (line,) = [each.value for each in page.markdown if "[Open in Train]" in each.value]
    return line


def test_a_point_of_the_sweep_opens_elsewhere(page):
    line = point(page, "10", "64")
    address = urlsplit(line.split("](")[1].split(")")[0])
    assert address.path == "./"
    link = from_query(dict(parse_qsl(address.query)))
    assert link.experiment == swept("rnn-attention", 10, 64)
    assert not link.notices


def test_seeds_that_are_all_right_or_all_wrong_have_an_interval_with_a_width(page):
    """Of 2,000 hands each, four seeds: 1.96 √(0.5 / 2,000 / 2,000 / 4) is 0.03 %."""
    for hand, width, end in (("3", "128", "100.00"), ("10", "8", "0.00")):
        ends = re.search(r"% \((\S+) to (\S+)\); each seed", point(page, hand, width)).groups()
        low, high = map(float, ends)
        assert high - low == pytest.approx(0.03, abs=0.011)
        assert end in ends


@pytest.mark.slow
def test_every_stage_of_a_step_is_written_out(page):
    seen = set()
    opened(page, "One decoder step")
    for stage in ("query", "scores", "softmax", "a", "state", "letter"):
        page.segmented_control(key="decoder_stage").set_value(stage).run()
        assert not page.exception
        seen.add(latex(page))
    assert len(seen) == 6
    page.segmented_control(key="decoder_stage").set_value("softmax").run()
    before = latex(page)
    page.number_input(key="decoder_step").set_value(3).run()
    assert latex(page) != before
    assert r"\alpha_{3,5}" in latex(page)
    assert "written so far: **eb**" in texts(page)


@pytest.mark.slow
def test_a_source_can_be_typed_and_a_bad_one_is_refused(page):
    opened(page, "Copy, reverse, sort")
    page.text_input(key="align_source").set_value("hgfedc").run()
    assert any("hgfedc → cdefgh" in each.value for each in page.caption)
    for text in ("abc", "abcdez", "", "🌧️"):
        page.text_input(key="align_source").set_value(text).run()
        assert not page.exception
        assert "`source`" in page.error[0].value
        assert "Shown is fbhdbc" in page.error[0].value
    assert any("fbhdbc → bbcdfh" in each.value for each in page.caption)
    page.segmented_control(key="align_model").set_value("rnn-attention").run()
    assert len(charts(page)) == 7
    opened(page, "Kinds of attention")
    page.segmented_control(key="maps_task").set_value("sort").run()
    assert len(charts(page)) == 3
