"""Past runs and what is said of them."""

import dataclasses

import pytest

from attnlab.generators import DotMod, NDays
from attnlab.models import AttentionOptions, LinearOptions, TransformerOptions
from attnlab.positions import Scalar
from attnlab.runs.differences import changes_between, differing_settings, label_of_change
from attnlab.runs.history import empty_history
from attnlab.runs.past_runs import (
    MOST_PINNED,
    MOST_RECENT,
    baseline_of,
    changed_run,
    gap_between,
    may_be_pinned,
    run_name,
    steps_to,
    with_run,
    without_run,
)
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import Run
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

_FIRST = Experiment()


@pytest.mark.parametrize(
    ("after", "label"),
    [
        (_FIRST, "the same again"),
        (dataclasses.replace(_FIRST, seed=3), "seed 0 → 3"),
        (
            Experiment(
                model=AttentionOptions(mask="none", position=Scalar()),
                training=Training(learning_rate=0.003, batch=50),
            ),
            "position learned → scalar, mask causal → none, 2 more",
        ),
        (Experiment(generator=NDays(), length=12), "process markov → ndays, length 10 → 12"),
        (Experiment(model=LinearOptions()), "model attention → linear"),
        (
            Experiment(generator=DotMod(), model=LinearOptions(), seed=1),
            "process markov → dotmod, model attention → linear, 1 more",
        ),
    ],
)
def test_the_label_says_what_changed_most_telling_first(after, label):
    assert label_of_change(_FIRST, after) == label


def test_the_first_run_is_named_by_what_it_is_about():
    assert label_of_change(None, Experiment(generator=NDays())) == "ndays, attention"


def test_a_change_names_the_setting_as_its_control_does():
    before = Experiment(model=TransformerOptions())
    after = dataclasses.replace(before, model=TransformerOptions(d_attn=16, mlp_width=0))
    told = [str(change) for change in changes_between(before, after)]
    assert told == ["d_attn 8 → 16", "MLP width 48 → 0"]


def test_only_what_differs_is_a_column():
    others = [_FIRST, dataclasses.replace(_FIRST, seed=3), Experiment(model=LinearOptions())]
    columns = differing_settings(others)
    assert columns["seed"] == ("0", "3", "0")
    assert columns["model"] == ("attention", "attention", "linear")
    assert columns["d_attn"] == ("6", "6", "–")
    assert "length" not in columns
    assert differing_settings([_FIRST]) == {}


def _snapshot(**rest) -> Snapshot:
    blank = dict.fromkeys(field.name for field in dataclasses.fields(Snapshot))
    numbers = {"step": 0, "parameters": 0, "steps_per_second": 0.0, "seconds": 0.0, "in_queue": 0}
    named = {"experiment": _FIRST, "state": "done", "history": empty_history(), "message": ""}
    return Snapshot(**(blank | numbers | named | rest))


def _more(past, *numbers: int):
    for number in numbers:
        experiment = dataclasses.replace(_FIRST, seed=number)
        stored = Run(experiment, None, empty_history())
        past = with_run(past, _snapshot(), stored, number=number)
    return past


def test_the_last_five_stay():
    assert [run.number for run in _more((), *range(1, 9))] == [4, 5, 6, 7, 8]
    assert MOST_RECENT == 5


def test_a_pinned_run_stays():
    past = changed_run(_more((), *range(1, 6)), 2, pinned=True)
    past = _more(past, *range(6, 12))
    assert [run.number for run in past] == [2, 7, 8, 9, 10, 11]


def test_no_more_are_pinned_than_memory_allows():
    past = ()
    for number in range(MOST_PINNED):
        assert may_be_pinned(past)
        past = changed_run(_more(past, number), number, pinned=True)
    assert not may_be_pinned(past)


def test_the_first_pinned_run_is_the_baseline():
    past = _more((), 1, 2, 3)
    assert baseline_of(past) is None
    for number in (3, 2):
        past = changed_run(past, number, pinned=True)
    assert baseline_of(past).number == 2


def test_the_errors_of_two_test_losses_add_in_squares():
    gap = gap_between(Evaluation(1.0, 0.03, 0.5, 0.1), Evaluation(0.9, 0.04, 0.5, 0.1))
    assert (gap.nll, gap.stderr) == pytest.approx((0.1, 0.05))


def test_runs_are_renamed_hidden_and_deleted_one_at_a_time():
    past = changed_run(_more((), 1, 2, 3), 2, name="the good one", hidden=True)
    assert [run.name for run in past] == [run_name(1), "the good one", run_name(3)]
    assert [run.hidden for run in past] == [False, True, False]
    assert [run.number for run in without_run(past, 2)] == [1, 3]


def test_steps_to_a_target():
    tests = tuple(
        (step, Evaluation(nll, 0.0, 0.0, 0.0)) for step, nll in ((0, 2.0), (5, 1.0), (9, 1.0))
    )
    snapshot = _snapshot(history=dataclasses.replace(empty_history(), tests=tests))
    assert steps_to(snapshot, 1.0) == 5
    assert steps_to(snapshot, 0.5) is None
