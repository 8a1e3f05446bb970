"""The gap between loss and floor, taken apart."""

import dataclasses

import numpy as np
import pytest

from attnlab.comparisons.gap import PARTS, gap_of
from attnlab.comparisons.intervals import exactly, student_interval
from attnlab.comparisons.summary import summarise
from attnlab.configuration.options import OptionError
from attnlab.generators import Reverse
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.optimum import Best
from attnlab.positions import NoPosition
from attnlab.runs.run_summary import RunSummary
from tests.unit import optimum_oracles as oracles
from tests.unit.made_up_results import SHORT, row_of, with_training
from tests.unit.optimum_cases import case

SIGMAS = 4.5
# What L-BFGS leaves of the least loss, and what float32 logarithms are good to.
CLOSE = 1e-5
RECALL, RECALL_LENGTH, RECALL_JOINT = case("recall")
FLOOR = oracles.floor(RECALL_JOINT)
LEAST_LINEAR = oracles.least_linear_loss(RECALL_JOINT)


def on_recall(model, **training):
    experiment = with_training(**training)
    return dataclasses.replace(
        experiment, generator=RECALL, length=RECALL_LENGTH, model=model, seed=0
    )


def by_parts(gap):
    return {term.parts: term.nats for term in gap.terms}


def not_known(gap):
    """The parts that are only known as part of a sum."""
    return tuple(part for term in gap.terms if len(term.parts) > 1 for part in term.parts)


FAMILIES = {"known": LinearOptions(), "not known": AttentionOptions(d_attn=2)}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("data", ["fresh", "fixed", "both"])
def test_terms_hold_each_part_once_and_sum_to_the_gap(family, data):
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 5, 8) * 4:
        losses, fresh = random.normal(1, 0.1, (2, count))
        row = row_of(on_recall(FAMILIES[family], data="fresh" if data == "fresh" else "fixed"),
                     losses)  # fmt: skip
        others = [row_of(on_recall(FAMILIES[family], data="fresh"), fresh)]
        gap = gap_of(row, others if data == "both" else ())
        assert sorted(part for term in gap.terms for part in term.parts) == sorted(PARTS)
        total = sum(term.nats.mean for term in gap.terms)
        assert total == pytest.approx(gap.total.mean, abs=1e-12)
        assert gap.total.mean == pytest.approx(losses.mean() - FLOOR, abs=CLOSE)
        assert gap.total.n == count
        assert 0 <= gap.model_at_least <= gap.model_at_most


def test_of_the_linear_family_the_first_term_is_exact():
    gap = gap_of(row_of(on_recall(LinearOptions()), [1.0, 1.1]))
    of_family = by_parts(gap)["model",]
    assert of_family.mean == pytest.approx(LEAST_LINEAR - FLOOR, abs=CLOSE)
    assert of_family.mean > 0.01
    assert of_family.exact
    assert gap.model_at_least == pytest.approx(of_family.mean)
    assert gap.model_at_most == pytest.approx(of_family.mean)
    assert not_known(gap) == ("training", "data")
    assert by_parts(gap)["training", "data"].mean == pytest.approx(1.05 - LEAST_LINEAR, abs=CLOSE)


def test_with_fresh_data_beside_it_every_part_of_a_linear_gap_is_known():
    fixed, fresh = [1.1, 1.2, 1.15], [1.0, 1.02, 1.07]
    row = row_of(on_recall(LinearOptions()), fixed)
    others = [row, row_of(on_recall(LinearOptions(), data="fresh", train_size=7), fresh)]
    gap = gap_of(row, others)
    assert not_known(gap) == ()
    expected = student_interval(np.array(fixed) - np.array(fresh))
    assert by_parts(gap)["data",] == expected
    training, over_seeds = by_parts(gap)["training",], student_interval(fresh)
    assert training.mean == pytest.approx(over_seeds.mean - LEAST_LINEAR, abs=CLOSE)
    assert training.high - training.low == pytest.approx(over_seeds.high - over_seeds.low)


def test_the_family_is_not_known_where_only_a_bound_is():
    row = row_of(on_recall(AttentionOptions(d_attn=2)), [1.1, 1.2])
    gap = gap_of(row)
    assert not_known(gap) == ("model", "training", "data")
    assert by_parts(gap) == {("model", "training", "data"): gap.total}
    assert gap.model_at_least == 0


def test_what_a_family_cannot_see_bounds_it_from_below():
    """Without positions it sees only counts, which does not mean that it can use them."""
    counted = oracles.known_only(RECALL_JOINT, lambda days: (days[-1], *sorted(days)))
    bound = oracles.floor(counted) - FLOOR
    assert bound > 0.01
    model = AttentionOptions(d_attn=2, position=NoPosition())
    gap = gap_of(row_of(on_recall(model), [1.0, 1.0]))
    assert gap.model_at_least == pytest.approx(bound, abs=CLOSE)
    assert not_known(gap) == ("model", "training", "data")
    # A test can be luckier than is possible; the bounds still do not cross.
    gap = gap_of(row_of(on_recall(model), [FLOOR - 0.1]))
    assert gap.model_at_most == gap.model_at_least


def test_the_best_run_bounds_the_family_from_above_whatever_it_was_trained_with():
    row = row_of(on_recall(AttentionOptions(d_attn=2)), [1.1, 1.2])
    alone = gap_of(row)
    better = row_of(on_recall(AttentionOptions(d_attn=2), steps=9, learning_rate=0.1), [1.0])
    wider = row_of(on_recall(AttentionOptions(d_attn=3)), [0.95])
    longer = row_of(dataclasses.replace(on_recall(AttentionOptions(d_attn=2)), length=5), [0.95])
    read_first = row_of(on_recall(AttentionOptions(d_attn=2), readout="first"), [0.95])
    # One-sided normal points for 2 and for 3 tests at 95 % together.
    assert alone.model_at_most == pytest.approx(1.1 + 1.959964 * 0.005 - FLOOR, abs=CLOSE)
    gap = gap_of(row, [wider, row, longer, better, read_first])
    assert gap.model_at_most == pytest.approx(1.0 + 2.128045 * 0.005 - FLOOR, abs=CLOSE)
    assert not_known(gap) == ("model", "training", "data")


def test_the_best_run_of_a_task_bounds_its_family_wherever_it_is_read_out():
    def on_reverse(readout):
        return dataclasses.replace(
            on_recall(AttentionOptions(d_attn=2), loss="next", readout=readout),
            generator=Reverse(source_length=5),
        )

    row, better = row_of(on_reverse("last"), [1.1]), row_of(on_reverse("first"), [1.0])
    # One of a task has no part in what is tested.
    assert gap_of(row, [better]).model_at_most < gap_of(row).model_at_most


@pytest.mark.slow
def test_the_bound_by_the_best_run_holds_though_the_best_is_the_luckiest():
    """Twenty models as good as the family can be, of which the least loss is far too low."""
    random, truth, sets = np.random.default_rng(1), 1.0, 150
    held, naive = 0, 0
    for _ in range(sets):
        losses = random.normal(truth, 0.02, 20)
        gap = gap_of(row_of(on_recall(AttentionOptions(d_attn=2)), losses, stderr=0.02))
        held += gap.model_at_most >= truth - FLOOR
        naive += losses.min() >= truth
    assert held / sets > 0.95 - SIGMAS * np.sqrt(0.95 * 0.05 / sets)
    assert held < sets
    assert naive == 0


def test_with_fresh_data_there_is_nothing_that_data_could_not_tell():
    gap = gap_of(row_of(on_recall(AttentionOptions(d_attn=2), data="fresh"), [1.1, 1.3]))
    assert by_parts(gap)["data",] == exactly(0.0)
    assert not_known(gap) == ("model", "training")


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": 7},
        {"batch": 7},
        {"learning_rate": 0.1},
        {"data": "fixed", "train_size": 7},
    ],
)
def test_fresh_runs_of_other_settings_say_nothing_of_the_data(changed):
    model = LinearOptions()
    row = row_of(on_recall(model), [1.1, 1.2])
    others = [row_of(on_recall(model, **{"data": "fresh", **changed}), [1.0, 1.0])]
    assert not_known(gap_of(row, others)) == ("training", "data")
    other_model = [row_of(on_recall(LinearOptions(day_feature="with"), data="fresh"), [1.0, 1.0])]
    assert not_known(gap_of(row, other_model)) == ("training", "data")


def test_one_common_seed_is_too_few_to_tell_what_the_data_did():
    row = row_of(on_recall(LinearOptions()), [1.1, 1.2])
    one = [row_of(on_recall(LinearOptions(), data="fresh"), [1.0])]
    assert not_known(gap_of(row, one)) == ("training", "data")
    more = [row_of(on_recall(LinearOptions(), data="fresh"), [1.0, 1.0, 5.0])]
    gap = gap_of(row_of(on_recall(LinearOptions()), [1.1, 1.2]), more)
    assert (gap.total.n, not_known(gap)) == (2, ())
    assert by_parts(gap)["data",].mean == pytest.approx(0.15)


def test_the_fresh_counterpart_of_a_full_batch_is_as_large():
    row = row_of(on_recall(LinearOptions(), batch_mode="full", train_size=500), [1.1, 1.2])
    for batch, known in ((500, True), (100, False)):
        fresh = row_of(on_recall(LinearOptions(), data="fresh", batch=batch), [1.0, 1.0])
        assert (not_known(gap_of(row, [fresh])) == ()) == known


def test_an_estimated_floor_makes_the_gap_less_sure():
    row = row_of(on_recall(AttentionOptions(d_attn=2)), [1.1, 1.2])
    before = gap_of(row)
    best = Best(FLOOR, 0.5, nll_stderr=0.1, accuracy_stderr=0.01)
    row = dataclasses.replace(row, references=dataclasses.replace(row.references, best=best))
    after = gap_of(row)
    half = np.hypot(before.total.high - before.total.mean, 1.959964 * 0.1)
    assert after.total.high - after.total.mean == pytest.approx(half, abs=CLOSE)
    assert after.model_at_most > before.model_at_most + 0.1


def test_a_sampled_linear_predictor_is_within_reach_but_not_the_best(monkeypatch):
    """It is fitted to a sample, so that others may come lower."""
    sampled = Best(FLOOR + 0.1, 0.5, nll_stderr=0.01, accuracy_stderr=0.01)
    monkeypatch.setattr("attnlab.comparisons.gap.reachable_by", lambda experiment: sampled)
    gap = gap_of(row_of(on_recall(LinearOptions()), [FLOOR + 0.3, FLOOR + 0.4]))
    assert not_known(gap) == ("model", "training", "data")
    assert gap.model_at_least == 0
    # One of three tests at 95 % together.
    assert gap.model_at_most == pytest.approx(0.1 + 2.128045 * 0.01, abs=CLOSE)
    gap = gap_of(row_of(on_recall(AttentionOptions(d_attn=2)), [FLOOR + 0.3]))
    assert gap.model_at_most == pytest.approx(0.3 + 1.644854 * 0.005, abs=CLOSE)


def test_a_setting_without_a_finished_run_has_no_gap():
    (row,) = summarise([RunSummary(SHORT, "failed", reason="diverged")], baselines=False)
    with pytest.raises(OptionError, match="no run of the setting is finished"):
        gap_of(row)
