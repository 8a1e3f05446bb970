"""Matrices as people type them, and whether they fit together."""

import pytest

from attnlab.configuration.number_text import read_matrix, show_matrix
from attnlab.configuration.options import OptionError
from attnlab.lessons.stages import WORKED_EXAMPLES, check_shapes

ROWS = {
    "inputs": ((1.0, 0.0), (0.0, 1.0), (2.0, 2.0)),
    "w_query": ((1.0, 2.0, 3.0),) * 2,
    "w_key": ((1.0, 2.0, 3.0),) * 2,
    "w_value": ((1.0,),) * 2,
}


def read(text):
    return read_matrix("w_key", text, most_rows=3, most_columns=4)


@pytest.mark.parametrize(
    ("text", "rows"),
    [("1 0 1", ((1, 0, 1),)), ("1,2\n3,4", ((1, 2), (3, 4))), (" 1 ; -2.5e1 ;\n", ((1,), (-25,)))],
)
def test_matrices_are_read(text, rows):
    assert read(text) == rows
    assert read(show_matrix(rows)) == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "`w_key` is '': empty"),
        (" \n ; ", "`w_key` .* empty"),
        ("1 2\n3", "`w_key row 2` is '3': of length 1, where row 1 is of length 2"),
        ("1 x", "`w_key row 1, column 2` is 'x': not a number"),
        ("1 ?", "`w_key row 1, column 2` is '': empty"),
        ("1\n inf", "`w_key row 2, column 1` is 'inf': not finite"),
        ("nan", "`w_key row 1, column 1` is 'nan': not finite"),
        ("1e999", "not finite"),
        ("2e6", "too large"),
        ("1\n1\n1\n1", "`w_key` is '4 × 1': larger than"),
        ("1 1 1 1 1", "`w_key` is '1 × 5': larger than"),
    ],
)
def test_what_is_no_matrix_is_refused_by_its_cell(text, words):
    with pytest.raises(OptionError, match=words):
        read(text)


@pytest.mark.parametrize("name", WORKED_EXAMPLES)
def test_every_example_fits_together_and_the_text_keeps_it(name):
    tables = WORKED_EXAMPLES[name]._asdict()
    tables.pop("lesson")
    check_shapes(tables)
    for rows in tables.values():
        text = show_matrix(rows)
        assert read_matrix("x", text, most_rows=8, most_columns=16) == rows


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("inputs", ((1.0,),), "`w_query` is '2 × 3': 2 rows, where the inputs have 1 columns"),
        ("w_value", ((1.0,),), "`w_value` is '1 × 1': 1 rows.* Give it 2 rows"),
        ("w_key", ((1.0, 2.0),) * 2, "`w_key` is '2 × 2': 2 columns, where `w_query` has 3"),
        ("asking", ((1.0, 2.0, 3.0),), "`asking` is '1 × 3': 3 columns.* Give it 2 columns"),
        ("b_key", ((1.0,),), "`b_key` is '1 × 1': not one row of 3"),
        ("b_value", ((1.0,),) * 2, "`b_value` is '2 × 1': not one row of 1"),
    ],
)
def test_tables_that_do_not_fit_are_refused_by_name(name, rows, words):
    with pytest.raises(OptionError, match=words):
        check_shapes({**ROWS, name: rows})


def test_values_may_have_a_width_of_their_own():
    check_shapes({**ROWS, "asking": ((1.0, 1.0),), "b_value": ((2.0,),)})
