"""The table of all pasts agrees with enumeration and with matrix products in float64."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import (
    PROCESSES,
    AbstractHiddenChain,
    Even,
    GoldenMean,
    Markov,
    Mess3,
)
from attnlab.optimum.exact_table import certain_after, exact_table
from tests.unit.process_cases import CASES

DOCS = Path(__file__).resolve().parents[2] / "docs"
LENGTH = 3
HIDDEN = [name for name, case in CASES.items() if isinstance(case.generator, AbstractHiddenChain)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_past_has_the_probability_and_the_next_law_of_enumeration(name):
    process = CASES[name].generator
    length = process.own_length() or LENGTH
    joint = CASES[name].joint(length + 1)
    found = {past.tokens: past for past in exact_table(process, length)}
    for seen in range(length + 1):
        law = joint.sum(axis=tuple(range(seen, length + 1)))
        following = joint.sum(axis=tuple(range(seen + 1, length + 1)))
        possible = set(map(tuple, np.argwhere(law > 1e-12).tolist()))
        assert possible == {tokens for tokens in found if len(tokens) == seen}
        for tokens in possible:
            assert found[tokens].probability == pytest.approx(law[tokens], rel=1e-5)
            expected = following[tokens] / law[tokens]
            np.testing.assert_allclose(found[tokens].next_probs, expected, atol=3e-6)


@pytest.mark.parametrize("name", HIDDEN)
def test_beliefs_are_products_of_matrices(name):
    process = CASES[name].generator
    for past in exact_table(process, 2):
        weights = process.first_probs
        for token in past.tokens:
            weights = weights @ process.noisy_transitions[token]
        assert past.probability == pytest.approx(weights.sum(), rel=1e-5)
        np.testing.assert_allclose(past.belief, weights / weights.sum(), atol=3e-6)


def test_where_the_hidden_state_can_be_seen():
    # The last token of the golden mean is its state.
    assert certain_after(GoldenMean(), 3) == pytest.approx([0, 1, 1, 1])
    assert certain_after(Mess3(), 3) == [0, 0, 0, 0]
    # Only the token 0 shows that the number of ones is even, and it comes first in a third.
    assert certain_after(Even(), 1) == pytest.approx([0, 1 / 3])


def _documented():
    page = (DOCS / "exact-tables.md").read_text()
    found = re.findall(r"^\| \[(.*)\]\((.*)\) \| (\d+) \| (\d+) \| (.*) % \|$", page, re.MULTILINE)
    assert len(found) == 9
    return found


@pytest.mark.parametrize("row", _documented(), ids=lambda row: row[0])
def test_the_tables_of_the_documentation_are_those_of_the_processes(row):
    name, file, pasts, states, certain = row
    process = PROCESSES[name]()
    _, *rows = csv.reader((DOCS / file).read_text().splitlines())
    expected = list(exact_table(process, 5))
    assert (len(expected), len(process.hidden_states)) == (int(pasts), int(states))
    assert [row[0] for row in rows] == [process.vocabulary.render(past.tokens) for past in expected]
    numbers = [[past.probability, *past.belief, *past.next_probs] for past in expected]
    np.testing.assert_allclose([[*map(float, row[1:])] for row in rows], numbers, atol=2e-6)
    assert certain_after(process, 5)[-1] == pytest.approx(float(certain) / 100, abs=6e-4)


def test_a_process_without_hidden_states_has_no_beliefs_and_large_tables_are_refused():
    assert all(past.belief.size == 0 for past in exact_table(Markov(), 2))
    with pytest.raises(OptionError, match=r"3\^20 pasts are more than"):
        next(exact_table(Mess3(), 20))
