"""Limits: what a shared server refuses, and that it still runs everything it offers."""

import dataclasses

import pytest

from attnlab.configuration.options import OptionError, options_of
from attnlab.generators import Copy, NDays
from attnlab.models import (
    ALL_MODELS,
    SOURCE_MODELS,
    AttentionOptions,
    GRUOptions,
    LinearOptions,
    TransformerOptions,
)
from attnlab.training.experiment import Experiment
from attnlab.training.limits import (
    HOSTED,
    OPEN,
    Limits,
    check_limits,
    steps_at_once,
    work,
)
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training

OWNERS = (Experiment, AttentionOptions, TransformerOptions, GRUOptions, Training)
# Each option at the most that it can be on a machine of one's own.
LARGEST = {
    "length": Experiment(length=256),
    "d_attn": Experiment(model=AttentionOptions(d_attn=128)),
    "d_model": Experiment(model=AttentionOptions(d_model=128)),
    "layers": Experiment(model=TransformerOptions(layers=8)),
    "heads": Experiment(model=TransformerOptions(heads=16)),
    "mlp_width": Experiment(model=TransformerOptions(mlp_width=512)),
    "hidden_size": Experiment(model=GRUOptions(hidden_size=128)),
    "batch": Experiment(training=Training(batch=5_000)),
    "steps": Experiment(training=Training(steps=100_000)),
    "train_size": Experiment(training=Training(train_size=100_000)),
    "test_size": Experiment(training=Training(test_size=100_000)),
}


def refusal(experiment, limits=HOSTED):
    with pytest.raises(OptionError) as caught:
        check_limits(experiment, limits)
    return caught.value


@pytest.mark.parametrize("name", PRESETS)
def test_a_shared_server_runs_every_preset(name):
    check_limits(PRESETS[name].experiment, HOSTED)


def test_every_cap_is_tried_here():
    assert LARGEST.keys() == HOSTED.caps.keys()


@pytest.mark.parametrize("name", LARGEST)
def test_a_cap_is_lower_than_the_options_own_and_is_refused_by_name(name):
    own = next(options_of(owner)[name].high for owner in OWNERS if name in options_of(owner))
    cap = HOSTED.caps[name]
    assert cap < own
    error = refusal(LARGEST[name])
    assert (error.name, error.value) == (name, own)
    assert f"`{name}` is {own}: more than the cap of {cap:,} on this server" in str(error)
    assert f"Choose at most {cap:,}" in str(error)
    check_limits(LARGEST[name], OPEN)


def test_a_full_batch_is_bounded_by_its_set():
    full = Training(batch_mode="full", train_size=5_000)
    check_limits(Experiment(training=full), HOSTED)
    assert refusal(Experiment(training=full), Limits(caps={"train_size": 4_999})).name == (
        "train_size"
    )


def test_too_much_work_is_refused_with_the_steps_that_would_do():
    caps = HOSTED.caps
    large = Experiment(
        length=caps["length"],
        model=AttentionOptions(d_attn=caps["d_attn"], d_model=caps["d_model"], embedding="learned"),
        training=Training(batch=caps["batch"], steps=caps["steps"]),
    )
    error = refusal(large)
    assert error.name == "steps"
    most = int(str(error).split("at most ")[1].split(" steps")[0].replace(",", ""))
    assert 0 < most < caps["steps"]
    training = dataclasses.replace(large.training, steps=most)
    check_limits(dataclasses.replace(large, training=training), HOSTED)
    above = dataclasses.replace(large.training, steps=most + 2)
    assert refusal(dataclasses.replace(large, training=above)).name == "steps"
    check_limits(large, OPEN)


def test_a_step_that_takes_too_much_memory_is_refused_with_the_batch_that_would_do():
    caps = HOSTED.caps
    sizes = {name: caps[name] for name in ("layers", "heads", "d_attn", "d_model", "mlp_width")}
    model = TransformerOptions(**sizes)
    large = Experiment(
        length=caps["length"], model=model, training=Training(batch=caps["batch"], steps=1)
    )
    error = refusal(large)
    assert error.name == "batch"
    most = int(str(error).split("at most ")[1].split(",")[0])
    for batch, allowed in ((most, True), (most + 1, False)):
        training = dataclasses.replace(large.training, batch=batch)
        experiment = dataclasses.replace(large, training=training)
        if allowed:
            check_limits(experiment, HOSTED)
        else:
            assert refusal(experiment).name == "batch"


def test_where_a_single_step_is_too_much_no_number_of_steps_is_advised():
    assert "at most" not in str(refusal(Experiment(), Limits(work=1.0)))


@pytest.mark.parametrize("name", ALL_MODELS)
def test_work_grows_with_everything_that_costs_time(name):
    if name in SOURCE_MODELS:
        process, longer = (Copy(source_length=n, letters=26) for n in (4, 8))
    else:
        process = longer = NDays()
    base = Experiment(generator=process, length=8, model=ALL_MODELS[name]())

    def training(**options):
        return dataclasses.replace(base, training=dataclasses.replace(base.training, **options))

    assert work(training(steps=1_000)) == 2 * work(training(steps=500))
    assert work(training(batch=200)) == 2 * work(training(batch=100))
    full = training(batch_mode="full", train_size=5_000)
    assert work(full) == 50 * work(training(batch=100))
    assert work(dataclasses.replace(base, generator=longer, length=16)) >= 2 * work(base)


def test_work_of_a_model_counted_by_hand():
    # 3 tokens × 4 days + bias, each to 3 outcomes: 39 parameters, met by 4 days.
    linear = Experiment(length=4, model=LinearOptions(), training=Training(steps=10, batch=7))
    assert work(linear) == 10 * 7 * 4 * 39


def test_a_model_that_takes_seconds_a_step_hears_a_stop_after_each():
    large = TransformerOptions(layers=4, heads=8, d_attn=64, d_model=128)
    assert steps_at_once(Experiment()) == 100
    assert steps_at_once(Experiment(model=large, length=64)) == 1
