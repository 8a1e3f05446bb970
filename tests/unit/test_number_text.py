"""Lists and tables of numbers, and points, as text."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.configuration.number_text import (
    read_numbers,
    show_measured,
    show_numbers,
    show_percent,
)
from attnlab.configuration.options import OptionError
from attnlab.lessons.regression_data import MOST, read_points

ROW, TABLE, DAYS = (0.5, 0.5), ((0.5, 0.5), (0.25, 0.75)), (1, 4, 8)

NUMBERS = st.floats(allow_nan=False)
ROWS = st.lists(NUMBERS, min_size=1, max_size=4).map(tuple)


@hypothesis.given(row=ROWS, table=st.lists(ROWS, min_size=1, max_size=4).map(tuple))
def test_what_is_shown_is_read_back_to_the_last_digit(row, table):
    assert read_numbers("p", show_numbers(row), ROW) == row
    assert read_numbers("p", show_numbers(table), TABLE) == table


@hypothesis.given(days=st.lists(st.integers(), min_size=1, max_size=4).map(tuple))
def test_whole_numbers_stay_whole(days):
    found = read_numbers("days", show_numbers(days), DAYS)
    assert found == days
    assert all(isinstance(day, int) for day in found)


@pytest.mark.parametrize("text", ["0.1,0.9;0.5,0.5", "0.1 0.9\n0.5 0.5", " .1, .9 ;; 5e-1 , .5\n"])
def test_commas_spaces_lines_and_semicolons_stand_between_numbers(text):
    assert read_numbers("p", text, TABLE) == ((0.1, 0.9), (0.5, 0.5))
    assert read_numbers("p", text, ROW) == (0.1, 0.9, 0.5, 0.5)


@pytest.mark.slow
@hypothesis.given(text=st.text(max_size=12), default=st.sampled_from([ROW, TABLE, DAYS]))
def test_any_text_is_read_or_refused_by_name(text, default):
    try:
        found = read_numbers("p", text, default)
    except OptionError as error:
        message = str(error)
        assert message.startswith("`p` is ")
    else:
        assert len(found) > 0


@pytest.mark.parametrize(
    ("text", "default", "message"),
    [
        ("", ROW, "`p` is '': empty. Try "),
        (" ;\n", TABLE, "empty"),
        ("a b", ROW, "`p` is 'a b': not numbers"),
        ("1.5 2", DAYS, "`p` is '1.5 2': not whole numbers"),
    ],
)
def test_other_text_is_refused_with_the_remedy(text, default, message):
    with pytest.raises(OptionError, match=message):
        read_numbers("p", text, default)


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (0.50587, 0.00499, "0.506 ± 0.005"),
        (1.10423, 0.0, "1.104 ± 0.000"),
        (1.0, 0.00001, "1.000 ± 0.001"),
        (299.977, 3.728, "300.0 ± 3.7"),
        (-12345.6, 120.0, "−12,346 ± 120"),
        (float("inf"), float("nan"), "inf ± nan"),
    ],
)
def test_a_measured_number_shows_no_more_than_its_error_earns(value, stderr, text):
    assert show_measured(value, stderr) == text


@hypothesis.given(share=st.floats(0, 1) | st.floats(0, 1e-6).map(lambda small: 1 - small))
@hypothesis.example(0.995)
@hypothesis.example(1 - 1e-7)
def test_a_percentage_is_plain_and_never_rounded_to_none_or_all(share):
    shown = show_percent(share)
    number = float(shown.removesuffix(" %").strip("<> "))
    assert "e" not in shown
    assert (number == 0, number == 100) == (share == 0, share == 1)
    assert number == pytest.approx(100 * share, rel=0.06, abs=1e-5)
    if share > 0.9995 and share < 1:
        assert shown == "> 99.9 %"


@pytest.mark.parametrize(
    "text",
    ["0 1\n1 2.5\n2 -3", "0,1\n1,2.5\n2,-3", "0\t1\n\n 1 ; 2.5 \r\n2e0, -3.\n\n"],
)
def test_points_are_read(text):
    x, y = read_points("points", text)
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_array_equal(y, [1, 2.5, -3])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("points", "fewer than 3")),
        ("1 2\n3 4", ("fewer than 3",)),
        ("1 2\n3 4\nrain", ("line 3", "rain", "not two numbers")),
        ("1 2\n\n3 4 5\n6 7", ("line 3", "3 4 5")),
        ("1\n2 3\n4 5", ("line 1", "not two numbers")),
        ("1 2\n3 nan\n4 5", ("line 2", "nan")),
        ("1 2\n3 4\n-inf 5", ("line 3", "inf")),
        ("1 2\n3 4\n5 1e999", ("line 3", "inf")),
        ("1 2\n3 4\n1e7 1", ("line 3", "1,000,000")),
        ("1 2\n1 4\n1 5", ("x of every point",)),
        ("\n".join(f"{i} {i}" for i in range(MOST + 1)), (f"line {MOST + 1}", f"{MOST} points")),
        ("x, y\n1 2\n3 4\n5 6", ("line 1", "x, y")),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(OptionError) as refused:
        read_points("points", text)
    for word in words:
        assert word in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_most_points():
    x, _ = read_points("points", "\n".join(f"{i} {i}" for i in range(MOST)))
    assert len(x) == MOST
