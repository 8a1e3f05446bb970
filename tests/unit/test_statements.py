"""Sentences on pages that name a number, each checked against the number."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy import stats

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.questions import COMPARISONS
from attnlab.comparisons.summary import summarise
from attnlab.film import scale_in_words
from attnlab.generators import Even, HiddenChain, ZeroOneRandom
from attnlab.known_results import KNOWN_RESULTS
from attnlab.lessons.saturation import saturation
from attnlab.optimum import Baseline, Best, baselines_of, entropy_rate, optimum
from attnlab.training.evaluation import Evaluation
from attnlab.training.presets import PRESETS
from attnlab.training.shares import learned_share
from attnlab.ui.compare import known_results as cards
from attnlab.ui.core import fragments
from attnlab.ui.core.glossary import TERMS
from attnlab.ui.generators import optimum_panel
from attnlab.ui.in_context import context_panel
from tests.unit.documents import ROOT
from tests.unit.made_up_results import all_finished, with_training

_TERM = {term.name: term for term in TERMS}


def binary_entropy(p):
    return -(p * np.log(p) + (1 - p) * np.log1p(-p))


def losses_after(tokens):
    """The losses of counting transitions of two tokens, and of counting what they led to.

    Over all counts and their probabilities. The first token is uniform in every table.
    """
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
    bigram = unigram = 0.0
    for (*counts, last), chance in states.items():
        zero = (counts[2 * last] + 1) / (sum(counts[2 * last :][:2]) + 2)
        of_all = (counts[0] + counts[2] + 1) / (tokens + 1)
        bigram += chance * binary_entropy(zero)
        unigram -= chance * (zero * np.log(of_all) + (1 - zero) * np.log1p(-of_all))
    return bigram, unigram


def test_the_limit_of_the_floor_in_context_is_the_mean_entropy_rate():
    text = KNOWN_RESULTS["markov-phases"].predicted
    limit, at_64 = re.search(
        r"tables, ([\d.]+) nats .*After 64 tokens it is ([\d.]+)\.", text
    ).groups()
    grid = (np.arange(1_000) + 0.5) / 1_000
    to_one, to_zero = np.meshgrid(grid, grid)
    rate = 2 * (to_zero / (to_one + to_zero) * binary_entropy(to_one)).mean()
    assert float(limit) == pytest.approx(rate, abs=6e-4)
    bigram, unigram = losses_after(24)
    said = re.search(r"unigram has a loss of ([\d.]+) nats, the bigram ([\d.]+),", text).groups()
    assert [unigram, bigram] == pytest.approx([*map(float, said)], abs=6e-5)
    assert float(at_64) == pytest.approx(losses_after(64)[0], abs=6e-4)
    assert rate < losses_after(64)[0] < bigram


def test_the_losses_of_the_chain_of_a_tied_unembedding_follow_from_its_two_probabilities():
    known, question = KNOWN_RESULTS["tied-unembedding"], COMPARISONS["tied-unembedding"]
    p, q = map(float, re.search(r"p = ([\d.]+) after a and q = ([\d.]+)", known.predicted).groups())
    for experiment in known.settings.values():
        assert np.ravel(experiment.generator.table) == pytest.approx([1 - p, p, q, 1 - q])
    share = p / (p + q)
    unigram = binary_entropy(share)
    floor = (1 - share) * binary_entropy(p) + share * binary_entropy(q)
    claims = " ".join(check.claim for check in known.checks)
    for text, value in (
        (known.predicted, unigram), (question.description, unigram), (known.predicted, floor),
        (question.description, floor), (claims, floor), (claims, unigram - floor),
    ):  # fmt: skip
        assert f"{value:.4f}" in text
    assert f"p + q = {p + q:g}" in known.claim


def test_the_decay_of_attention_on_mess3_is_that_of_its_hidden_state():
    known = KNOWN_RESULTS["attention-decay"]
    x, decay = map(
        float,
        re.search(
            r"x = ([\d.]+), attention falls by the factor ([\d.]+)", known.predicted
        ).groups(),
    )
    moves = np.full((3, 3), x) + (1 - 3 * x) * np.eye(3)
    assert sorted(np.linalg.eigvalsh(moves)) == pytest.approx([decay, decay, 1])
    (length,) = {each.length for each in known.settings.values()}
    shares = decay ** np.arange(1, length)
    equal = np.abs(shares / shares.sum() - 1 / (length - 1)).sum() / 2
    for text in (known.predicted, (ROOT / "docs/command-line.md").read_text(encoding="utf-8")):
        assert f"{equal:.3f}" in text
    for each in known.settings.values():
        np.testing.assert_allclose(np.sum(each.generator.transitions, axis=0), moves, atol=1e-6)


def test_the_error_of_an_accuracy_is_largest_at_a_half():
    text = (ROOT / "docs/solved.md").read_text(encoding="utf-8")
    size, most = re.search(r"on ([\d,]+)\s+test .* at most ([\d.]+)\.", text).groups()
    shares = np.linspace(0, 1, 1_001)
    errors = stats.bernoulli.std(shares) / float(size.replace(",", "")) ** 0.5
    assert float(most) - 1e-4 < errors.max() <= float(most)


def test_three_seeds_of_which_one_in_ten_fails_rarely_have_an_interval_with_their_mean():
    text = (ROOT / "docs/many-runs.md").read_text(encoding="utf-8")
    covered = 0.0
    for failed in itertools.product((0, 1), repeat=3):
        half = stats.t.ppf(0.975, 2) * stats.sem(failed)
        contains = abs(np.mean(failed) - 0.1) <= half
        covered += contains * 0.1 ** sum(failed) * 0.9 ** (3 - sum(failed))
    assert re.search(rf"one in ten does, those of\s+three .* in {100 * covered:.0f} %", text)


def test_letter_counts_in_a_repeated_block_have_the_loss_that_the_document_says():
    """Blocks have 8 to 16 uniform letters; the letters after the 17th of 32 are in the loss."""
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    said = re.search(r"counts \(([\d.]+)\) and of a uniform guess \(([\d.]+)\)", text).groups()
    rng, losses = np.random.default_rng(0), []
    for period in rng.integers(8, 17, size=2_000):
        letters = np.resize(rng.integers(16, size=period), 32)
        seen = [(np.sum(letters[:at] == letters[at]) + 1) / (at + 16) for at in range(17, 32)]
        losses.append(-np.log(seen).mean())
    error = np.std(losses) / len(losses) ** 0.5
    assert float(said[0]) == pytest.approx(np.mean(losses), abs=0.005 + 3 * error)
    assert float(said[1]) == pytest.approx(np.log(16), abs=0.005)


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
    if re.search(r"steps|delay|excess_after", measure):
        return 0, np.inf
    if re.search(r"accuracy|exact_match|prefix_match|deviation|parents|power", measure):
        return 0, 1
    if re.search(r"r2(?!_rise)", measure):
        return -np.inf, 1
    return -np.inf, np.inf


@pytest.mark.parametrize("name", KNOWN_RESULTS)
def test_no_interval_of_two_seeds_leaves_what_a_measure_can_be(name):
    known = KNOWN_RESULTS[name]
    numbers = known.shipped_numbers
    for pair in itertools.combinations(known.seeds, 2):
        of = {
            setting: {m: {s: each[s] for s in pair if each} for m, each in by_measure.items()}
            for setting, by_measure in numbers.items()
        }
        for verdict in known.verdicts(of):
            check, (low, high) = verdict.check, verdict.mean.ends
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
def test_the_scale_of_shares_learned_has_that_of_the_best_simple_predictor():
    of = PRESETS["recall-pairs"].experiment
    baselines = baselines_of(of.generator, of.length)
    # One of four values, seen once each: if they differ, ln 4 nats; a uniform guess is over 17.
    known = {each.name: each.best for each in baselines}
    share = 1 - known["in-context unigram"].nll / np.log(17)
    text = scale_in_words(of, baselines)
    assert text.endswith(f"; the in-context unigram predictor reaches {100 * share:.0f}\u00a0%")
    assert share > 0.5
    # Before the baselines are known, and where the simple predictor is the best one.
    assert scale_in_words(of, None).endswith("100\u00a0% is optimal")
    fixed = [Baseline("linear", known["optimal"]), Baseline("optimal", known["optimal"])]
    assert scale_in_words(of, fixed).endswith("100\u00a0% is optimal")


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
    monkeypatch.setattr(type(known), "shipped_numbers", empty)
    context_panel._draw_over_seeds(experiment)
    assert said == []


def test_numbers_named_in_a_known_result_are_computed_for_its_setting():
    known = KNOWN_RESULTS["tied-unembedding"]
    chain = known.study.settings[0].experiment.generator
    rows = np.array([[0.5, 0.5], [0.8, 0.2]])
    # Its stationary distribution, by the balance of the two flows.
    stationary = np.array([0.8, 0.5]) / 1.3
    unigram = -(stationary * np.log(stationary)).sum()
    bigram = -(stationary[:, None] * rows * np.log(rows)).sum()
    assert chain.table == tuple(map(tuple, rows))
    for number in (f"{unigram:.4f}", f"{bigram:.4f}"):
        assert number in known.predicted
    # Attention to the nine tokens before the last of ten.
    fades = 0.85 ** np.arange(1, 10)
    deviation = 0.5 * np.abs(fades / fades.sum() - 1 / 9).sum()
    assert f"would deviate by {deviation:.3f}" in KNOWN_RESULTS["attention-decay"].predicted


def test_the_jacobian_of_a_softmax_is_largest_for_equal_weights():
    for n in (2, 5, 40):
        patterns = np.random.default_rng(n).dirichlet(np.ones(n), size=20)
        norms = [np.linalg.norm(np.diag(p) - np.outer(p, p), "nuc") for p in patterns]
        np.testing.assert_allclose(saturation(patterns).jacobian, norms)
        assert max(norms) < 1 - 1 / n
        assert saturation(np.full(n, 1 / n)).jacobian == pytest.approx(1 - 1 / n)


def test_the_error_of_the_solved_presets_is_that_of_a_fair_coin_at_most():
    text = (ROOT / "docs" / "solved.md").read_text()
    bound = re.search(r"100,000\ntest sequences: .* is at most (0\.\d+)", text)[1]
    assert 0 <= float(bound) - 0.5 / math.sqrt(100_000) < 1e-4
