"""Links: a whole experiment there and back, and every bad value a notice and no more."""

import json
import string
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.configuration.number_text import read_value
from attnlab.configuration.options import registered
from attnlab.generators import PROCESSES, Cards, Custom, Recall
from attnlab.models import ALL_MODELS, MODELS, SOURCE_MODELS, AttentionOptions
from attnlab.positions import POSITIONS
from attnlab.runs.links import (
    CHANGED_DEFAULTS,
    LINK_VERSION,
    Lesson,
    all_but,
    control_values,
    controls,
    from_query,
    is_link,
    labels_of,
    to_query,
)
from attnlab.training.experiment import Experiment, from_json, to_json
from attnlab.training.optimisers import OPTIMISERS, SCHEDULES
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training

FROZEN_DEFAULTS = json.loads(
    Path(__file__).with_name("frozen_defaults.json").read_text(encoding="utf-8")
)
FROZEN = json.loads(Path(__file__).with_name("frozen_links.json").read_text(encoding="utf-8"))

CASES = {
    **{name: preset.experiment for name, preset in PRESETS.items()},
    **{f"generator {name}": Experiment(generator=kind()) for name, kind in PROCESSES.items()},
    **{f"model {name}": Experiment(model=kind()) for name, kind in MODELS.items()},
    **{
        f"model {name}": Experiment(generator=Cards(), model=kind())
        for name, kind in SOURCE_MODELS.items()
    },
    "scheduled sampling": Experiment(
        generator=Cards(), training=Training(loss="next", scheduled_sampling=0.25)
    ),
    **{
        f"position {name}": Experiment(model=AttentionOptions(position=kind()))
        for name, kind in POSITIONS.items()
    },
    **{
        f"optimiser {name}": Experiment(training=Training(optimiser=kind()))
        for name, kind in OPTIMISERS.items()
    },
    **{
        f"schedule {name}": Experiment(training=Training(schedule=kind()))
        for name, kind in SCHEDULES.items()
    },
    "numbers to their last digit": Experiment(
        training=Training(learning_rate=0.1 + 0.2), seed=2**31 - 1
    ),
    "symbols of several code points": Experiment(
        generator=Custom(symbols="👩‍🔬 🏳️‍🌈 🌧️", order=1, table=((0.2, 0.3, 0.5),) * 3)
    ),
}


@pytest.mark.parametrize("experiment", CASES.values(), ids=CASES)
def test_a_link_brings_the_experiment_back(experiment):
    link = from_query(to_query(experiment))
    assert link.experiment == experiment
    assert (link.notices, link.unknown, link.lesson) == ((), (), Lesson())


def test_a_link_without_a_key_means_the_first_default_of_its_option():
    meant = {}
    for key, field in controls(Experiment, registered).items():
        meant[key] = field.plain_value
        if key in CHANGED_DEFAULTS:
            meant[key] = read_value(key, field.option, CHANGED_DEFAULTS[key], field.plain_value)
    assert json.loads(json.dumps(meant)) == FROZEN_DEFAULTS, (
        "If a default has changed, add the earlier one to `CHANGED_DEFAULTS` in runs/links.py. If "
        "an option is new, add its default to tests/unit/frozen_defaults.json."
    )


def test_a_default_that_changes_leaves_links_their_meaning(monkeypatch):
    earlier = {"steps": "400", "position": "alibi"}
    monkeypatch.setattr("attnlab.runs.links.CHANGED_DEFAULTS", earlier)
    short = from_query({"v": LINK_VERSION}).experiment
    assert (short.training.steps, short.model.position.name) == (400, "alibi")
    query = to_query(Experiment())
    assert query.items() >= {"steps": "500", "position": "learned"}.items()
    assert from_query(query).experiment == Experiment()


@pytest.mark.parametrize("preset", PRESETS)
def test_the_link_of_a_preset_is_short(preset):
    # Two lines of a message.
    assert len(urlencode(to_query(PRESETS[preset].experiment))) < 320


def assert_holds(now, then):
    """Every value of an older record is in the present one."""
    for name, value in then.items():
        if isinstance(value, dict):
            assert_holds(now[name], value)
        elif (name, value) == ("name", "adam"):
            # Once the only optimiser gave its name to all of the training.
            assert now["optimiser"]["name"] == value
        else:
            assert now[name] == value


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda frozen: frozen["made"])
def test_old_links_keep_their_meaning(frozen):
    link = from_query(frozen["query"])
    assert link.notices == ()
    assert_holds(json.loads(to_json(link.experiment)), frozen["experiment"])
    assert link.experiment == from_json(json.dumps(frozen["experiment"]))


def test_a_lesson_travels_along():
    lesson = Lesson("Which mask?", "Find the mask that makes dotmod learnable.", ("preset", "mask"))
    link = from_query(to_query(Experiment(), lesson))
    assert link.lesson == lesson
    assert link.notices == ()


def test_a_lesson_without_hints_and_in_large_type_travels_along():
    lesson = Lesson("Which mask?", has_hints=False, has_large_type=True)
    query = to_query(Experiment(), lesson)
    assert (query["hints"], query["type"]) == ("off", "large")
    link = from_query(query)
    assert (link.lesson, link.notices, link.unknown) == (lesson, (), ())
    link = from_query({**query, "hints": "perhaps", "type": ""})
    assert link.lesson == Lesson("Which mask?")
    assert [line.partition(":")[0] for line in link.notices] == [
        "`hints` is 'perhaps'",
        "`type` is ''",
    ]


def test_a_lesson_is_bounded():
    query = {**to_query(Experiment()), "title": "x" * 200, "text": "y" * 2_000, "hide": "mask,nose"}
    link = from_query(query)
    assert (len(link.lesson.title), len(link.lesson.text)) == (80, 600)
    assert link.lesson.hidden == ("mask",)
    assert len(link.notices) == 3


def test_a_lesson_that_hides_all_but_a_few_travels_along():
    lesson = Lesson("Which mask?", "", all_but(("mask", "steps")))
    query = to_query(Experiment(), lesson)
    assert (query["hide"], set(query["show"].split(","))) == ("all", {"mask", "steps"})
    link = from_query(query)
    assert (link.lesson, link.notices, link.unknown) == (lesson, (), ())
    assert set(link.lesson.shown) == {"mask", "steps"}
    # Also what comes with a process or a model that the link does not speak of.
    for experiment in CASES.values():
        left = set(labels_of(experiment)) - set(link.lesson.hidden)
        assert left <= {"mask", "steps"}


def test_a_lesson_may_leave_no_control():
    link = from_query({**to_query(Experiment()), "hide": "all"})
    assert link.lesson == Lesson(hidden=all_but(()))
    assert from_query(to_query(Experiment(), link.lesson)).lesson == link.lesson


def test_a_lesson_that_hides_a_few_names_them():
    lesson = Lesson(hidden=tuple(labels_of(Experiment(generator=Recall()))))
    assert lesson.shown is None
    assert to_query(Experiment(), lesson)["hide"] == ",".join(lesson.hidden)


def test_what_is_to_be_shown_and_is_no_control_is_told():
    link = from_query({**to_query(Experiment()), "hide": "all", "show": "mask,nose"})
    assert link.lesson.shown == ("mask",)
    assert link.notices == ("`show` names 'nose', which is not a control here.",)
    assert from_query({**to_query(Experiment()), "show": "mask"}).unknown == ("show",)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"d_attn": "1000"}, "d_attn"),
        ({"d_attn": "six"}, "d_attn"),
        ({"d_attn": "9" * 5_000}, "d_attn"),
        ({"learning_rate": "nan"}, "learning_rate"),
        ({"learning_rate": "1e999"}, "learning_rate"),
        ({"generator": "weather"}, "generator"),
        ({"mask": "everything"}, "mask"),
        ({"markov_transition": "0.5,0.3,0.1;0.3,0.4,0.3;0.2,0.3,0.5"}, "transition"),
        ({"markov_transition": ";;"}, "transition"),
        ({"model": "linear", "loss": "published"}, "loss"),
        ({"batch_mode": "full", "data": "fresh"}, "batch_mode"),
    ],
)
def test_a_bad_value_falls_back_and_is_named(changed, named):
    link = from_query({**to_query(Experiment()), **changed})
    (notice,) = link.notices
    assert named in notice
    # Everything that was not changed is as before.
    assert to_query(link.experiment).keys() <= {"v", *changed}


@pytest.mark.parametrize("words", ["x" * 500, "`" * 500, "![](http://b.co) " * 40])
def test_a_notice_repeats_no_more_than_sixty_letters_of_a_link(words):
    changed = {"d_attn": words, "mask": words, "hide": words, "markov_transition": words}
    link = from_query({**to_query(Experiment()), **changed})
    assert len(link.notices) == len(changed)
    for notice in link.notices:
        assert len(notice) < 60 + 200
        assert words[:70] not in notice


def test_a_bad_row_of_a_table_leaves_the_other_table_as_asked():
    changed = {"markov_initial": "0.2,0.3,0.5", "markov_transition": "1,1,1;1,0,0;1,0,0"}
    link = from_query({**to_query(Experiment()), **changed})
    assert link.experiment.generator.initial == (0.2, 0.3, 0.5)


def test_links_of_another_version_are_not_guessed_at():
    for version in ("3", "1", "0", "", "1.0"):
        link = from_query({**to_query(Experiment(seed=5)), "v": version})
        assert link.experiment == Experiment()
        (notice,) = link.notices
        assert "share the new link" in notice


def test_a_query_without_version_is_a_link_of_the_newest_if_it_has_a_setting():
    query = {"generator": "ndays", "d_attn": "x", "text": "Why?", "foo": "1"}
    assert from_query(query) == from_query({"v": LINK_VERSION, **query})
    assert all(map(is_link, ({"d_attn": "3"}, {"text": "Why?"}, {"v": "7"})))
    assert not is_link({"foo": "1", "vary_length": "5", "step_stage": "scores"})


def test_a_key_that_nobody_knows_is_told():
    assert from_query({**to_query(Experiment()), "d_atn": "3"}).unknown == ("d_atn",)


def test_an_endless_link_is_not_read():
    assert len(from_query({"v": "2", "foo": "x" * 100_000}).notices) == 1


_KEYS = sorted(
    {key for case in CASES.values() for key in control_values(case)}
    | {"v", "title", "text", "hide", "show", "foo", ""}
)
_ANYTHING = st.one_of(
    st.text(max_size=40),
    st.text(string.digits + "-+.e,; ", max_size=20),
    st.sampled_from(
        [*PROCESSES, *ALL_MODELS, *POSITIONS, "full", "fresh", "published", "all", "1", "0.5"]
    ),
    st.integers(-(10**6), 10**6).map(str),
    st.floats().map(str),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(query=st.dictionaries(st.sampled_from(_KEYS), _ANYTHING, max_size=12))
def test_no_query_string_breaks_anything(query):
    link = from_query({"v": LINK_VERSION, **query})
    assert isinstance(link.experiment, Experiment)
    # What it came to is itself an experiment with a link.
    assert from_query(to_query(link.experiment, link.lesson)).experiment == link.experiment
    assert set(link.lesson.hidden) <= set(all_but(()))
    if query.get("hide") != "all":
        assert set(link.lesson.hidden) <= set(labels_of(link.experiment))


def test_one_setting_that_is_refused_takes_no_other_along():
    query = {"v": LINK_VERSION, "generator": "markov", "loss": "next", "steps": "77"}
    link = from_query({**query, "scheduled_sampling": "0.3"})
    assert link.experiment == from_query(query).experiment
    assert link.experiment.training.steps == 77
    (notice,) = link.notices
    assert notice.startswith("`scheduled_sampling` is 0.3")
