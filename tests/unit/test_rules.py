"""What generators say of their rule, for people to read."""

import dataclasses

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import GENERATORS, PROCESSES, Cards, Custom, HiddenMarkov, Markov, Recall


@pytest.mark.parametrize("kind", PROCESSES.values(), ids=PROCESSES)
def test_rule(kind):
    generator = kind().at_length(kind().own_length() or 10)
    assert generator.formula.count("{") == generator.formula.count("}")
    # It is free to leave out.
    assert ("=" in generator.formula) == bool(generator.formula)
    for table in generator.tables:
        assert np.shape(table.probs) == (len(table.outline.rows), len(table.outline.columns))
        np.testing.assert_allclose(np.sum(table.probs, axis=1), 1, atol=1e-9)
        assert len(set(table.outline.rows)) == len(table.outline.rows)


@pytest.mark.parametrize(
    ("generator", "number"),
    [
        (GENERATORS["ndays"](n=7), "14"),
        (GENERATORS["dotmod"](noise=0.1), "0.05"),
        (Markov(initial=(0.25, 0.25, 0.5)), "0.25"),
        (Recall(days=(2, 3)).at_length(5), "x_{6}"),
        (HiddenMarkov(initial=(0.15, 0.85)), "0.85"),
        (Cards(hand=7), "y_{7}"),
    ],
)
def test_formula_has_the_numbers(generator, number):
    assert number in generator.formula


def test_recall_rows_are_its_triples():
    generator = Recall()
    (table,) = generator.tables
    assert table.outline.rows[1] == "🌧️🌧️☁️"
    assert len(table.probs) == 27


def test_outline_of_pairs():
    outline = Custom.outline("table", {"symbols": "a b", "order": 2})
    assert outline.rows == ("a a", "a b", "b a", "b b")
    assert outline.columns == ("a", "b")


@pytest.mark.parametrize("symbols", ["a a", "a", "a b c d e f g", ""])
def test_no_outline_of_bad_symbols(symbols):
    with pytest.raises(OptionError, match="symbols"):
        Custom.outline("table", {"symbols": symbols, "order": 1})


def test_states_follow_the_first_distribution():
    values = {"initial": (0.2, 0.3, 0.5)}
    outline = HiddenMarkov.outline("showing", values)
    assert len(outline.rows) == 3
    assert outline.columns == HiddenMarkov.vocabulary.symbols


def test_the_rule_is_no_option():
    for kind in PROCESSES.values():
        names = {field.name for field in dataclasses.fields(kind)}
        assert not names & {"formula", "tables", "outline"}
