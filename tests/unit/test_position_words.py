"""The word for a position: days of a weather, tokens of a task, wherever a person reads it."""

import json

import numpy as np

from attnlab.charts import state_chart, state_table
from attnlab.charts.drawing import with_position_word_in
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
    chart = state_chart(state_table(np.eye(3)), length=3, symbols=None)
    assert with_position_word_in(chart, "day") is chart
    found = with_position_word_in(chart, "token").specification()["encoding"]
    assert found["x"]["title"] == "after token"
    assert found["x"]["field"] == "day"
    assert json.loads(chart.form)["encoding"]["x"]["title"] == "after day"
