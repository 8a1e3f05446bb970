"""The verdict on a comparison, with numbers computed by hand."""

import dataclasses

import pytest

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.summary import References, summarise
from attnlab.comparisons.verdict import verdict_on
from attnlab.generators import NDays
from attnlab.models import LinearOptions, TransformerOptions
from attnlab.optimum import Best
from tests.unit.made_up_results import SHORT, all_finished

LINEAR = dataclasses.replace(SHORT, model=LinearOptions())
TRANSFORMER = dataclasses.replace(SHORT, model=TransformerOptions())
# With three seeds, an interval is mean ± 4.303 s / √3.
LOW, HIGH = (0.50, 0.52, 0.54), (0.60, 0.63, 0.66)


def row(experiment, accuracies, losses=None, *, ceiling=0.8, floor=0.8):
    runs = all_finished(experiment, losses or [1.0] * len(accuracies), accuracies=accuracies)
    known = References(Best(floor, ceiling), Best(1.0986, 1 / 3))
    (found,) = summarise(runs, [Setting((), experiment)], references=lambda _: known)
    return found


def test_a_difference_that_is_real_and_what_is_left_to_learn():
    # Differences of 0.10, 0.11, 0.12 have s = 0.01; the accuracies of attention have s = 0.03.
    rows = row(LINEAR, LOW), row(SHORT, HIGH)
    assert verdict_on(rows, ("linear", "attention"), "accuracy") == [
        "attention is best: its accuracy is above that of linear by 0.110 (95% interval 0.085 to "
        "0.135).",
        "attention is 0.170 (0.095 to 0.245) below the best possible.",
    ]


def test_a_lower_loss_is_better():
    flat = (0.5, 0.5, 0.5)
    rows = row(LINEAR, flat, (1.0, 1.02, 1.04)), row(SHORT, flat, (0.9, 0.91, 0.92))
    assert verdict_on(rows, ("linear", "attention"), "nll") == [
        "attention is best: its loss is below that of linear by 0.110 (95% interval 0.085 to "
        "0.135) nats.",
        "attention is 0.110 (0.085 to 0.135) nats above the best possible.",
    ]


def test_a_difference_within_the_noise_beside_one_that_is_real():
    # Differences of 0.01, 0.01, 0 have s = 0.00577, and t = 2 has p = 0.18, times three pairs.
    rows = row(LINEAR, LOW), row(SHORT, HIGH), row(TRANSFORMER, (0.61, 0.64, 0.66))
    assert verdict_on(rows, ("linear", "attention", "transformer"), "accuracy") == [
        "No clear winner: the accuracy of transformer is above that of attention by 0.007 (95% "
        "interval −0.008 to 0.021).",
        "transformer is 0.163 (0.101 to 0.226) below the best possible.",
        "attention beats linear by 0.110 (0.085 to 0.135).",
    ]


def test_seeds_that_both_finished_decide_which_is_better():
    # By its own mean attention is better. Over two seeds, 0.015 ± 12.71 · 0.00707 / √2 it is worse.
    rows = row(LINEAR, (0.62, 0.65)), row(SHORT, (0.61, 0.63, 0.80))
    assert verdict_on(rows, ("linear", "attention"), "accuracy")[0] == (
        "No clear winner: the accuracy of linear is above that of attention by 0.015 (95% interval "
        "−0.049 to 0.079)."
    )


def test_the_best_possible_is_reached_only_if_every_seed_is_near_it():
    reached = row(SHORT, HIGH, ceiling=0.64)
    assert verdict_on([reached], ["attention"], "accuracy") == [
        "attention reaches the best possible accuracy within the error."
    ]
    # With two seeds, mean ± 12.71 s / √2 contains nearly anything.
    wide = row(SHORT, (0.58, 0.60), ceiling=0.64)
    assert verdict_on([wide], ["attention"], "accuracy") == [
        "attention is 0.05 (−0.08 to 0.18) below the best possible accuracy, within the noise."
    ]


@pytest.mark.parametrize(
    ("figure", "amount"), [("accuracy", "0.630"), ("nll", "0.900 nats"), ("learned", "66.5 %")]
)
def test_one_seed_has_no_error_and_no_test(figure, amount):
    rows = row(LINEAR, LOW[:1], (1.0,)), row(SHORT, HIGH[1:2], (0.9,))
    name = {"accuracy": "accuracy", "nll": "loss", "learned": "share learned"}[figure]
    assert verdict_on(rows, ("linear", "attention"), figure) == [
        f"attention has the best {name}, {amount}.",
        "A test of the difference needs two finished seeds of each setting.",
    ]
    assert verdict_on(rows[1:], ["attention"], figure) == [f"The {name} of attention is {amount}."]


def test_processes_are_not_compared_and_runs_without_a_result_are_counted():
    other = dataclasses.replace(SHORT, generator=NDays(n=2))
    late = row(other, LOW)
    failed = dataclasses.replace(late.results[0], state="failed", reason="diverged")
    late = dataclasses.replace(late, results=(failed, *late.results[1:]))
    assert verdict_on([row(SHORT, HIGH), late], ["markov", "ndays"], "accuracy") == [
        "markov is 0.170 (0.095 to 0.245) below the best possible accuracy.",
        "ndays is 0.280 (0.230 to 0.330) below the best possible accuracy.",
        "Runs without a result are left out: 1.",
    ]
    assert verdict_on([], [], "accuracy") == []
