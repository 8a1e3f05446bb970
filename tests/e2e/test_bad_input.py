"""Values that cannot run are answered in words, at once, and never with a traceback."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e

_ROWS = "0.6  0.3  0.1\n0.3  0.4  0.3\n0.2  0.3  0.5"


def test_a_row_that_does_not_sum_to_one(bench):
    bench.fill("markov_transition", _ROWS.replace("0.6", "0.5"))
    main = bench.page.get_by_test_id("stMain")
    message = main.get_by_test_id("stAlert").filter(has_text="transition row 1")
    # Beside the buttons that are grey for it.
    expect(message).to_be_in_viewport()
    expect(message).to_contain_text("0.9")
    expect(bench.button("start")).to_be_disabled()
    expect(bench.part("markov_transition")).to_have_css("border-left-width", "3px")
    bench.fill("markov_transition", _ROWS)
    expect(bench.message("transition row 1")).to_have_count(0)
    expect(bench.button("start")).to_be_enabled()


def test_rows_that_are_no_probabilities(bench):
    for text in ("", "rain", "0.6 0.4\n0.3 0.7", "nan 0 0\n1 0 0\n1 0 0", "2 -1 0"):
        bench.fill("markov_transition", text)
        expect(bench.message("transition").first).to_be_visible()
        expect(bench.button("start")).to_be_disabled()
        bench.fill("markov_transition", _ROWS)
        expect(bench.button("start")).to_be_enabled()


def test_a_length_that_hides_recalled_days(bench):
    bench.choose("generator", "recall")
    bench.slide("length", "Home", "ArrowRight")
    expect(bench.field("length")).to_have_value("3")
    warning = bench.message("Days 1 and 4, which the table reads, lie before the 3 visible days")
    # The figures of the lengths on the way are worked out first.
    best = "Best possible from 3 days: accuracy 0.373"
    expect(bench.part("verdict")).to_contain_text(best, timeout=120_000)
    # What is said below the charts is announced above them, by its control.
    expect(bench.part("verdict")).to_contain_text("length: see below")
    expect(bench.part("verdict")).to_be_in_viewport()
    expect(warning).to_contain_text("length: Days 1 and 4")
    expect(bench.button("start")).to_be_enabled()


def test_a_learning_rate_that_diverges(bench):
    bench.fill("learning_rate", 1000)
    bench.press("start")
    bench.wait_for("done", "failed")
    expect(bench.message(re.compile("learning.rate")).first).to_be_visible()


def test_a_number_out_of_bounds(bench):
    for key, value in (("steps", 9_999_999), ("batch", 0), ("seed", -1)):
        bench.field(key).fill(str(value))
        bench.field(key).press("Enter")
        refused = re.compile("outside the allowed range|from .* to ")
        expect(bench.part(key)).to_contain_text(refused)
        bench.fill(key, 1)
        expect(bench.part(key)).not_to_contain_text("outside the allowed range")


def test_a_number_that_is_deleted_comes_back(bench):
    bench.fill("steps", 70)
    expect(bench.part("run_status")).to_contain_text("of 70")
    bench.fill("steps", "")
    expect(bench.field("steps")).to_have_value("70")


def test_a_loss_that_the_model_does_not_have(bench):
    bench.choose("loss", "next")
    bench.choose("model", "linear")
    expect(bench.message("loss").first).to_be_visible()
    expect(bench.button("start")).to_be_disabled()
    bench.choose("loss", "last")
    expect(bench.button("start")).to_be_enabled()
