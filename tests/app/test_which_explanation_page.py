"""The page “Which explanation is right?” without a browser."""

import numpy as np
import pytest

from attnlab.lessons.examples import shipped_example
from attnlab.lessons.explanations import SHOWN, largest
from tests.app.lessons import charts, open_page, texts


@pytest.fixture(scope="module")
def ranked():
    return dict(zip(SHOWN, shipped_example("explanations").result, strict=True))


def test_it_opens_with_a_sequence_in_which_attention_misleads(ranked):
    page = open_page("pages/which_explanation.py")
    assert not page.error
    assert len(charts(page)) == 1
    at = page.slider(key="explained_sequence_recall").value - 1
    # The answer is in the days that recall reads; some of them have less attention than others.
    truth = ranked["recall"].truths.process.matters[at]
    assert [*np.flatnonzero(truth) + 1] == [1, 4, 8]
    pattern = ranked["recall"].scores["attention"][at]
    assert set(np.argsort(-pattern)[:3] + 1) != {1, 4, 8}
    said = texts(page)
    assert "**Attention misleads here**" in said
    assert f"looks most at day {pattern.argmax() + 1}" in said
    assert "the answer is in days 1, 4 and 8" in said


@pytest.mark.slow
def test_every_sequence_and_family_can_be_chosen(ranked):
    page = open_page("pages/which_explanation.py")
    for name in SHOWN:
        page.segmented_control(key="explained_process").set_value(name).run()
        for number in (1, len(ranked[name].tokens)):
            page.slider(key=f"explained_sequence_{name}").set_value(number).run()
            assert not page.exception
    for family, row in (("gru", "–"), ("transformer", "attention rollout")):
        page.segmented_control(key="explained_family").set_value(family).run()
        assert not page.exception
        table = page.dataframe[0].value
        assert ("attention" in table.index) == (family == "transformer")
        assert "random ranking" in table.index
        assert row == "–" or row in table.index


def test_of_equal_scores_the_first_are_the_largest():
    assert largest(np.array([0.5, 0.5, 0.1, 0.5]), 2).tolist() == [True, True, False, False]
