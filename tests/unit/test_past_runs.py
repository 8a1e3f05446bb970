"""Past runs and what is said of them."""

import dataclasses

import pytest

from attnlab.generators import Custom, DotMod, NDays
from attnlab.models import AttentionOptions, LinearOptions, TransformerOptions
from attnlab.positions import Scalar
from attnlab.runs.differences import changes_between, differing_settings, label_of_change
from attnlab.runs.past_runs import MOST_RECENT, gap_between, short_name, steps_to, with_run
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
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
    texts = [str(change) for change in changes_between(before, after)]
    assert texts == ["d_attn 8 → 16", "MLP width 48 → 0"]


def test_a_run_is_named_by_its_preset_or_by_what_changed():
    preset = PRESETS["published-markov-linear"].experiment
    assert short_name(preset, _FIRST) == "published linear"
    again = dataclasses.replace(preset, seed=3)
    assert short_name(again, None) == "published linear"
    assert short_name(again, preset) == "seed 3"
    assert short_name(dataclasses.replace(preset, length=7), None) == "linear"
    # All numbers of a table would be more letters than a run can have.
    first = Custom(symbols="a b c d e f", order=2, table=((1 / 6,) * 6,) * 36)
    second = dataclasses.replace(first, table=((0.5, *(0.1,) * 5),) * 36)
    before, after = (dataclasses.replace(_FIRST, generator=each) for each in (first, second))
    assert short_name(after, before) == "table"


def test_only_what_differs_is_a_column():
    others = [_FIRST, dataclasses.replace(_FIRST, seed=3), Experiment(model=LinearOptions())]
    columns = differing_settings(others)
    assert columns["seed"] == ("0", "3", "0")
    assert columns["model"] == ("attention", "attention", "linear")
    assert columns["d_attn"] == ("6", "6", "–")
    assert "length" not in columns
    assert differing_settings([_FIRST]) == {}


def _more(past, *numbers: int, pinned=()):
    for number in numbers:
        past = with_run(past, _run(number, seed=number), pinned)
    return past


def _run(number: int, **changes):
    return RunSummary(
        dataclasses.replace(_FIRST, seed=changes.pop("seed")), "done", number=number, **changes
    )


def test_the_last_five_stay():
    assert [run.number for run in _more((), *range(1, 9))] == [4, 5, 6, 7, 8]
    assert MOST_RECENT == 5


def test_a_pinned_run_stays():
    past = _more(_more((), *range(1, 6)), *range(6, 12), pinned={2})
    assert [run.number for run in past] == [2, 7, 8, 9, 10, 11]


def test_of_equal_experiments_the_one_with_more_steps_stays():
    first = with_run((), _run(1, seed=3, steps=20), ())
    assert [run.number for run in with_run(first, _run(2, seed=3, steps=10), ())] == [1]
    assert [run.number for run in with_run(first, _run(2, seed=3, steps=30), ())] == [2]
    assert [run.number for run in with_run(first, _run(2, seed=4, steps=30), ())] == [1, 2]


def test_the_errors_of_two_test_losses_add_in_squares():
    gap = gap_between(Evaluation(1.0, 0.03, 0.5, 0.1), Evaluation(0.9, 0.04, 0.5, 0.1))
    assert gap == pytest.approx((0.1, 0.05))


def test_steps_to_a_target():
    tests = tuple(
        (step, Evaluation(nll, 0.0, 0.0, 0.0)) for step, nll in ((0, 2.0), (5, 1.0), (9, 1.0))
    )
    run = RunSummary(_FIRST, "done", tests=tests)
    assert steps_to(run, 1.0) == 5
    assert steps_to(run, 0.5) is None
