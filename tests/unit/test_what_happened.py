"""What is said of a run, on made-up runs whose answer is plain."""

import numpy as np
import pytest

from attnlab.inspection import in_words, what_happened
from attnlab.models import AttentionOptions, GRUOptions, TransformerOptions
from attnlab.optimum import Best, Rung
from attnlab.training.evaluation import Evaluation

_LEVELS = {"uniform": 1.0986, "unigram": 1.09, "order-1": 1.08, "linear": 1.05, "optimal": 0.93}
_RUNGS = tuple(Rung(name, Best(nll=nll, accuracy=0.5)) for name, nll in _LEVELS.items())
_DAYS = np.array([True, False, False, True])
_SPLIT = np.array([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8]])


def _tests(*losses, stderr=0.005):
    return [(10 * i, Evaluation(nll, stderr, 0.5, 0.01)) for i, nll in enumerate(losses)]


def _happened(*losses, row=_SPLIT, informative=_DAYS, **rest):
    tests = _tests(*losses, **rest)
    return what_happened(tests, _RUNGS, vocab=3, informative=informative, row=row)


def test_a_rung_is_passed_where_the_loss_stays_below_it():
    happened = _happened(1.2, 1.085, 1.095, 1.07, 1.06)
    assert happened.passed == (("unigram", 30), ("order-1", 30))
    assert happened.step == 40


def test_a_rung_that_cannot_be_told_from_the_floor_is_not_passed():
    """Of a Markov chain those of higher orders are the floor, and a test may lie below it."""
    more = {"order-2": 0.93, "order-4": 0.938}
    rungs = (
        *_RUNGS[:-1],
        *(Rung(name, Best(nll=nll, accuracy=0.5)) for name, nll in more.items()),
        _RUNGS[-1],
    )
    found = what_happened(_tests(1.2, 0.925), rungs, vocab=3, informative=_DAYS, row=None)
    assert [name for name, _ in found.passed] == ["unigram", "order-1", "linear"]
    # A more exact test tells the one that is above the floor.
    exact = _tests(1.2, 0.925, stderr=0.002)
    found = what_happened(exact, rungs, vocab=3, informative=_DAYS, row=None)
    assert [name for name, _ in found.passed] == ["unigram", "order-1", "linear", "order-4"]


def test_the_attention_is_counted_over_heads_and_by_the_best_head_of_each_day():
    happened = _happened(1.2, 1.0)
    assert happened.informative == (1, 4)
    assert happened.attended == pytest.approx((0.9 + 0.8) / 2)
    assert happened.own == pytest.approx((0.9, 0.8))


def test_shares_are_of_what_can_be_learned():
    happened = _happened(1.2, 1.0143)
    assert happened.learned == pytest.approx(0.5, abs=1e-3)
    assert happened.linear == pytest.approx((1.0986 - 1.05) / (1.0986 - 0.93), abs=1e-3)


@pytest.mark.parametrize(("nll", "at_floor"), [(0.939, True), (0.941, False)])
def test_at_the_floor_is_within_two_errors(nll, at_floor):
    assert _happened(1.2, nll).at_floor is at_floor


def test_nothing_is_said_to_be_missing_at_the_floor():
    words = in_words(_happened(1.2, 0.935), TransformerOptions(heads=2))
    assert "85% of the attention is on days 1, 4" in words
    assert "largest share of one head: 90%, 80%" in words
    assert "no further gain can be measured" in words


def test_one_head_that_adds_up_is_explained_by_the_best_linear_predictor():
    one = np.array([[0.5, 0.0, 0.0, 0.5]])
    words = in_words(_happened(1.2, 1.045, row=one), AttentionOptions())
    assert "100% of the attention is on days 1, 4" in words
    assert "yet 32% is learned: the prediction is a weighted mean" in words
    assert "the linear predictor of least loss learns 29%" in words


def test_fewer_heads_than_informative_days_mix_them():
    one = np.array([[0.5, 0.0, 0.0, 0.5]])
    words = in_words(_happened(1.2, 0.96, row=one), TransformerOptions(heads=1))
    assert "the one head of a layer mixes the tokens of days 1, 4" in words


def test_attention_elsewhere_is_what_is_missing():
    away = np.array([[0.1, 0.4, 0.4, 0.1]])
    words = in_words(_happened(1.2, 1.04, row=away), TransformerOptions(heads=1))
    assert "20% of the attention is on days 1, 4" in words
    assert "what is missing: the rest of the attention" in words


def test_a_model_without_attention_is_judged_by_its_loss_alone():
    words = in_words(_happened(1.2, 1.0, row=None), GRUOptions())
    assert words == "Below order-1 since step 10, linear since step 10."


def test_a_run_that_has_not_begun_or_got_worse_says_so():
    assert in_words(_happened(1.2), TransformerOptions()).startswith("Not trained yet")
    assert in_words(_happened(1.2, 1.3), TransformerOptions()).startswith("Worse than a uniform")


def test_without_informative_days_no_attention_is_counted():
    nowhere = np.zeros(4, dtype=bool)
    assert "attention" not in in_words(_happened(1.2, 1.0, informative=nowhere), AttentionOptions())
