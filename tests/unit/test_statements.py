"""Sentences on pages that name a number, each checked against the number."""

import itertools
import re

import numpy as np
import pytest

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.summary import summarise
from attnlab.generators import Even, HiddenChain, ZeroOneRandom
from attnlab.known_results import KNOWN_RESULTS
from attnlab.known_results.shipped import shipped_numbers
from attnlab.optimum import Best, entropy_rate, ladder, optimum
from attnlab.training.evaluation import Evaluation
from attnlab.training.presets import PRESETS
from attnlab.training.shares import learned_share
from attnlab.ui.compare import known_results as cards
from attnlab.ui.core import fragments
from attnlab.ui.core.glossary import TERMS
from attnlab.ui.generators import optimum_panel
from attnlab.ui.in_context import context_panel
from attnlab.ui.train import figures_panel
from tests.unit.made_up_results import all_finished, with_training

_TERM = {term.name: term for term in TERMS}


def binary_entropy(p):
    return -(p * np.log(p) + (1 - p) * np.log1p(-p))


def floor_after(tokens):
    """The loss of counting transitions of two tokens, over all counts and their probabilities."""
    states = {(0, 0, 0, 0, first): 0.5 for first in (0, 1)}
    for _ in range(tokens - 1):
        after = {}
        for (*counts, last), chance in states.items():
            row = counts[2 * last : 2 * last + 2]
            for token in (0, 1):
                grown = list(counts)
                grown[2 * last + token] += 1
                share = chance * (row[token] + 1) / (sum(row) + 2)
                after[*grown, token] = after.get((*grown, token), 0) + share
        states = after
    return sum(
        chance * binary_entropy((counts[2 * last] + 1) / (sum(counts[2 * last :][:2]) + 2))
        for (*counts, last), chance in states.items()
    )


def test_the_limit_of_the_floor_in_context_is_the_mean_entropy_rate():
    text = KNOWN_RESULTS["markov-phases"].predicted
    limit, at_64 = re.search(
        r"tables, ([\d.]+) nats .*After 64 tokens it is ([\d.]+)\.", text
    ).groups()
    grid = (np.arange(1_000) + 0.5) / 1_000
    to_one, to_zero = np.meshgrid(grid, grid)
    rate = 2 * (to_zero / (to_one + to_zero) * binary_entropy(to_one)).mean()
    assert float(limit) == pytest.approx(rate, abs=6e-4)
    assert float(at_64) == pytest.approx(floor_after(64), abs=6e-4)
    assert floor_after(24) == pytest.approx(
        float(re.search(r"bigram ([\d.]+),", text)[1]), abs=6e-5
    )
    assert rate < floor_after(64) < floor_after(24)


@pytest.mark.parametrize("chain", [Even(), ZeroOneRandom()], ids=["even", "z1r"])
def test_the_floor_tends_to_the_entropy_rate_from_above_only_if_stationary(chain, monkeypatch):
    shown = []
    monkeypatch.setattr(optimum_panel.st, "caption", shown.append)
    rate = entropy_rate(chain)
    floors = [each.nll for each in optimum(chain, 12).by_position]
    assert min(floors) >= rate.low - 1e-6
    assert "never below it" in _TERM["entropy rate"].text
    optimum_panel.draw_entropy_rate(chain)
    assert "the floor tends to" in shown[0]
    table = tuple(map(tuple, np.hstack([*chain.transitions]).tolist()))
    first = tuple(np.eye(len(table))[0].tolist())
    given = HiddenChain(symbols="0 1", first_state="given", initial=first, table=table)
    assert min(each.nll for each in optimum(given, 12).by_position) < rate.low - 0.01
    optimum_panel.draw_entropy_rate(given)
    assert "would tend to" in shown[1]


def test_the_glossary_computes_the_share_learned_as_the_pages_do():
    formula = re.sub(r"\\frac\{(.*)\}\{(.*?\}.*?\})\}", r"(\1) / (\2)", _TERM["learned"].formula)
    formula = re.sub(r"\\text\{([a-z ]+)\}", lambda name: name[1].replace(" ", "_"), formula)
    # By luck of its sequences, the test is harder than the floor says.
    floor, excess, true_loss = 0.4, 0.02, 0.43
    test = Evaluation(true_loss + excess, 0.01, 0.5, 0.01, excess, 0.001)
    values = {
        "uniform": np.log(3), "floor": floor, "true_loss": true_loss, "loss": true_loss + excess,
    }  # fmt: skip
    found = eval(formula, {}, values)
    assert found == pytest.approx(learned_share(test, Best(floor, 0.8), 3).share)


@pytest.mark.parametrize("name", KNOWN_RESULTS)
def test_the_seeds_that_a_card_names_are_those_on_which_settings_were_tuned(name):
    known = KNOWN_RESULTS[name]
    named = re.findall(r"(\d+)(?: to (\d+))?", cards._tuned(known))
    seeds = [seed for first, last in named for seed in range(int(first), int(last or first) + 1)]
    assert seeds == list(known.tuned_on)


def _bounds(measure):
    if re.search(r"steps|factor|loss above", measure):
        return 0, np.inf
    if re.search(r"accuracy|exact_match|prefix match|deviation|share|power", measure):
        return 0, 1
    if "R²" in measure:
        return -np.inf, 1
    return -np.inf, np.inf


@pytest.mark.parametrize("name", KNOWN_RESULTS)
def test_no_interval_of_two_seeds_leaves_what_a_measure_can_be(name):
    known = KNOWN_RESULTS[name]
    numbers = shipped_numbers(known)[1]
    span = range(known.first_seed, known.first_seed + known.seeds)
    for pair in itertools.combinations(span, 2):
        of = {
            setting: {m: {seed: each[seed] for seed in pair} for m, each in by_measure.items()}
            for setting, by_measure in numbers.items()
        }
        for verdict in known.verdicts(of):
            check, (low, high) = verdict.check, verdict.mean.ends
            if check.measure.startswith("R², last"):
                continue
            least, most = _bounds(check.measure)
            if check.minus:
                least, most = least - most, most - least
            assert least <= low <= verdict.mean.mean <= high <= most, check.claim


def test_no_interval_of_a_loss_is_below_zero():
    experiment = with_training(steps=1)
    results = all_finished(experiment, [0.01, 0.3])
    (row,) = summarise(results, [Setting((), experiment)], baselines=False)
    assert row.nll.low == 0 < row.nll.high


@pytest.mark.slow
def test_the_share_learned_stands_beside_that_of_the_best_simple_predictor(monkeypatch):
    monkeypatch.setattr(figures_panel, "figure", lambda function, *arguments: function(*arguments))
    of = PRESETS["recall-pairs"].experiment
    # One of four values, seen once each: if they differ, ln 4 nats; a uniform guess is over 17.
    known = {each.name: each.best for each in ladder(of.generator, of.length)}
    share = 1 - known["in-context unigram"].nll / np.log(17)
    text = figures_panel._simplest(of, known["optimal"])
    assert text == f" (in-context unigram: {100 * share:.0f} %)"
    assert share > 0.5
    recall = next(p.experiment for p in PRESETS.values() if p.experiment.generator.name == "recall")
    assert figures_panel._simplest(recall, Best(0.9, 0.5)) == ""


@pytest.mark.parametrize(
    ("value", "goes_on"),
    [
        ((False, False), False),
        ((), False),
        (0, False),
        ("", False),
        ((False, True), True),
        (2, True),
    ],
)
def test_a_part_is_redrawn_only_while_something_is_to_come(value, goes_on, monkeypatch):
    intervals = []

    def fragment(draw, *, key, seconds):
        intervals.append(seconds)
        return lambda: None

    monkeypatch.setattr(fragments, "fragment", fragment)
    fragments.draw_while(lambda: value, lambda: None, key="part")
    assert [each is not None for each in intervals] == [goes_on]


def test_a_known_result_without_numbers_says_nothing_in_context(monkeypatch):
    known = KNOWN_RESULTS["markov-phases"]
    experiment = next(iter(known.settings.values()))
    empty = {setting: {known.checks[0].measure: {}} for setting in known.settings}
    said = []
    monkeypatch.setattr(context_panel.st, "caption", said.append)
    monkeypatch.setattr(context_panel, "shipped_numbers", lambda known: (None, empty))
    context_panel._draw_over_seeds(experiment)
    assert said == []
