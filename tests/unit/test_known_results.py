"""Known results: the rule of the verdicts, and the shipped numbers."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from attnlab import charts
from attnlab.command_line.cli import main
from attnlab.comparisons.grid import Setting, Study
from attnlab.comparisons.shipped import shipped
from attnlab.generators import Markov
from attnlab.known_results import (
    AGREES,
    DISAGREES,
    KNOWN_RESULTS,
    OPEN,
    Check,
    KnownResult,
    overall,
    verdict_on,
)
from attnlab.known_results.blog_post import PUBLISHED
from attnlab.known_results.over_training import (
    delay_of_test_accuracy,
    steps_between_drop_and_heads,
    steps_nearest_to_unigram,
)
from attnlab.models import AttentionOptions
from attnlab.optimum.sequences import predictives
from attnlab.training.experiment import Experiment
from tests.unit.made_up_results import evaluation, finished, with_training

_NAMES = list(KNOWN_RESULTS)
GROKKING = KNOWN_RESULTS["grokking"]


def _of(*numbers, measure="accuracy"):
    return {"ours": {measure: dict(enumerate(numbers, 10))}}


@pytest.mark.parametrize(
    ("inside", "outside", "says"),
    [(5, 0, AGREES), (4, 1, OPEN), (1, 4, OPEN), (0, 5, DISAGREES), (4, 0, AGREES), (3, 0, OPEN),
     (18, 2, AGREES), (2, 18, DISAGREES)],
)  # fmt: skip
def test_a_claim_agrees_if_most_seeds_are_inside_beyond_chance(inside, outside, says):
    claim = Check("between", "ours", "accuracy", least=0.4, most=0.6)
    verdict = verdict_on(claim, _of(*[0.5] * inside, *[0.9] * outside))
    assert (verdict.within, verdict.says) == (inside, says)
    # Wilson's bounds solve (share − p)² = z² p (1 − p)/n.
    n, share = inside + outside, inside / (inside + outside)
    for p in verdict.share.ends:
        if 0 < p < 1:
            assert (share - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n, rel=1e-5)


@pytest.mark.parametrize("name", _NAMES)
def test_a_claim_and_its_outcome_are_in_short_sentences(name):
    known = KNOWN_RESULTS[name]
    sentences = [*known.claim.split(". "), known.outcome(known.shipped_numbers)]
    assert max(len(each.split()) for each in sentences) <= 22


def test_an_outcome_has_means_of_settings_and_of_claims():
    checks = (Check("", "long", "nll", minus="short"), Check("", "long", "accuracy"))
    known = dataclasses.replace(
        KNOWN_RESULTS["grokking"], checks=checks, found="{long:.1f} is {0:.1f} more, {1:.0%} right."
    )
    of = {
        "long": {"nll": {0: 3.0, 1: 5.0}, "accuracy": {0: 0.2, 1: 0.3}},
        "short": {"nll": {0: 2.0, 1: 3.0}, "accuracy": {}},
    }
    assert known.outcome(of) == "4.0 is 1.5 more, 25% right."


@pytest.mark.parametrize("name", _NAMES)
def test_each_rule_decides_both_ways_on_planted_numbers(name):
    for check in KNOWN_RESULTS[name].checks:
        edges = [edge for edge in (check.least, check.most) if np.isfinite(edge)]
        inside, outside = float(np.mean(edges)), edges[0] + (1 if edges[0] == check.most else -1)
        for number, says in ((inside, AGREES), (outside, DISAGREES)):
            of = {check.setting: {check.measure: dict.fromkeys(range(5), number)}}
            if check.minus:
                of[check.minus] = {check.measure: dict.fromkeys(range(5), 0.0)}
            assert verdict_on(check, of).says == says


def test_the_claimed_range_of_a_share_ends_at_1():
    known = KNOWN_RESULTS["bottleneck"]
    drawing = charts.result_chart(known, known.shipped_numbers)
    assert drawing.tables["claimed"]["high"].max() == 1


def test_a_difference_is_of_seeds_that_both_settings_have():
    claim = Check("more", "ours", "accuracy", least=0.0, minus="theirs")
    of = _of(0.5, 0.6, 0.7) | {"theirs": {"accuracy": {11: 0.2, 12: 0.9, 13: 0.1}}}
    assert verdict_on(claim, of).numbers == pytest.approx({11: 0.4, 12: -0.2})


def test_a_result_is_as_its_worst_claim_and_without_runs_undecided():
    claim = Check("high", "ours", "accuracy", least=0.5)
    yes, no = (verdict_on(claim, _of(*[number] * 5)) for number in (0.9, 0.1))
    none = verdict_on(claim, {})
    assert (none.mean, none.says) == (None, OPEN)
    assert [overall(found) for found in ((yes,), (yes, none), (yes, none, no))] == [
        AGREES,
        OPEN,
        DISAGREES,
    ]


def test_numbers_come_from_finished_runs_by_setting_and_seed():
    one = Experiment(generator=Markov(), length=2, model=AttentionOptions(d_attn=2))
    two = dataclasses.replace(one, length=3)
    settings = tuple(
        Setting((("setting", label),), each) for label, each in (("ours", one), ("theirs", two))
    )
    measures = ("accuracy", "own", "steps_nearest_to_unigram")
    checks = tuple(Check("", "ours", measure) for measure in measures)
    known = KnownResult("made-up", "", "", "", {}, Study(settings, 3, 10), checks)
    metrics = {"own": ((0, 1.0), (5, 2.0)), "is_nearest_to_unigram": ((0, 1.0), (5, 1.0))}
    failed = finished(one, 1.0, seed=12, metrics=metrics)
    results = [
        finished(one, 1.0, seed=10, accuracy=0.6, metrics=metrics),
        finished(two, 1.0, seed=11, accuracy=0.7, metrics=metrics),
        dataclasses.replace(failed, state="failed", reason="diverged"),
        finished(dataclasses.replace(one, length=4), 1.0, seed=10),
        finished(one, 1.0, seed=13, metrics=metrics),
    ]
    of = {name: dict(zip(measures, (accuracy, 2.0, 10.0), strict=True))
          for name, accuracy in (("ours", 0.6), ("theirs", 0.7))}  # fmt: skip
    seed = {"ours": 10, "theirs": 11}
    assert known.numbers_of(results) == {
        name: {measure: {seed[name]: number} for measure, number in each.items()}
        for name, each in of.items()
    }
    runs = known.with_seeds(2, 20).study.runs
    assert [(run.length, run.seed) for run in runs] == [(2, 20), (2, 21), (3, 20), (3, 21)]


@pytest.mark.parametrize("name", _NAMES)
def test_the_shipped_runs_have_five_seeds_on_which_nothing_was_tuned(name):
    known = KNOWN_RESULTS[name]
    assert shipped(name).made.date
    assert len(known.seeds) >= 5
    assert not {*known.seeds} & {*known.tuned_on}
    for check in known.checks:
        assert {*check.numbers(known.shipped_numbers)} == {*known.seeds}


def test_a_card_shows_all_runs_of_few_settings():
    known = KNOWN_RESULTS["bottleneck"]
    tables = charts.result_chart(known, known.shipped_numbers).tables
    assert len(tables["runs"]) == len(known.study.runs) == 4 * len(known.seeds)


def test_a_card_shows_the_claimed_ones_of_many_settings_with_their_published_numbers():
    known = KNOWN_RESULTS["blog-post"]
    tables = charts.result_chart(known, known.shipped_numbers).tables
    shown = [pair for pair in PUBLISHED if pair[0] in ("recall", "ndays10", "dotmod")]
    assert len(tables["runs"]) == len(shown) * len(known.seeds)
    assert [*dict.fromkeys(tables["runs"].setting)] == [", ".join(pair) for pair in shown]
    known_of = [PUBLISHED[pair].english for pair in shown]
    marks = tables["published"]
    assert [known_of[round(place) - 1] for place in marks.place] == [*marks.value]
    assert len(marks) == sum(each is not None for each in known_of)


def _run(steps, tested=None, **metrics):
    """A run with these measures, and test accuracies, at these steps."""
    accuracies = [0.0] * len(steps) if tested is None else tested
    tests = tuple(zip(steps, (evaluation(1.0, each) for each in accuracies), strict=True))
    series = {name: tuple(zip(steps, values, strict=True)) for name, values in metrics.items()}
    return finished(with_training(steps=steps[-1]), 1.0, tests=tests, metrics=series)


def test_the_delay_of_grokking_is_a_ratio_of_steps():
    steps = GROKKING.study.checkpoints
    late = len(steps) - 10
    training = [0.5] * 10 + [1.0] * late
    solved = _run(steps, [0.0] * 30 + [1.0] * (len(steps) - 30), training_accuracy=training)
    assert delay_of_test_accuracy(solved) == steps[30] / steps[10]
    assert delay_of_test_accuracy(_run(steps, training_accuracy=training)) == steps[-1] / steps[10]


def test_steps_are_counted_between_evenly_spaced_models():
    steps = (0, 50, 100, 150)
    run = _run(steps, prefix_match=(0.1, 0.2, 0.6, 0.9), expected_excess=(2.0, 0.9, 0.8, 0.1))
    # The loss is past the middle of its drop, 1 nat, at step 50, and the heads are at 100.
    assert steps_between_drop_and_heads(run) == 50
    assert steps_nearest_to_unigram(_run(steps, is_nearest_to_unigram=(0.0, 1.0, 1.0, 0.0))) == 100


def test_the_pictures_of_grokking_are_those_of_one_run():
    accuracy, norm, power, circle = shipped("grokking").plots
    last = {name: y for name, _, y in accuracy.points}
    numbers = GROKKING.shipped_numbers["weight decay"]["accuracy"]
    assert last["test"] == numbers[GROKKING.study.first_seed]
    assert len(norm.points) == len(GROKKING.study.checkpoints)
    assert sum(share for _, _, share in power.points) == pytest.approx(1, abs=1e-3)
    assert [name for name, _, _ in circle.points] == [str(number) for number in range(37)]


@pytest.mark.parametrize(
    ("name", "accepts"),
    [("parity", lambda bits: sum(bits) % 2 == 0),
     ("even pairs", lambda bits: sum(a != b for a, b in itertools.pairwise(bits)) % 2 == 0)],
)  # fmt: skip
def test_the_words_of_a_language_end_with_the_right_answer(name, accepts):
    process = KNOWN_RESULTS["regular-languages"].settings[f"rnn, {name}"].generator
    words = np.array([*itertools.product((0, 1), repeat=6)])
    answers = [[accepts(word[:n]) for n in range(1, 7)] for word in words]
    probs = predictives(process, words)[:, 1:]
    expected = np.where(np.array(answers)[..., None], [0.1, 0], [0, 0.1])
    assert probs[..., 2:] == pytest.approx(expected, abs=1e-6)


def _printed(capsys, *arguments):
    status = main(["reproduce", *arguments])
    return status, capsys.readouterr()


def test_the_command_lists_the_results_and_prints_the_shipped_verdicts(capsys):
    status, (out, _) = _printed(capsys, "--list", "--json")
    listed = json.loads(out)["results"]
    assert status == 0
    assert [each["name"] for each in listed] == _NAMES
    assert all(set(each) == {"name", "claim", "source", "minutes"} for each in listed)
    status, (out, _) = _printed(capsys, "belief-mess3", "--shipped", "--json")
    record = json.loads(out)
    assert status == 0
    assert record["verdict"] in (AGREES, DISAGREES, OPEN)
    assert len(record["checks"][0]["numbers"]) == record["seeds"]
    status, (out, _) = _printed(capsys, "blog-post", "--shipped", "--seeds", "2")
    assert "2 of 2 seeds" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("nothing",), "`name` is 'nothing'"), (("blog-post", "--part", "zoo"), "`part` is 'zoo'"),
     (("blog-post", "--shipped", "--seeds", "99"), "more than the 8")],
)  # fmt: skip
def test_what_the_command_cannot_do_is_refused(capsys, arguments, words):
    status, (out, err) = _printed(capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err
