"""Grids that vary an experiment, and comparisons in links."""

import dataclasses
import re

import pytest

from attnlab.comparisons.grid import (
    PRESET,
    Grid,
    from_parameters,
    is_parameter,
    seconds_of,
    settings_of,
    show_prospect,
    study_of,
    to_parameters,
)
from attnlab.comparisons.questions import COMPARISONS
from attnlab.configuration.options import OptionError
from attnlab.generators import Recall
from attnlab.models import LinearOptions, TransformerOptions
from attnlab.runs.library import Library
from attnlab.runs.links import to_query
from attnlab.training.experiment import Experiment
from attnlab.training.limits import HOSTED, OPEN, check_comparison, check_limits
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training
from attnlab.ui.compare.work import compare, plan_of
from tests.unit.small_experiments import small

BASE = Experiment(generator=Recall(), training=Training(steps=30, batch=7))


def test_what_is_not_varied_is_that_of_the_base():
    grid = Grid((("model", ("linear", "attention")), ("length", ("8", "9"))), 2, 5, BASE)
    settings = settings_of(grid)
    assert [setting.experiment.training for setting in settings] == [BASE.training] * 4
    assert [setting.experiment.generator.name for setting in settings] == ["recall"] * 4
    first = dataclasses.replace(BASE, model=LinearOptions(), length=8)
    study = study_of(grid)
    assert study.runs[:2] == tuple(dataclasses.replace(first, seed=seed) for seed in (5, 6))
    assert [study.has(dataclasses.replace(first, seed=seed)) for seed in (4, 6, 7)] == [0, 1, 0]


def test_a_preset_takes_the_place_of_the_base():
    name = "published-dotmod-linear"
    (setting,) = settings_of(Grid(((PRESET, (name,)),), base=BASE))
    assert setting.experiment == PRESETS[name].experiment


def test_values_that_are_equal_are_one_setting():
    rates = ("0.01", "0.010", "0.02", "2e-2", "1e-2")
    grid = Grid((("learning_rate", rates), ("length", ("8", "08"))), 2, base=BASE)
    assert [dict(setting.options) for setting in settings_of(grid)] == [
        {"learning_rate": "0.01", "length": "8"},
        {"learning_rate": "0.02", "length": "8"},
    ]
    plan = plan_of(grid, OPEN)
    assert (len(plan.study.settings), len(plan.study.runs)) == (2, 4)
    # A setting that is refused is there once, too.
    refused = settings_of(Grid((("learning_rate", ("1e9", "0.1")),), base=BASE))
    assert [setting.experiment is None for setting in refused] == [True, False]
    asked = from_parameters({"vary_learning_rate": ",".join(rates), "vary_days": "1,2|1 2|1,3"})
    assert asked.options == (("learning_rate", ("0.01", "0.02")), ("days", ("1,2", "1,3")))


def test_what_the_base_cannot_be_with_another_model_is_a_setting_with_its_reason():
    base = dataclasses.replace(BASE, training=Training(readout="first"))
    kept, refused = settings_of(Grid((("model", ("attention", "linear")),), base=base))
    assert kept.experiment == base
    assert refused.experiment is None
    assert "`readout` is 'first'" in refused.problem


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_named_comparison_can_run_and_travels_in_a_link(name):
    grid = COMPARISONS[name].grid
    study = plan_of(grid, OPEN).study
    assert [setting.problem for setting in study.settings if setting.problem] == []
    for setting in study.settings:
        check_limits(setting.experiment, HOSTED)
    assert len(study.runs) == len(study.settings) * grid.seeds <= HOSTED.runs
    # Half an hour by the rough guess, of which more would be another kind of page.
    assert seconds_of(study.runs) < 1_800
    parameters = to_parameters(grid.options, grid.seeds, grid.metrics)
    assert all(map(is_parameter, parameters))
    assert from_parameters(parameters) == (grid.options, grid.seeds, grid.metrics, ())
    whole = parameters | ({} if grid.base is None else to_query(grid.base))
    assert sum(map(len, whole.values())) < 2_000


def test_a_link_of_this_version_keeps_its_meaning():
    query = {
        "seeds": "8",
        "vary_generator": "markov,recall",
        "vary_days": "1,4,8|1,5,9",
        "vary_learning_rate": "0.001,0.01",
        "vary_scale": "1/sqrt(d),none",
    }
    options = (
        ("generator", ("markov", "recall")),
        ("days", ("1,4,8", "1,5,9")),
        ("learning_rate", ("0.001", "0.01")),
        ("scale", ("1/sqrt(d)", "none")),
    )
    assert from_parameters(query | {"v": "2", "length": "12"}) == (options, 8, (), ())
    assert to_parameters(options, 8) == query


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"vary_colour": "red"}, "`colour` is 'red'"),
        ({"vary_seed": "1,2"}, "`seed` is '1,2'"),
        ({"vary_length": " , "}, "`length` is ''"),
        ({"metrics": "belief_r2,happiness"}, "`metrics` is 'happiness'"),
        ({"metrics": "belief_r2:![a](b)"}, "`metrics` is 'belief_r2:!"),
        ({"seeds": "0"}, "`seeds` is '0'"),
        ({"seeds": "1e9"}, "`seeds` is '1e9'"),
        ({"seeds": "9" * 5_000}, "`seeds` is '999"),
        ({"seeds": "²"}, "`seeds` is '²'"),
    ],
)
def test_what_a_link_asks_for_in_vain_is_told(query, words):
    asked = from_parameters(query)
    assert (asked.options, asked.seeds, asked.metrics) == ((), 5, ())
    (notice,) = asked.notices
    assert words in notice
    assert len(notice) < 200


def test_a_link_asks_for_no_more_than_it_may():
    names = [f"vary_{name}" for name in ("model", "length", "d_attn", "steps", "batch", "loss",
             "data", "mask", "score", "scale", "heads", "layers", "clip")]  # fmt: skip
    asked = from_parameters(dict.fromkeys(names, "1"))
    assert len(asked.options) == 12
    assert "13" in asked.notices[0]
    (option,) = from_parameters({"vary_steps": ",".join(map(str, range(10_000)))}).options
    assert len(option[1]) < 1_000


def test_a_plan_has_bounds():
    many = tuple(map(str, range(2, 43)))
    with pytest.raises(OptionError, match="`runs` is 2050: more than the 2,000"):
        plan_of(Grid((("length", many),), seeds=50, base=BASE), OPEN)
    with pytest.raises(OptionError, match="`runs` is 205: more than the cap of 100"):
        plan_of(Grid((("length", many),), seeds=5, base=BASE), HOSTED)
    with pytest.raises(OptionError, match="none of these settings"):
        plan_of(Grid((("length", ("many", "0")),), base=BASE), OPEN)


def test_a_shared_server_counts_the_settings_before_it_builds_them(monkeypatch):
    def built(grid):
        raise AssertionError("settings were built")

    monkeypatch.setattr("attnlab.ui.compare.work.study_of", built)
    many = tuple(map(str, range(1, 44)))
    grid = Grid((("length", many), ("d_attn", many)), seeds=1, base=BASE)
    with pytest.raises(OptionError, match="`runs` is 1849: more than the cap of 100"):
        plan_of(grid, HOSTED)


def test_a_shared_server_bounds_the_work_of_all_runs_together():
    heavy = dataclasses.replace(BASE, training=Training(steps=20_000, batch=1_000))
    check_comparison([heavy], HOSTED, seeds=1)
    with pytest.raises(OptionError, match="together about"):
        check_comparison([heavy] * 10, HOSTED, seeds=5)
    check_comparison([heavy] * 10, OPEN, seeds=5)


def test_the_guess_counts_each_program_once_and_grows_with_the_work():
    seeds = [dataclasses.replace(BASE, seed=seed) for seed in range(4)]
    other = dataclasses.replace(BASE, length=9)
    one, four = seconds_of(seeds[:1]), seconds_of(seeds)
    assert one < four < 4 * one
    assert seconds_of([*seeds, other]) > four + 1
    longer = dataclasses.replace(BASE, training=Training(steps=50_000, batch=7))
    assert seconds_of([longer]) > one


def test_a_prospect_gives_only_the_figures_that_are_not_small():
    assert show_prospect(BASE) == ""
    slow = dataclasses.replace(BASE, training=Training(steps=100_000, batch=700))
    assert re.fullmatch(r"Training takes about \d+ (s|min)\.", show_prospect(slow))
    large = dataclasses.replace(
        BASE, length=256, model=TransformerOptions(layers=2, heads=4), training=Training(batch=500)
    )
    assert re.search(r"about .+ and \d?,?\d+00 MB of memory\.$", show_prospect(large))


@pytest.mark.slow
def test_a_full_library_leaves_numbers_and_no_models():
    # A link asks for a hundred runs of the largest model, whose weights come to 800 MB.
    plan, held = plan_of(Grid((("length", ("4", "5")),), seeds=2, base=small(steps=3)), OPEN), {}
    *_, last = compare(plan, Library(None, most_bytes=20_000), OPEN, held)
    assert "full" in last.problem
    assert [result.state for result in last.results] == ["done"] * 4
    assert all(result.evaluation is not None for result in last.results)
    assert all(result.run is None for result in (*last.results, *held.values()))
