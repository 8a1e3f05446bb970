"""Rows of many runs: grouped by all but the seed, with what is missing; as JSON and as CSV."""

import csv
import dataclasses
import io
import json

import numpy as np
import pytest

from attnlab.comparisons.grid import Grid, Setting, settings_of, study_of
from attnlab.comparisons.intervals import student_interval, wilson_interval
from attnlab.comparisons.records import to_csv, to_records
from attnlab.comparisons.summary import (
    References,
    Row,
    StepsToTarget,
    Unfinished,
    beyond_best,
    figures_of,
    reached_of,
    summarise,
)
from attnlab.configuration.options import OptionError, options_of
from attnlab.generators import Custom
from attnlab.models import LinearOptions
from attnlab.optimum import Best
from attnlab.runs.option_texts import experiment_parts
from attnlab.runs.run_summary import RunSummary
from attnlab.ui.compare.curves import sampling_text
from tests.unit import optimum_oracles as oracles
from tests.unit.made_up_results import (
    SHORT,
    all_finished,
    evaluation,
    finished,
    row_of,
    with_training,
)
from tests.unit.optimum_cases import case

LINEAR = dataclasses.replace(SHORT, model=LinearOptions())
UNIFORM = float(np.log(3))
# Probabilities come from float32 logarithms, good to about 1e-7 each.
CLOSE = 3e-6
GRID = Grid(
    (("model", ("attention", "linear")), ("d_attn", ("4", "999")), ("length", ("2",))), seeds=3
)


def test_rows_and_runs_print_as_one_line_with_their_results_and_errors():
    results = [*all_finished(SHORT, [0.9, 1.0, 1.1]), *all_finished(LINEAR, [0.7])]
    (linear, attention), run = summarise(results[::-1], baselines=False), results[0]
    low, high = attention.nll.ends
    assert "3 of 3 seeds, accuracy 0.500 (" in repr(attention)
    assert f"nll 1.000 ({low:.3f} to {high:.3f}) nats" in repr(attention)
    # Of one seed, the distance from others is unknown.
    assert repr(linear).startswith("Row(model=linear, ")
    assert ": 1 of 1 seeds, accuracy 0.500, nll 0.700 nats, " in repr(linear)
    assert repr(run).startswith("RunSummary(markov, attention, seed 0: done, step ")
    assert repr(run).endswith("accuracy 0.500 ± 0.005, loss 0.900 ± 0.005 nats)")
    refused = Row(Setting((("model", "mlp"), ("d_attn", "999")), None, "too large"))
    assert repr(refused) == "Row(model=mlp, d_attn=999: too large)"
    assert all("\n" not in repr(each) for each in (linear, attention, run, refused))


def test_results_are_grouped_by_all_but_the_seed():
    losses = [0.9, 1.0, 1.1]
    mixed = [*all_finished(SHORT, losses), *all_finished(LINEAR, [0.7, 0.8])][::-1]
    linear, attention = summarise(mixed, baselines=False)
    assert attention.nll == student_interval(losses)
    assert linear.nll.n == 2
    assert [run.experiment.seed for run in attention.results] == [0, 1, 2]
    # Equal accuracies are known as well as their tests say: 0.005 each, and 1.96 of that over √3.
    assert attention.accuracy.mean == 0.5
    assert attention.accuracy.high - 0.5 == pytest.approx(1.959964 * 0.005 / np.sqrt(3))
    assert dict(attention.setting.options)["model"] == "attention"
    assert dict(linear.setting.options)["model"] == "linear"
    assert "d_attn" not in dict(linear.setting.options)


def test_rows_stand_in_the_order_of_the_settings_and_results_of_none_behind_them():
    settings = [Setting((("model", name),), each) for name, each in (("l", LINEAR), ("a", SHORT))]
    other = with_training(steps=7)
    results = [finished(other, 1.0), *all_finished(SHORT, [0.9, 1.0])]
    rows = summarise(results, settings, baselines=False)
    assert [row.setting.experiment for row in rows] == [LINEAR, SHORT, other]
    assert [len(row.results) for row in rows] == [0, 2, 1]
    assert (rows[0].nll, rows[0].unfinished) == (None, ())
    assert rows[0].references is not None


def test_runs_without_figures_keep_their_reasons_and_are_in_no_mean():
    gone = [
        RunSummary(dataclasses.replace(SHORT, seed=4), "failed", reason="diverged at step 3"),
        RunSummary(
            dataclasses.replace(SHORT, seed=5), "interrupted", evaluation(9.0), reason="by you"
        ),
        finished(SHORT, np.inf, seed=6),
    ]
    (row,) = summarise([*gone, *all_finished(SHORT, [0.9, 1.0])], baselines=False)
    assert row.nll == student_interval([0.9, 1.0])
    assert row.unfinished == (
        Unfinished(4, "failed", "diverged at step 3"),
        Unfinished(5, "interrupted", "by you"),
        Unfinished(6, "done", "no finite test loss"),
    )
    (row,) = summarise(gone, baselines=False)
    assert (row.nll, row.accuracy, row.learned, row.seconds) == (None,) * 4
    assert len(row.unfinished) == 3


def test_a_refused_setting_is_a_row_that_says_why():
    rows = summarise([], settings_of(GRID), baselines=False)
    refused = [row for row in rows if row.setting.experiment is None]
    assert len(rows) == 3
    (row,) = refused
    (unfinished,) = row.unfinished
    assert (unfinished.seed, unfinished.state) == (None, "refused")
    assert "`d_attn` is 999" in unfinished.reason
    assert row.references is None


def test_a_run_counts_once():
    """The last finished one: one that is gone on with comes after that which was interrupted."""
    interrupted = RunSummary(SHORT, "interrupted", evaluation(5.0))
    for results in (
        [interrupted, finished(SHORT, 2.0), finished(SHORT, 1.0), interrupted],
        [finished(SHORT, 1.0), interrupted],
    ):
        (row,) = summarise(results, baselines=False)
        assert (row.nll.mean, row.nll.n, row.unfinished) == (1.0, 1, ())


def test_what_figures_are_held_against():
    generator, length, joint = case("recall")
    experiment = dataclasses.replace(SHORT, generator=generator, length=length)
    (row,) = summarise([finished(experiment, 1.0)])
    found = row.references
    assert found.best.nll == pytest.approx(oracles.floor(joint), abs=CLOSE)
    assert found.best.accuracy == pytest.approx(oracles.ceiling(joint), abs=CLOSE)
    assert (found.uniform.nll, found.uniform.accuracy) == pytest.approx((UNIFORM, 1 / 3))
    final = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    assert found.majority.accuracy == pytest.approx(final.max(), abs=CLOSE)
    assert found.linear.nll == pytest.approx(oracles.least_linear_loss(joint), abs=1e-5)


def test_baselines_are_computed_only_where_they_are_wanted():
    (row,) = summarise([finished(SHORT, 1.0)], baselines=False)
    assert (row.references.majority, row.references.linear) == (None, None)


def test_what_was_learned_is_the_loss_on_another_scale():
    row = row_of(SHORT, [1.05, 1.06, 1.08])
    floor = row.references.best.nll

    def share(loss):
        return (UNIFORM - loss) / (UNIFORM - floor)

    assert row.learned.mean == pytest.approx(share(row.nll.mean))
    assert row.learned.low == pytest.approx(share(row.nll.high))
    assert row.learned.high == pytest.approx(share(row.nll.low))
    assert list(figures_of(row, "learned").values()) == pytest.approx(
        [share(loss) for loss in (1.05, 1.06, 1.08)]
    )


def test_the_error_of_an_estimated_floor_makes_what_was_learned_less_sure():
    """Its error of 0.02 in a span of 0.5 moves a share of 0.6 by 0.024; 1.96 of that in squares."""
    exact = row_of(SHORT, [0.5])
    references = dataclasses.replace(
        exact.references, best=Best(UNIFORM - 0.5, 0.9, nll_stderr=0.02, accuracy_stderr=0.01)
    )
    losses = [UNIFORM - 0.29, UNIFORM - 0.3, UNIFORM - 0.31]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnlab.comparisons.summary.references_of", lambda *_, **__: references)
        row = row_of(SHORT, losses)
    over_seeds = student_interval([0.58, 0.6, 0.62])
    half = np.hypot(over_seeds.high - 0.6, 1.959964 * 0.6 * 0.02 / 0.5)
    assert row.learned.mean == pytest.approx(0.6)
    assert row.learned.high == pytest.approx(0.6 + half)
    assert row.learned.low == pytest.approx(0.6 - half)


def test_where_nothing_can_be_learned_no_share_is_claimed():
    coin = Custom(symbols="a b", table=((0.5, 0.5), (0.5, 0.5)))
    row = row_of(dataclasses.replace(SHORT, generator=coin), [0.69, 0.7])
    assert (row.learned, row.to_target) == (None, None)
    with pytest.raises(OptionError, match="nothing can be learned"):
        figures_of(row, "learned")


def run_with_shares(*shares, seed=0):
    """A run with these shares learned at steps 0, 10, 20, …"""
    floor = row_of(SHORT, [1.0]).references.best.nll
    tests = [evaluation(UNIFORM - share * (UNIFORM - floor)) for share in shares]
    run = finished(SHORT, tests[-1].nll, seed=seed)
    series = tuple((10 * index, test) for index, test in enumerate(tests))
    return dataclasses.replace(run, steps=10 * (len(tests) - 1), tests=series[:-1])


def test_a_share_learned_is_refused_while_the_best_loss_is_not_known():
    row = dataclasses.replace(row_of(SHORT, [1.0, 0.9]), references=None)
    with pytest.raises(OptionError, match="still being computed"):
        figures_of(row, "learned")


def test_steps_to_target_are_those_of_the_first_test_there():
    runs = [
        run_with_shares(0, 0.5, 0.95, 0.8),
        run_with_shares(0, 0.95, 1, seed=1),
        run_with_shares(0, 0, 0, 0.95, seed=2),
    ]
    (row,) = summarise(runs, baselines=False)
    assert row.to_target == StepsToTarget(0.9, 20.0, 3, 3)
    (row,) = summarise(runs, baselines=False, target=0.97)
    assert row.to_target == StepsToTarget(0.97, None, 1, 3)


def test_the_median_counts_runs_that_never_came_there_as_late():
    never = run_with_shares(0, 0.5, seed=7)
    (row,) = summarise(
        [run_with_shares(0, 0.95), run_with_shares(0, 0, 0.95, seed=1), never], baselines=False
    )
    assert row.to_target == StepsToTarget(0.9, 20.0, 2, 3)
    (row,) = summarise([run_with_shares(0, 0.95), never], baselines=False)
    assert row.to_target == StepsToTarget(0.9, None, 1, 2)


def test_of_runs_that_were_only_tested_at_their_end_no_steps_are_known():
    assert row_of(SHORT, [1.0, 1.0]).to_target is None


def test_the_runs_that_reached_a_level_are_counted_within_the_error_of_their_tests():
    """Of what can be learned, from a uniform guess to the floor: 90 %; two errors short counts."""
    floor = row_of(SHORT, [1.0]).references.best.nll
    span = UNIFORM - floor
    losses = [UNIFORM - share * span for share in (0.95, 0.85, 0.79, 0.3)]
    row = row_of(SHORT, losses, stderr=0.05 * span)
    assert (row.reached.runs, row.reached.n, row.reached.target) == (2, 4, 0.9)
    assert row.reached.share == wilson_interval(2, 4)
    assert reached_of(row, "nll").runs == 2
    assert reached_of(row, "learned", 0.75).runs == 3
    # A test that cannot tell the level from half of the way does not count.
    assert row_of(SHORT, losses, stderr=0.3 * span).reached is None
    # The exact match of a task has its own level.
    runs = [finished(SHORT, 1.0, seed=seed, exact_match=share) for seed, share in
            enumerate((0.999, 0.95, 0.2))]  # fmt: skip
    (task,) = summarise(runs, baselines=False)
    assert (task.reached.runs, task.reached.n) == (2, 3)
    (unknown,) = summarise(all_finished(SHORT, [1.0, 1.1]), references=lambda _: None)
    assert unknown.reached is None


def test_what_is_better_than_possible_is_counted_in_errors_of_its_test():
    uniform = Best(UNIFORM, 1 / 3)
    for floor, error in ((Best(1.0, 0.6), 0.005), (Best(1.0, 0.6, nll_stderr=0.012), 0.013)):
        known = References(floor, uniform)
        row = row_of(SHORT, [0.99, 1.02], references=lambda _, known=known: known)
        assert beyond_best(row, "nll") == pytest.approx([0.01 / error, -0.02 / error])
        assert beyond_best(row, "accuracy") == pytest.approx([-0.1 / 0.005] * 2)
        assert beyond_best(row, "exact_match") == []
        said = sampling_text([row], "nll")
        assert said.endswith(
            f"above the best possible by chance, by at most {0.01 / error:.1f} standard errors of "
            "the test score."
        )
        assert sampling_text([row], "accuracy") == ""
    # Of two runs none is five errors better by chance.
    row = row_of(SHORT, [0.975, 1.0], references=lambda _: References(Best(1.0, 0.6), uniform))
    assert "than chance explains, by up to 5.0 standard errors" in sampling_text([row], "nll")
    assert beyond_best(row_of(SHORT, [1.0], references=lambda _: None), "nll") == []


def test_a_record_has_every_seed_and_what_speaks_against_its_interval():
    losses = [0.99, 1.09, 1.0, 0.99, 0.99]
    (record,) = to_records([row_of(SHORT, losses)])
    assert record["by_seed"]["test_nll"] == dict(zip("01234", losses, strict=True))
    assert record["doubts"]["test_nll"] == "few split"
    row = row_of(SHORT, losses)
    assert record["reached"] == {
        "share": 0.9, "runs": row.reached.runs, "of": 5,
        "low": row.reached.share.low, "high": row.reached.share.high,
    }  # fmt: skip
    (line,) = csv.DictReader(io.StringIO(to_csv([row])))
    assert float(line["by_seed_test_nll_1"]) == 1.09
    assert line["doubts_test_nll"] == "few split"


def rows_of_grid():
    settings = settings_of(GRID)
    *attention, _, failed, _ = study_of(GRID).runs
    results = [
        finished(run, 1.0 + 0.01 * run.seed, seed=run.seed, seconds=2.0, parameters=30)
        for run in attention
    ]
    linear = settings[-1]
    results += [finished(linear.experiment, 1.05, seconds=1.0, parameters=15)]
    results += [RunSummary(failed, "failed", reason="the disk, which is full")]
    return summarise(results, settings)


def test_a_row_as_json_holds_what_differs_and_the_figures():
    rows = rows_of_grid()
    # Of what JSON does not have nothing is written.
    records = json.loads(json.dumps(to_records(rows), allow_nan=False))
    attention, refused, linear = records
    assert [(one["model"], one["d_attn"]) for one in records] == [
        ("attention", 4), ("attention", 999), ("linear", None)
    ]  # fmt: skip
    assert all("length" not in one for one in records)
    assert attention["seeds"] == attention["finished"] == 3
    interval = student_interval([1.0, 1.01, 1.02])
    assert attention["test_nll"] == {
        "mean": interval.mean, "low": interval.low, "high": interval.high
    }  # fmt: skip
    half = 1.959964 * 0.005 / np.sqrt(3)
    assert attention["test_accuracy"] == pytest.approx(
        {"mean": 0.5, "low": 0.5 - half, "high": 0.5 + half}
    )
    best = rows[0].references.best
    assert (attention["floor"], attention["ceiling"]) == (best.nll, best.accuracy)
    assert (attention["seconds"], attention["parameters"]) == (2.0, 30)
    assert attention["majority"]["accuracy"] == rows[0].references.majority.accuracy
    assert attention["unfinished"] == []
    assert (linear["seeds"], linear["finished"]) == (2, 1)
    assert linear["test_nll"] == {"mean": 1.05, "low": None, "high": None}
    assert linear["unfinished"] == [
        {"seed": 1, "state": "failed", "reason": "the disk, which is full"}
    ]
    assert refused["floor"] is refused["seconds"] is refused["test_nll"]["mean"] is None
    assert "`d_attn` is 999" in refused["unfinished"][0]["reason"]
    assert {tuple(one) for one in records} == {tuple(attention)}


def test_exact_match_is_told_where_all_runs_of_a_task_have_it():
    shares = (0.81, 0.79, 0.8)
    runs = [finished(SHORT, 1.0, seed=seed, exact_match=share) for seed, share in enumerate(shares)]
    task, other = summarise([*runs, finished(LINEAR, 1.0)], baselines=False)
    assert task.exact_match == student_interval(shares, errors=[0.004] * 3)
    assert other.exact_match is None
    records = to_records([task, other])
    assert records[0]["exact_match"]["mean"] == pytest.approx(0.8)
    assert records[1]["exact_match"] == {"mean": None, "low": None, "high": None}
    assert "exact_match" not in to_records([other])[0]
    assert "exact_match_mean" in to_csv([task])
    assert figures_of(task, "exact_match") == dict(enumerate(shares))
    (row,) = summarise([*runs, finished(SHORT, 1.0, seed=3)], baselines=False)
    assert row.exact_match is None
    with pytest.raises(OptionError, match="`figure` is 'exact_match'"):
        figures_of(row, "exact_match")


def test_no_option_has_the_name_of_a_figure():
    (record,) = to_records([Row(Setting((), SHORT))])
    assert not record.keys() & {name for kind in experiment_parts() for name in options_of(kind)}


def test_as_csv_it_is_the_same_table():
    rows = rows_of_grid()
    table = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [line["model"] for line in table] == ["attention", "attention", "linear"]
    assert float(table[0]["test_nll_low"]) == rows[0].nll.low
    assert table[2]["test_nll_low"] == table[2]["d_attn"] == ""
    assert table[2]["unfinished"] == "seed 1 failed: the disk, which is full"
    assert table[1]["unfinished"].startswith("refused: `d_attn` is 999")
    assert to_csv([]).strip() == ""


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_of_a_table_is_a_formula_for_a_spreadsheet(begin):
    formula = f'{begin}HYPERLINK("http://a.example") b'
    settings = [Setting((("symbols", text),), None, "no") for text in (formula, "b c", "-1.5")]
    lines = csv.DictReader(io.StringIO(to_csv(summarise([], settings))))
    assert [line["symbols"] for line in lines] == [f"'{formula}", "b c", "-1.5"]
