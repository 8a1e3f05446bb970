"""The word for a position: days of a weather, tokens of a task, wherever a person reads it."""

import json

import numpy as np

from attnlab.charts import pattern_chart, pattern_table
from attnlab.charts.core.drawing import with_position_word_in
from attnlab.configuration.position_words import with_position_word
from attnlab.generators import GENERATORS, TASKS


def test_processes_have_days_and_tasks_have_tokens():
    assert {kind.position_word for kind in GENERATORS.values()} == {"day"}
    assert {kind.position_word for kind in TASKS.values()} == {"token"}


def test_words_of_days_alone_are_replaced():
    text = "Day 2 and the days before it, today and a holiday: by_day."
    assert with_position_word(text, "day") == text
    assert with_position_word(text, "token") == (
        "Token 2 and the tokens before it, today and a holiday: by_day."
    )


def test_titles_of_a_chart_change_and_its_fields_do_not():
    table = pattern_table(np.eye(3), np.tri(3, dtype=bool), None)
    chart = pattern_chart(table, length=3, symbols=None, dark=False, height=100)
    assert with_position_word_in(chart, "day") is chart
    found = with_position_word_in(chart, "token").specification()
    axes = [found["encoding"][axis]["title"] for axis in "xy"]
    assert axes == ["key: token attended to →", "← query: token that attends"]
    fields = [tip["field"] for tip in found["encoding"]["tooltip"]]
    assert fields[:2] == ["query_day", "key_day"]
    assert json.loads(chart.form)["encoding"]["x"]["title"] == "key: day attended to →"
