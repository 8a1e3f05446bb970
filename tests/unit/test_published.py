"""The published comparison: its runs, its rows, their verdicts, and the result that is shipped."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from attnlab.comparisons.grid import Setting
from attnlab.comparisons.shipped import Made, Shipped, from_text, shipped
from attnlab.comparisons.summary import References, Row, references_of, summarise
from attnlab.known_results.blog_post import (
    FAMILIES,
    PARTS,
    PROCESSES,
    PUBLISHED,
    Published,
    part_named,
)
from attnlab.known_results.post_verdicts import (
    disagrees,
    rows_of,
    standard_errors_off,
    verdict_of,
    whole_gain,
)
from attnlab.optimum import Best
from attnlab.runs.differences import identity_of
from attnlab.runs.run_summary import RunSummary
from attnlab.training.presets import PRESETS
from tests.unit.made_up_results import SHORT, all_finished, finished
from tools.studies import all_studies, to_text

# Ceiling 0.9, the commonest token 0.4, and a linear predictor between them.
KNOWN = References(Best(0.3, 0.9), Best(1.1, 1 / 3), Best(1.0, 0.4), Best(0.6, 0.7))


def known(_experiment):
    return KNOWN


def row_with(accuracies, experiment=SHORT, losses=None, stderr=0.005):
    """A row of runs with these accuracies, and a loss of the floor if no losses are given."""
    losses = [0.3] * len(accuracies) if losses is None else losses
    runs = all_finished(experiment, losses, accuracies=accuracies, stderr=stderr)
    setting = Setting((("process", "markov"), ("model", "attention")), experiment)
    return summarise(runs, [setting], references=known)[0]


def around(mean, spread=0.001):
    return [mean - spread, mean, mean + spread]


def results_of(part, accuracy, seeds=3):
    """Of every setting, with the accuracy that `accuracy` gives for its place and seed."""
    return [
        finished(setting.experiment, 1.0, seed=seed, accuracy=accuracy(place, seed))
        for place, setting in enumerate(part.settings)
        for seed in range(seeds)
    ]


def test_the_table_has_the_rows_of_the_post_with_its_settings():
    table = part_named("table")
    assert [tuple(dict(s.options).values()) for s in table.settings] == list(PUBLISHED)
    for setting in table.settings:
        process, model = dict(setting.options).values()
        assert setting.experiment == PRESETS[f"published-{process}-{model}"].experiment
        assert (setting.experiment.length, setting.experiment.training.steps) == (10, 500)


def test_all_families_meet_the_processes_of_the_post_with_one_training():
    zoo = part_named("zoo")
    pairs = [tuple(dict(s.options).values()) for s in zoo.settings]
    assert pairs == [(process, family) for process in PROCESSES for family in FAMILIES]
    assert len({setting.experiment.training for setting in zoo.settings}) == 1
    generators = {setting.experiment.generator for setting in zoo.settings}
    assert generators == {s.experiment.generator for s in part_named("table").settings}


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        # (ln 3 - 0.5) / (ln 3 - 0.3) = 0.75, and 0.0125 per hundredth of a nat.
        ((0.49, 0.5, 0.51), "75 % learned (72 to 78 %)."),
        ((0.2, 0.4, 0.5), "92 % learned (44 to 139 %)."),
        ((0.3, 0.301, 0.302), "Nothing is left to learn: 100 % learned (99 to 101 %)."),
        ((0.5,), "75 % learned by one seed."),
    ],
)
def test_a_verdict_says_what_was_learned_and_whether_anything_is_left(losses, words):
    assert verdict_of(row_with([0.9] * len(losses), losses=losses)) == words


def test_where_nothing_can_be_learned_the_verdict_says_so():
    none = dataclasses.replace(KNOWN, best=Best(1.05, 0.4))
    (row,) = summarise(row_with(around(0.4)).results, references=lambda _: none)
    assert verdict_of(row) == "No predictor beats always guessing the most common weather."


@pytest.mark.parametrize("n", [2, 3])
def test_a_published_figure_of_the_same_law_disagrees_in_5_percent(n):
    """Or fewer. Beyond two standard errors it is in 17 and 12 %, as seeds spread by 0.03."""
    random, sets, found = np.random.default_rng(n), 500, 0
    for _ in range(sets):
        ours = random.binomial(10_000, random.normal(0.5, 0.03, n)) / 10_000
        theirs = random.binomial(1_000, random.normal(0.5, 0.03)) / 1_000
        row = Row(Setting((), SHORT), tuple(all_finished(SHORT, [1] * n, accuracies=ours)))
        found += disagrees(row, theirs)
    assert found / sets <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / sets)


def test_seeds_that_differ_much_do_not_tell_a_row_from_the_commonest_token():
    words = "No better than always guessing the most common weather (0.400)"
    assert f"{words}, as far as these seeds show." in verdict_of(row_with(around(0.5, 0.05)))
    assert words not in verdict_of(row_with(around(0.5, 0.03)))
    assert f"{words}." in verdict_of(row_with(around(0.3999)))


def test_the_distance_of_a_published_figure_is_in_standard_errors_of_the_difference():
    accuracies = [0.48, 0.50, 0.52, 0.54]
    # By hand: the variance over seeds is 0.002/3, that of a test of 1,000 p (1 - p)/1,000.
    error = math.sqrt(0.6 * 0.4 / 1_000 + 0.002 / 3 * (1 + 1 / 4))
    off = standard_errors_off(row_with(accuracies), 0.6)
    assert off == pytest.approx((0.6 - 0.51) / error)


def test_published_figures_agree_up_to_two_standard_errors():
    row = row_with(around(0.5, 1e-9))
    error = math.sqrt(0.55 * 0.45 / 1_000)
    at_border = 0.5 + 2 * error
    for published, words in (
        (Published(at_border - 0.002, None), "figure 0.529 agrees with ours within the error."),
        (Published(0.49, 0.51), "figures 0.490 and 0.510 agree with ours within the error."),
        (Published(at_border + 0.002, None), "The published 0.533 is 2.1 standard errors above"),
        (Published(0.44, 0.5), "The published 0.440 is 3.8 standard errors below ours."),
    ):
        assert words in verdict_of(row, published)
    assert "ublished" not in verdict_of(row)


def test_one_seed_says_nothing_of_agreement():
    words = verdict_of(row_with([0.5]), Published(0.5, None))
    assert "One seed does not show" in words
    assert "agree" not in words


def test_runs_without_figures_are_told():
    failed = RunSummary(dataclasses.replace(SHORT, seed=9), "failed", reason="It diverged.")
    row = row_with(around(0.5))
    (some,) = summarise([*row.results, failed], [row.setting], references=known)
    assert verdict_of(some).endswith("1 of 4 runs have no result.")
    (none,) = summarise([failed], [row.setting], references=known)
    assert verdict_of(none) == "No result. It diverged."


def test_a_gain_is_paired_over_seeds_and_within_the_noise_only_after_correction():
    part = part_named("ladder", ["dotmod"])
    generator = np.random.default_rng(0)
    # More than the error of a test, which is √(0.2 · 0.8 / 10,000) of a difference of 0.2.
    noise = generator.normal(0, 0.008, (11, 4))

    def accuracy(place, seed):
        # Each seed has its own level, which pairing takes away.
        return 0.4 + 0.05 * seed + (0.2 if place >= 7 else 0.0) + noise[place, seed]

    rows = rows_of(part, results_of(part, accuracy, seeds=4), references=known)
    assert rows[0].gain is None
    by_hand = [noise[at] - noise[at - 1] + (0.2 if at == 7 else 0.0) for at in range(1, 11)]
    p_values = [stats.ttest_1samp(each, 0).pvalue for each in by_hand]
    least = int(np.argmin(p_values)) + 1
    assert least == 7
    assert rows[7].gain.adjusted_p == pytest.approx(10 * min(p_values))
    assert rows[7].gain.difference.mean == pytest.approx(np.mean(by_hand[6]))
    assert " above the row before (" in rows[7].verdict
    assert rows[8].verdict.startswith("No significant difference from the row before (")


def test_a_gain_that_only_stands_out_by_itself_is_told_as_such():
    part = part_named("ladder", ["dotmod"])
    # Differences of 0.010, 0.012 and 0.014 for one switch: p = 0.009, of ten switches 0.09.
    results = results_of(part, lambda place, seed: 0.5 + (place > 3) * (0.01 + 0.002 * seed))
    words = rows_of(part, results, references=known)[4].verdict
    noise = "significant alone, but not among 10 comparisons."
    assert words.startswith(f"0.012 above the row before (0.007 to 0.017): {noise}")


def test_a_loss_is_called_one():
    part = part_named("ladder", ["recall"])
    falls = results_of(part, lambda place, seed: 0.6 - 0.02 * place + 0.0001 * seed * (place % 2))
    # 4.3027 √(0.02 · 0.98 / 10,000 / 3) = 0.0035: the tests' own error, which is more than s.
    words = rows_of(part, falls, references=known)[1].verdict
    assert words.startswith("0.020 below the row before (0.016 to 0.0")


def test_ladders_of_two_processes_do_not_meet():
    part = part_named("ladder")
    results = results_of(part, lambda place, seed: 0.5 + 0.001 * place * seed)
    rows = rows_of(part, results, references=known)
    starts = [row for row in rows if row.gain is None]
    assert [row.process for row in starts] == ["recall", "dotmod"]
    assert starts[1].published == PUBLISHED["dotmod", "attention"]
    assert all(row.published == Published() for row in rows if row.gain is not None)


def test_only_the_seeds_that_are_asked_for_count_and_strangers_do_not():
    part = part_named("table", ["markov"])
    results = [*results_of(part, lambda *_: 0.5, seeds=4), *all_finished(SHORT, [1.0])]
    rows = rows_of(dataclasses.replace(part, seeds=2), results, references=known)
    assert [len(row.row.results) for row in rows] == [2, 2]


def test_the_linear_model_is_paired_with_attention_by_process():
    part = part_named("table", ["markov", "dotmod"])
    results = results_of(part, lambda place, seed: 0.3 + 0.1 * place + 0.01 * seed)
    gains = [row.gain for row in rows_of(part, results, references=known)]
    assert (gains[0], gains[2]) == (None, None)
    assert gains[3].difference.mean == pytest.approx(0.1)
    assert gains[3].among == 2
    assert gains[3].same_data


def test_what_is_shipped_is_read_back():
    part = part_named("table", ["markov"])
    experiment = part.settings[0].experiment
    failed = RunSummary(dataclasses.replace(experiment, seed=7), "failed", reason="It diverged.")
    measured = finished(SHORT, 1.0, exact_match=0.25, metrics={"own": ((3, 0.5), (9, 0.75))})
    results = (*results_of(part, lambda place, seed: 0.5 + 0.01 * place * seed), failed, measured)
    made = Made("2026-11-24", "0.1.0", "0.10.1", "2 cores of x86_64")
    record = Shipped(made, results, 1.5, {(experiment.generator, experiment.length): KNOWN})
    back = from_text(to_text(record))
    assert (back.made, back.minutes, back.references) == (made, 1.5, record.references)
    assert sorted(map(_told, back.results)) == sorted(map(_told, results))
    (own,) = [each for each in back.results if each.metrics]
    assert (own.exact_match, own.metrics["own"][-1][1]) == (0.25, 0.75)


def _told(result):
    return identity_of(result.experiment), result.state, result.reason, result.evaluation or ()


@pytest.mark.slow
@pytest.mark.parametrize("name", all_studies())
def test_what_is_shipped_has_every_run_of_every_study(name):
    # An experiment that has changed since is not among them: make the file again.
    runs = {identity_of(run) for study in all_studies()[name] for run in study.runs}
    assert {identity_of(result.experiment) for result in shipped(name).results} == runs


def test_every_row_of_the_post_has_a_verdict():
    assert len(shipped("blog-post").references) == len(PROCESSES)
    assert all(row.verdict for part in PARTS.values() for row in shipped_rows(part))


def shipped_rows(part):
    stored = shipped("blog-post")
    return rows_of(part, stored.results, references=stored.references_of)


def shipped_references(process):
    experiment = part_named("table", [process]).settings[0].experiment
    return shipped("blog-post").references_of(experiment)


def test_what_the_page_says_of_the_processes_holds():
    known = {name: shipped_references(name) for name in PROCESSES}
    left = {name: each.best.accuracy - each.linear.accuracy for name, each in known.items()}
    # On these a linear predictor is as accurate as any, on the others far from it.
    assert all(abs(left[name]) < 1e-6 for name in ("markov", "ndays10", "ndays15"))
    assert all(left[name] > 0.05 for name in ("recall", "dotmod"))


@pytest.mark.slow
def test_what_the_page_says_of_the_published_layer_holds():
    for process in PROCESSES:
        experiment = PRESETS[f"published-{process}-attention"].experiment
        model = experiment.model.build(vocab=3, length=10, key=jr.key(0))
        one_hot = jax.nn.one_hot(jnp.zeros(10, dtype=int), 3)
        _, trace = model.read(one_hot, jnp.arange(10))
        (attention,) = trace.attention
        # A day sees itself and later ones only: the first one, which is read out, sees all.
        np.testing.assert_array_equal(attention.mask, np.triu(np.ones((10, 10), dtype=bool)))
        assert (experiment.training.readout, experiment.training.loss) == ("first", "published")
        assert experiment.training.batch_mode == "full"


def test_what_the_page_says_of_the_shipped_result_holds():
    rows = {(row.process, row.model): row for row in shipped_rows(PARTS["table"])}
    for process in PROCESSES:
        gain = rows[process, "linear"].gain
        wins = gain.difference.low > 0 and not gain.within_noise
        assert wins == (process != "markov")
    assert rows["markov", "linear"].gain.within_noise
    for process in ("recall", "dotmod"):
        # Both stay below the ceiling.
        linear = rows[process, "linear"]
        assert linear.row.accuracy.high < linear.row.references.best.accuracy - 0.05
        ladder = shipped_rows(part_named("ladder", [process]))
        assert "Nothing is left to learn: " in ladder[-1].verdict
        assert whole_gain(ladder).difference.low > 0.1


def test_what_the_page_says_of_the_families_holds():
    found = {(row.process, row.model): row.row for row in shipped_rows(PARTS["zoo"])}
    for family in FAMILIES:
        both = [found[process, family].learned.mean for process in ("recall", "dotmod")]
        assert (min(both) >= 0.9) == (family in ("mlp", "conv", "rnn", "transformer"))
        assert (max(both) < 0.5) == (family in ("linear", "attention"))


@pytest.mark.slow
def test_the_references_that_are_shipped_come_out_again():
    experiment = part_named("table", ["markov"]).settings[0].experiment
    known = references_of(experiment.generator, experiment.length)
    for name in ("best", "majority", "linear"):
        then = getattr(shipped_references("markov"), name)
        assert getattr(known, name).accuracy == pytest.approx(then.accuracy, abs=1e-5)
        assert getattr(known, name).nll == pytest.approx(then.nll, abs=1e-5)
