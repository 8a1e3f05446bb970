"""What is said of a run, on made-up runs whose answer is plain."""

import numpy as np
import pytest

from attnlab.inspection import in_words, what_happened
from attnlab.models import AttentionOptions, GRUOptions, TransformerOptions
from attnlab.optimum import Baseline, Best
from attnlab.training.evaluation import Evaluation

_LEVELS = {"uniform": 1.0986, "unigram": 1.09, "order-1": 1.08, "linear": 1.05, "optimal": 0.93}
_RUNGS = tuple(Baseline(name, Best(nll=nll, accuracy=0.5)) for name, nll in _LEVELS.items())
_DAYS = np.array([True, False, False, True])
_SPLIT = np.array([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8]])


def _tests(*losses, stderr=0.005, excess_stderr=None):
    paired = {} if excess_stderr is None else {"excess_stderr": excess_stderr}
    return [
        (10 * i, Evaluation(nll, stderr, 0.5, 0.01, *((nll - 0.93,) if paired else ()), **paired))
        for i, nll in enumerate(losses)
    ]


def _happened(*losses, row=_SPLIT, informative=_DAYS, training=(), last_step=None, **rest):
    tests = _tests(*losses, **rest)
    more = {"losses": training, "last_step": last_step}
    return what_happened(tests, _RUNGS, vocab=3, informative=informative, row=row, **more)


def test_a_rung_is_passed_where_the_loss_stays_below_it():
    happened = _happened(1.2, 1.075, 1.095, 1.065, 1.06)
    assert happened.passed == (("unigram", 30), ("order-1", 30))
    assert happened.step == 40
    words = in_words(happened, TransformerOptions())
    assert words.endswith(" The model beats the best order-1 predictor from step 30.")


def test_a_baseline_itself_is_hardly_ever_said_to_beat_itself():
    """Two errors: in 2.3 % of tests; a bare comparison would say so in half of them."""
    rng, said = np.random.default_rng(0), 0
    for _ in range(2_000):
        loss = 1.08 + 0.005 * rng.standard_normal()
        said += any(name == "order-1" for name, _ in _happened(1.2, loss).passed)
    assert said < 2_000 * 0.023 + 4 * (2_000 * 0.023) ** 0.5


def test_the_attention_is_counted_over_heads_and_by_the_best_head_of_each_day():
    happened = _happened(1.2, 1.0)
    assert happened.informative == (1, 4)
    assert happened.attended == pytest.approx((0.9 + 0.8) / 2)
    assert happened.best_heads == ((1, 0.9), (2, 0.8))


def test_shares_are_of_what_can_be_learned():
    happened = _happened(1.2, 1.0143)
    assert happened.learned == pytest.approx(0.5, abs=1e-3)
    assert happened.linear == pytest.approx((1.0986 - 1.05) / (1.0986 - 0.93), abs=1e-3)


@pytest.mark.parametrize(("nll", "at_floor"), [(0.939, True), (0.941, False)])
def test_at_the_floor_without_exact_losses_is_within_two_errors(nll, at_floor):
    assert _happened(1.2, nll).at_floor is at_floor


@pytest.mark.parametrize(("nll", "at_floor"), [(0.9301, True), (0.932, False)])
def test_at_the_floor_with_exact_losses_is_what_the_tokens_cannot_distinguish(nll, at_floor):
    """√(2 nKL) = 1.4 and 6.3 standard deviations, where σ² = 2 KL and so the error is √(2 KL/n)."""
    error = (2 * (nll - 0.93) / 10_000) ** 0.5
    assert _happened(1.2, nll, excess_stderr=error).at_floor is at_floor


def _words(*losses, model=None, learning_rate=0.005, **rest):
    happened = _happened(*losses, **rest)
    return in_words(happened, model or TransformerOptions(heads=2), learning_rate=learning_rate)


def test_the_floor_is_reached_within_the_error_of_the_test():
    words = _words(1.2, 0.935)
    work = "85 % of the attention is on days 1 and 4. Head 1 reads day 1 (90 %), head 2 reads day 4"
    assert work in words
    assert words.endswith(
        "As good as possible, within the error of this test. "
        "The model beats the best linear predictor from step 10."
    )


def test_a_share_of_nearly_all_has_no_more_digits_than_were_measured():
    row = np.full((2, len(_DAYS)), 0.0004 / (~_DAYS).sum())
    row[:, _DAYS] = 0.9996 / _DAYS.sum()
    assert "> 99 % of the attention is on days 1 and 4" in _words(1.2, 0.935, row=row)


def test_a_share_that_uniform_attention_has_is_no_finding():
    even = np.full((2, 4), 0.25)
    words = _words(1.2, 1.07, row=even)
    assert "%" not in words
    assert "no higher on days 1 and 4 than on the others" in words
    # Nine of ten days have 90 % of uniform attention, which is not attention to the right days.
    most = np.arange(10) > 0
    assert "right days" not in _words(1.2, 1.0, row=np.full((1, 10), 0.1), informative=most)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.132, "is hardly higher on day 10 than on the others: 13 % against 9.6 % per day."),
        (0.1001, "is no higher on day 10 than on the others."),
        (0.09, "is no higher on day 10 than on the others."),
        (0.151, "15 % of the attention is on day 10."),
    ],
)
def test_attention_that_is_a_little_higher_is_said_to_be_so_with_its_numbers(share, words):
    row = np.full((1, 10), (1 - share) / 9)
    row[:, 9] = share
    assert words in _words(1.2, 1.07, row=row, informative=np.arange(10) == 9)


def test_a_layer_is_named_if_there_are_several():
    named = what_happened(_tests(1.2, 1.0), _RUNGS, vocab=3, informative=_DAYS, row=_SPLIT, layer=2)
    assert "of the attention of layer 2 is on" in in_words(named, TransformerOptions(layers=2))


@pytest.mark.parametrize(
    ("nll", "stderr", "words"),
    [
        (1.3, 0.005, "Worse than a uniform guess."),
        (1.0950, 0.005, "No better than a uniform guess, within the error of the test."),
        (1.0200, 0.080, "This test is too small to distinguish the model from a uniform guess or"),
        (1.0050, 0.045, "Better than a uniform guess; the test is too small to distinguish it fr"),
        (1.0880, 0.005, "Better than a uniform guess, but not measurably better than any other"),
        (1.0950, 0.001, "Better than a uniform guess, but worse than every other baseline."),
    ],
)
def test_a_run_that_passed_nothing_is_not_said_to_be_worse_than_its_test_shows(nll, stderr, words):
    found = _words(1.2, nll, stderr=stderr)
    assert found.startswith(words)
    # No test says of a loss that it is worse than a guess, or like it, and the best possible.
    assert "As good as possible" not in found


def test_a_head_that_adds_up_is_explained_by_the_best_linear_predictor():
    one = np.array([[0.5, 0.0, 0.0, 0.5]])
    for model in (AttentionOptions(), TransformerOptions(mlp_width=0)):
        words = _words(1.2, 1.045, row=one, model=model)
        assert "The best linear predictor learns 29 %" in words
        assert "combine days, for example in an MLP" in words
    assert "linear predictor learns" not in _words(1.2, 1.045, row=one)
    assert "linear predictor learns" not in _words(1.2, 0.98, row=one, model=AttentionOptions())


def test_one_head_on_the_right_days_is_not_said_to_lose_their_order():
    one = np.array([[0.5, 0.0, 0.0, 0.5]])
    words = _words(1.2, 0.96, row=one, model=TransformerOptions(heads=1))
    assert words.endswith(
        "It attends to the right days, but does not yet combine them as well as possible. "
        "The model beats the best linear predictor from step 10."
    )


def test_attention_is_missing_only_below_the_best_linear_predictor():
    away = np.array([[0.1, 0.4, 0.4, 0.1]])
    assert "Missing: more attention on these days" in _words(1.2, 1.07, row=away)
    for loss in (1.05, 1.04, 1.0):
        assert "Missing" not in _words(1.2, loss, row=away)
    # A model without an MLP lacks more than attention.
    assert "Missing" not in _words(1.2, 1.07, row=away, model=AttentionOptions())


_STEPS = 20
_JITTER = 0.01 * np.cos(np.arange(_STEPS))


def test_a_loss_that_shot_up_names_the_learning_rate():
    rate = "lower the `learning_rate`, which is 10."
    assert rate in _words(1.2, 900.0, 1.4, training=1.4 + _JITTER, learning_rate=10.0)
    # A poor start that small steps have hardly improved, and a loss that has come down again.
    assert "learning_rate" not in _words(1.4, 1.39, 1.38, training=1.39 + _JITTER)
    assert "learning_rate" not in _words(1.2, 900.0, 1.0, training=1.0 + _JITTER)
    # Sequences that are known memorises, whose test loss grows.
    assert "learning_rate" not in _words(1.2, 1.1, 4.0, training=0.1 + _JITTER)


def test_a_training_loss_below_the_floor_is_learned_by_heart():
    assert "memorises" in _words(1.2, 1.1, 1.3, training=0.1 + _JITTER)
    assert "memorises" not in _words(1.2, 1.1, 1.0, training=0.93 + _JITTER)
    assert "memorises" not in _words(1.2, 1.1, 1.0)


def test_more_steps_are_advised_only_while_the_loss_falls_and_at_the_end():
    assert "try more `steps`" in _words(1.2, 1.1, 1.05, 1.0, last_step=30)
    assert "try more `steps`" not in _words(1.2, 1.1, 1.05, 1.0, last_step=300)
    assert "try more `steps`" not in _words(1.2, 1.1, 1.0, 1.0, last_step=30)
    # Within the error of the test.
    assert "try more `steps`" not in _words(1.2, 1.1, 1.05, 1.0, last_step=30, stderr=0.02)


def test_days_that_all_matter_are_not_counted():
    words = _words(1.2, 1.0, informative=np.ones(4, dtype=bool))
    assert "attention" not in words


def test_a_model_without_attention_is_judged_by_its_loss_alone():
    words = in_words(_happened(1.2, 1.0, row=None), GRUOptions())
    assert words == "The model beats the best linear predictor from step 10."


def test_a_run_that_has_not_begun_says_so():
    assert in_words(_happened(1.2), TransformerOptions()).startswith("Not trained yet")


def test_without_informative_days_no_attention_is_counted():
    nowhere = np.zeros(4, dtype=bool)
    assert "attention" not in in_words(_happened(1.2, 1.0, informative=nowhere), AttentionOptions())
