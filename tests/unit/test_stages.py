"""The stages of a head: the literature's worked example, hand rules, and sizes of tables."""

import json
from decimal import Decimal
from pathlib import Path

import jax
import numpy as np
import pytest

from attnlab.attention import SCORES, DotProduct
from attnlab.configuration.number_text import read_matrix, show_matrix
from attnlab.configuration.options import OptionError
from attnlab.lessons.stages import (
    WORKED_EXAMPLES,
    Head,
    average_by_loop,
    average_by_matrix,
    average_by_softmax,
    check_shapes,
    compiled_stages,
)
from attnlab.models.parts import Projection

REFERENCE = json.loads((Path(__file__).parent / "worked_example.json").read_text())
EXAMPLE = WORKED_EXAMPLES["worked example"]


def head_of(example, *, bias=0.0):
    def projection(rows):
        weight = np.array(rows, dtype=np.float32)
        return Projection(weight, np.full(weight.shape[1], bias, dtype=np.float32))

    return Head(*map(projection, (example.w_query, example.w_key, example.w_value)))


def run(example, *, mask=None, scale=1.0, score=None, bias=0.0, asking=None):
    inputs = np.array(example.inputs, dtype=np.float32)
    asking = inputs if asking is None else asking
    mask = np.ones((len(asking), len(inputs)), dtype=bool) if mask is None else mask
    head, score = head_of(example, bias=bias), score or DotProduct()
    return compiled_stages(head, asking, inputs, mask=mask, scale=scale, score=score)


def test_the_worked_example_is_the_literature_s():
    inputs, *weights = (REFERENCE[name] for name in ("x", "w_query", "w_key", "w_value"))
    assert [list(map(list, rows)) for rows in EXAMPLE[:4]] == [inputs, *weights]


@pytest.mark.parametrize("name", ["queries", "keys", "values", "scores"])
def test_whole_numbers_of_the_worked_example_are_exact(name):
    np.testing.assert_array_equal(getattr(run(EXAMPLE), name), REFERENCE[name])


def test_the_pattern_of_the_worked_example_to_its_printed_digits():
    for row, printed in zip(run(EXAMPLE).pattern, REFERENCE["pattern"], strict=True):
        for share, text in zip(row, map(Decimal, printed), strict=True):
            # 0.9820079 is printed as 0.982007: some digits are cut off, not rounded.
            last_digit = 10.0 ** text.as_tuple().exponent
            assert float(share) == pytest.approx(float(text), abs=last_digit)


def test_the_output_of_the_worked_example_to_its_printed_digits():
    found = run(EXAMPLE)
    exact = np.array(REFERENCE["pattern"], dtype=float) @ np.array(REFERENCE["values"])
    # The reference prints its pattern to six digits; values are at most 8.
    np.testing.assert_allclose(found.output, exact, atol=1e-5)
    # Its printed output comes from shares cut to one decimal, where 0.063 counts as 0.
    cut = np.round(found.pattern.astype(float) - 0.015, 1)
    printed = REFERENCE["output_with_pattern_rounded_to_one_decimal"]
    np.testing.assert_allclose(cut @ found.values, printed, atol=1e-9)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("name", WORKED_EXAMPLES)
def test_stages_follow_from_one_another(name, score):
    example = WORKED_EXAMPLES[name]
    length = len(example.inputs)
    mask = np.tri(length, dtype=bool)
    found = run(example, mask=mask, scale=0.5, score=SCORES[score](), bias=0.25)
    inputs = np.array(example.inputs)
    for part, weight in zip(found[:3], example[1:4], strict=True):
        np.testing.assert_allclose(part, inputs @ np.array(weight) + 0.25, atol=1e-5)
    np.testing.assert_allclose(found.scaled, 0.5 * found.scores, rtol=1e-6)
    np.testing.assert_array_equal(found.masked, np.where(mask, found.scaled, -np.inf))
    shares = np.exp(found.masked.astype(float) - found.masked.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.pattern, shares / shares.sum(1, keepdims=True), atol=1e-5)
    for q, k in np.ndindex(length, length):
        np.testing.assert_allclose(
            found.weighted[q, k], found.pattern[q, k] * found.values[k], atol=1e-6
        )
    np.testing.assert_allclose(found.output, found.weighted.sum(axis=1), atol=1e-5)


def test_one_hot_keys_look_the_next_input_up():
    found = run(WORKED_EXAMPLES["one-hot keys"])
    np.testing.assert_array_equal(found.pattern.argmax(axis=1), [1, 2, 3, 0])
    # e^6 / (e^6 + 3) = 0.9926
    np.testing.assert_allclose(found.pattern.max(axis=1), 0.9926, atol=1e-4)


def test_a_random_wide_head_is_softer_when_scaled():
    example = WORKED_EXAMPLES["random head of width 16"]
    assert np.array(example.w_query).shape == (4, 16)
    stages_of = {scale: run(example, scale=scale) for scale in (1.0, 0.25)}
    plain, scaled = (found.pattern.max(axis=1) for found in stages_of.values())
    assert np.all(plain > scaled)
    # What the lesson says of it.
    assert np.std(stages_of[1.0].scores) == pytest.approx(2, abs=0.05)
    assert (plain > 0.8).sum() == 3
    assert 0.4 < scaled.max() < 0.45


def test_queries_may_come_from_elsewhere():
    asking = np.array([[1, 1, 1, 1], [1, 0, 1, 0]], dtype=np.float32)
    crossed, own = run(EXAMPLE, asking=asking), run(EXAMPLE)
    np.testing.assert_allclose(crossed.output, own.output[[2, 0]], atol=1e-6)


WAYS = (average_by_loop, jax.jit(average_by_matrix), jax.jit(average_by_softmax))


@pytest.mark.parametrize(("length", "channels"), [(1, 1), (8, 2), (30, 3)])
def test_three_ways_are_one(length, channels):
    rows = np.random.default_rng(length).normal(size=(length, channels)).astype(np.float32)
    expected = rows[:1].astype(float)
    for t in range(1, length):
        # The mean of t + 1 rows from the mean of t of them.
        expected = np.vstack([expected, expected[-1] + (rows[t] - expected[-1]) / (t + 1)])
    for way in WAYS:
        np.testing.assert_allclose(way(rows), expected, atol=1e-5)


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
        ("1 2\n3", "`w_key row 2` is '3': of length 1, but row 1 is of length 2"),
        ("1 x", "`w_key row 1, column 2` is 'x': not a number"),
        ("1 ?", "`w_key row 1, column 2` is '': empty"),
        ("1\n inf", "`w_key row 2, column 1` is 'inf': not finite"),
        ("nan", "`w_key row 1, column 1` is 'nan': not finite"),
        ("1e999", "not finite"),
        ("2e6", "too large"),
        ("1\n1\n1\n1", "`w_key` is '4 × 1': too large for"),
        ("1 1 1 1 1", "`w_key` is '1 × 5': too large for"),
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
        ("inputs", ((1.0,),), "`w_query` is '2 × 3': 2 rows, but the inputs have 1 columns"),
        ("w_value", ((1.0,),), "`w_value` is '1 × 1': 1 rows.* Give it 2 rows"),
        ("w_key", ((1.0, 2.0),) * 2, "`w_key` is '2 × 2': 2 columns, but `w_query` has 3"),
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
