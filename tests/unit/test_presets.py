"""Presets whose names and descriptions promise something: that it comes."""

import itertools
import re

import pytest

from attnlab.comparisons.shipped import shipped
from attnlab.known_results.blog_post import part_named
from attnlab.known_results.post_verdicts import rows_of
from attnlab.optimum import optimum
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import prepare
from attnlab.training.loop import train
from attnlab.training.presets import PRESETS, START_PRESETS

SWITCHED = ("recall", "dotmod")


def test_every_preset_has_a_name_that_fits_a_menu_and_groups_are_together():
    titles = [preset.title for preset in PRESETS.values()]
    assert all(titles)
    assert max(map(len, titles)) <= 43
    assert len({preset.label for preset in PRESETS.values()}) == len(set(titles)) == len(PRESETS)
    runs = [group for group, _ in itertools.groupby(p.group for p in PRESETS.values())]
    assert all(runs)
    assert len(set(runs)) == len(runs)


def test_what_a_new_visitor_is_offered_is_the_first_group_of_the_menu():
    assert list(PRESETS)[: len(START_PRESETS)] == list(START_PRESETS)
    assert [p for p in PRESETS.values() if p.group == "Start here"] == [*START_PRESETS.values()]


def _tests(name):
    """The tests of the preset's run after every hundred steps."""
    experiment = PRESETS[name].experiment
    setup = prepare(experiment)
    for progress in train(experiment, setup):
        yield evaluate(progress.state.model, setup.test, readout=experiment.training.readout)


@pytest.mark.slow
def test_a_solved_process_is_learned_to_its_ceiling():
    experiment = PRESETS["solved-dotmod"].experiment
    ceiling = optimum(experiment.generator, experiment.length).final.accuracy
    assert any(
        abs(found.accuracy - ceiling) < 0.005 + 2 * found.accuracy_stderr
        for found in _tests("solved-dotmod")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dotmod-4-minibatch", "dotmod-7-positions"])
def test_a_switch_comes_to_what_is_shipped(name):
    experiment = PRESETS[name].experiment
    results = shipped("blog-post").results
    (before,) = [result for result in results if result.experiment == experiment]
    *_, found = _tests(name)
    # Another processor rounds otherwise, and a long training goes another way then.
    assert abs(found.accuracy - before.evaluation.accuracy) < 0.03


@pytest.mark.parametrize("process", SWITCHED)
def test_descriptions_have_the_accuracies_that_are_shipped(process):
    stored = shipped("blog-post")
    part = part_named("ladder", [process])
    rows = rows_of(part, stored.results, references=stored.references_of)
    for before, after in itertools.pairwise(rows):
        found = re.findall(r": ([\d.]+) without it, ([\d.]+) with it", _description(after.model))
        means = [f"{row.row.accuracy.mean:.3f}" for row in (before, after)]
        assert list(found[0]) == means


def _description(name):
    return PRESETS[name].description


@pytest.mark.parametrize("process", SWITCHED)
def test_switches_lead_from_the_published_head_one_at_a_time(process):
    names = [f"published-{process}-attention"]
    names += [name for name in PRESETS if re.match(rf"{process}-\d+-", name)]
    assert len(names) == 11
    experiments = [PRESETS[name].experiment for name in names]
    assert len({experiment.generator for experiment in experiments}) == 1
    # Each begins where the one before it has ended.
    found = [re.findall(r": ([\d.]+) without it, ([\d.]+) with it", PRESETS[name].description)[0]
            for name in names[1:]]  # fmt: skip
    assert [before for before, _ in found[1:]] == [after for _, after in found[:-1]]
    for before, after in itertools.pairwise(experiments):
        # A switch is one of the model or one of the training.
        assert (before.model == after.model) != (before.training == after.training)
