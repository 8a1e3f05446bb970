"""Advice: each diagnosis on a run with the illness and on one without it, and followed."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import options_of
from attnlab.generators import (
    Copy,
    DotMod,
    Even,
    InContextMarkov,
    Induction,
    Markov,
    Parentheses,
    RandomRandomXor,
    Recall,
    Reverse,
    loss_mask_of,
    sample,
)
from attnlab.inspection.advice import advice_for
from attnlab.inspection.strategies import has_references
from attnlab.inspection.what_happened import (
    DIVERGES,
    OVERFITS,
    STILL_FALLING,
    WhatHappened,
    happened_in,
)
from attnlab.models import (
    ALL_MODELS,
    AttentionOptions,
    EncoderDecoderOptions,
    GRUOptions,
    LinearOptions,
    TransformerOptions,
)
from attnlab.models.inside import mean_trace
from attnlab.optimum import Baseline, Best, baselines_of, dependence, informative_positions
from attnlab.positions import Learned, Rotary, Scalar
from attnlab.training.evaluation import outcomes
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import EvaluationEvent, Progress, run
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training

# A run with no illness but that it learned 40 %, a little more than the best linear predictor.
_SHORT = WhatHappened(
    step=500,
    passed=(),
    against_guess="better",
    against_others="better",
    too_small=False,
    linear=0.1,
    learned=0.4,
    below_linear=False,
    at_floor=False,
    problem="",
    informative=(1, 4, 8),
    even=0.3,
    attended=0.9,
    best_heads=((1, 0.9), (1, 0.9), (1, 0.9)),
    layer=None,
)
_WELL = Experiment(generator=Recall(), model=TransformerOptions())


def _action(experiment=_WELL, **happened):
    advice = advice_for(experiment, _SHORT._replace(**happened))
    return None if advice is None else advice.action


def _with(model=None, **training):
    experiment = _WELL if model is None else dataclasses.replace(_WELL, model=model)
    training = dataclasses.replace(experiment.training, **training)
    return dataclasses.replace(experiment, training=training)


def test_without_a_diagnosis_there_is_no_advice():
    assert _action() is None


def test_a_run_that_learned_or_has_not_ended_gets_no_advice():
    ill = {"problem": OVERFITS}
    assert _action(**ill) == "Train on fresh sequences"
    assert _action(**ill, learned=0.97) is None
    assert _action(**ill, at_floor=True) is None
    assert _action(**ill, learned=None) is None
    # Before its end a run may still find what it seems to miss.
    assert _action(**ill, step=499) is None


def test_a_loss_that_was_still_falling_gets_more_steps_and_a_linear_model_an_mlp():
    assert _action(problem=STILL_FALLING) == "Train for 2,000 steps"
    for rate, slower in ((0.02, "0.002"), (1.0, "0.005")):
        action = _action(_with(learning_rate=rate), problem=DIVERGES)
        assert action == f"Train with learning rate {slower}"
    assert _action(_with(LinearOptions()), learned=0.1) == f"{_WITH_MLP} for 2,000 steps"
    assert _action(_with(LinearOptions(), steps=3_000), learned=0.1, step=3_000) == _WITH_MLP


@pytest.mark.parametrize("more", [{"problem": STILL_FALLING}, {"informative": ()}])
@pytest.mark.parametrize(
    ("training", "is_fresh"),
    [({}, True), ({"data": "fresh"}, True), ({"split": "held out"}, False)],
)
def test_more_steps_are_steps_of_fresh_sequences_unless_a_split_was_chosen(
    more, training, is_fresh
):
    model = TransformerOptions() if "problem" in more else AttentionOptions()
    advice = advice_for(_with(model, **training), _SHORT._replace(**more))
    assert (advice.experiment.training.data == "fresh") is is_fresh
    assert ("Fresh sequences" in advice.reason) is (training == {})


def test_a_linear_predictor_that_could_learn_enough_needs_no_mlp():
    for model in (LinearOptions(), AttentionOptions()):
        assert _action(_with(model), learned=0.93, linear=0.99) is None
    assert "with an MLP" in _action(_with(AttentionOptions()), linear=None)


@pytest.mark.parametrize("learned", [0.01, 0.09, 0.19])
def test_a_start_that_does_not_hold_a_model_back_is_mended_on_the_way(learned):
    before = _with(AttentionOptions(mask="published", **_START), loss="published", readout="first")
    happened = _SHORT._replace(learned=learned, linear=0.1)
    advice = advice_for(before, happened)
    action = f"{_WITH_MLP} and learned positions for 2,000 steps, on the last day only"
    assert advice.action == action
    assert advice.experiment.model == TransformerOptions()
    # It is the advice after a run without that start.
    plain = _with(AttentionOptions())
    assert advice_for(plain, happened).experiment == advice.experiment
    # Of a model that learned much less or more, the start is mended first.
    for other in (-0.5, 0.4):
        assert "the last day only" in advice_for(before, happened._replace(learned=other)).action
        assert _WITH_MLP not in advice_for(before, happened._replace(learned=other)).action


def test_an_mlp_comes_with_learned_positions():
    both, alone = (f"{_WITH_MLP}{too} for 2,000 steps" for too in (" and learned positions", ""))
    learned = dataclasses.replace(_TWO_HEADS, position=Learned())
    for model, action in (
        (_TWO_HEADS, both), (learned, alone), (AttentionOptions(), alone), (LinearOptions(), alone),
    ):  # fmt: skip
        assert _action(_with(model)) == action


@pytest.mark.parametrize(
    "model",
    [
        TransformerOptions(heads=2, d_attn=5, mlp_width=0, position=Rotary(), mask="causal"),
        AttentionOptions(d_attn=5, d_model=9, embedding="learned", score="additive"),
    ],
)
@pytest.mark.parametrize(
    ("process", "changed"), [(Recall(), ("mlp_width", "position")), (Induction(), ("layers",))]
)
def test_advice_keeps_every_setting_that_it_is_not_about(model, process, changed):
    training = Training(loss="next", data="fresh", steps=3_000)
    before = Experiment(generator=process, model=model, training=training)
    happened = _SHORT._replace(informative=(), step=3_000)
    advised = advice_for(before, happened).experiment
    # Other families have smaller sizes.
    sizes = () if isinstance(model, TransformerOptions) else ("d_attn", "d_model")
    names = (options_of(model).keys() & options_of(advised.model).keys()) - {*changed, *sizes}
    assert {name: getattr(advised.model, name) for name in names} == {
        name: getattr(model, name) for name in names
    }
    assert dataclasses.replace(advised, model=model) == before


_START = {"position": Scalar(), "initialisation": "published"}


# Two of the three causes of training other tokens are in the first short run below.
@pytest.mark.parametrize(
    "experiment", [_with(readout="first"), _with(AttentionOptions(mask="published"))]
)
def test_settings_that_train_other_tokens_are_named_first(experiment):
    assert _action(experiment) == "Train the last day only"
    start = dataclasses.replace(experiment, model=AttentionOptions(mask="published", **_START))
    advice = advice_for(start, _SHORT)
    assert advice.action == "Train the last day only, with learned positions"
    assert advice.experiment.model == AttentionOptions()


@pytest.mark.parametrize(
    ("experiment", "happened"),
    [
        (_with(loss="next"), {}),
        (_with(data="fresh"), {"problem": OVERFITS}),
        (_with(GRUOptions()), {"learned": 0.05}),
        (_with(TransformerOptions(heads=3)), {"attended": 0.5}),
        (_with(TransformerOptions(heads=2)), {"attended": 0.9}),
        (_with(TransformerOptions(heads=2)), {"attended": None}),
        (_with(TransformerOptions(heads=2)), {"attended": 0.5, "learned": 0.09}),
    ],
)
def test_a_run_without_that_illness_gets_no_such_remedy(experiment, happened):
    assert _action(experiment, **happened) is None


@pytest.mark.parametrize(
    ("training", "problem"),
    [({"steps": 100_000}, STILL_FALLING), ({"learning_rate": 1e-6}, DIVERGES)],
)
def test_at_the_bound_of_an_option_there_is_no_advice_to_do_the_same_again(training, problem):
    steps = training.get("steps", 500)
    assert _action(_with(**training), problem=problem, step=steps) is None


def test_a_process_with_a_loss_mask_is_not_asked_to_train_its_last_token_alone():
    task = Experiment(
        generator=Reverse(source_length=8),
        model=TransformerOptions(),
        length=15,
        training=Training(loss="next"),
    )
    assert _action(task, attended=None) is None


def trained(experiment):
    setup, tests, losses = prepare(experiment), [], []
    for event in run(experiment, setup=setup):
        if isinstance(event, EvaluationEvent):
            tests.append((event.step, event.evaluation))
            model = event.model
        elif isinstance(event, Progress):
            losses += event.losses.nll.tolist()
    process = experiment.generator, experiment.length
    return (
        tests[-1][1],
        model,
        happened_in(
            experiment,
            tests,
            _baselines(setup),
            informative=_informative(*process),
            trace=mean_trace(model, setup.probes),
            losses=losses,
        ),
    )


def _baselines(setup):
    """All baselines, or for several tested tokens, where others take long, guess and floor."""
    process, length = setup.experiment.generator, setup.experiment.length
    if not (process.has_loss_mask() or has_references(process)):
        return baselines_of(process, length)
    guess, floor = float(np.log(process.vocabulary.size)), float(setup.exact.mean())
    return Baseline("uniform", Best(guess, 0.0)), Baseline("optimal", Best(floor, 1.0))


def _informative(process, length):
    if process.true_sources(jnp.zeros(length, jnp.int32)) is not None:
        return np.zeros(length, bool)
    return informative_positions(dependence(process, length))


def losses_of(experiment, model):
    """The loss of a model on each of some sequences that depend on its process alone."""
    process, length = experiment.generator, experiment.length
    sequences = sample(process, key=jr.key(1), size=2_000, length=length + 1)
    mask = loss_mask_of(process, sequences)
    return outcomes(model, sequences, readout=experiment.training.readout, loss_mask=mask)[0]


_WITH_MLP = "Train a transformer with an MLP"
_TWO_LAYERS = "Train a transformer with two layers"
_ONE_HEAD = TransformerOptions(heads=1)
_TWO_HEADS = TransformerOptions(heads=2, mlp_width=0, position=Rotary())


_DAYS = DotMod(n=4)


def _short(model=_ONE_HEAD, process=_DAYS, length=4, **training):
    fast = Training(steps=200, data="fresh", batch=128, learning_rate=0.01, test_size=1_000)
    training = dataclasses.replace(fast, **training)
    return Experiment(generator=process, length=length, model=model, training=training)


def _reading(process, length, model=_TWO_HEADS, **training):
    """A run that predicts every token, on few test sequences."""
    usual = {"loss": "next", "steps": 400, "batch": 64, "test_size": 200}
    return _short(model, process, length, **usual | training)


_FIXED = {"data": "fixed", "batch_mode": "full", "train_size": 500}
# A run for each illness, which all the others do not have, and one that has none.
_SHORT_RUNS = (
    (
        _short(
            AttentionOptions(mask="published", **_START),
            loss="published", readout="first", steps=100, **_FIXED,
        ),
        "Train the last day only, with learned positions",
    ),
    (_short(AttentionOptions(**_START), Markov(), 8), "Train with learned positions"),
    (
        _short(AttentionOptions(**_START), Parentheses(), 10, steps=300, batch=64),
        f"{_WITH_MLP} and learned positions for 2,000 steps",
    ),
    (_short(TransformerOptions(position=Scalar())), "Train with learned positions"),
    (
        _short(LinearOptions(initialisation="published"), steps=100),
        "Train with scaled initial weights",
    ),
    (
        _reading(Copy(source_length=5), 9, EncoderDecoderOptions(position=Scalar()), steps=100),
        "Train with learned positions",
    ),
    (_short(AttentionOptions(), **_FIXED), f"{_WITH_MLP} for 2,000 steps"),
    (_short(LinearOptions(), steps=300), f"{_WITH_MLP} for 2,000 steps"),
    (_short(_TWO_HEADS, Even(), 10, steps=2_000), f"{_WITH_MLP} and learned positions"),
    (
        _short(AttentionOptions(**_START), RandomRandomXor(), 10),
        f"{_WITH_MLP} and learned positions for 2,000 steps",
    ),
    (
        _short(
            AttentionOptions(mask="published", **_START), RandomRandomXor(), 10,
            loss="published", readout="first",
        ),
        f"{_WITH_MLP} and learned positions for 2,000 steps, on the last token only",
    ),
    (_short(_TWO_HEADS, Even(), 10), f"{_WITH_MLP} and learned positions for 2,000 steps"),
    (_short(process=DotMod(n=6), length=6, learning_rate=0.001), "Train with 4 heads"),
    (
        _short(TransformerOptions(heads=3), Recall(), 10, steps=400, learning_rate=0.003),
        "Train for 1,600 steps",
    ),
    (_short(steps=400), None),
    (_reading(Induction(letters=8), 15), f"{_TWO_LAYERS} for 2,000 steps"),
    (_reading(InContextMarkov(), 16, AttentionOptions()), f"{_TWO_LAYERS} for 2,000 steps"),
    (
        _reading(InContextMarkov(), 16, LinearOptions(), loss="last"),
        f"{_TWO_LAYERS} for 2,000 steps",
    ),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "action"), _SHORT_RUNS)
def test_a_trained_run_gets_the_advice_for_its_illness_which_lowers_its_loss(experiment, action):
    _check_advice(experiment, action)


# Rates at which the loss still falls after 30 steps, of families that learn slower or faster.
_SLOW = {"linear": 0.01, "attention": 0.003, "lstm": 0.002, "transformer": 0.0003}
# Only the last token matters, so that every family learns it, and none needs an MLP.
_CHAIN = Markov(transition=((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)))


_ILLNESSES = {
    "diverges": ({"learning_rate": 100.0}, "Train with learning rate 0.005"),
    "overfits": ({"data": "fixed", "train_size": 30}, "Train on fresh sequences"),
    "falling": ({"steps": 30, "test_size": 4_000}, "Train for 120 steps"),
    "other": ({"loss": "published", "readout": "first"}, "Train the last day only"),
}


def _families_and_illnesses():
    """Every family with one of the illnesses, in turns: training all pairs takes minutes."""
    for number, (model, family) in enumerate(ALL_MODELS.items()):
        possible = [
            (name, *illness)
            for name, illness in _ILLNESSES.items()
            if illness[0].get("loss", "last") in family().losses
        ]
        name, training, action = possible[number % len(possible)]
        yield pytest.param(family(), training, action, id=f"{name}-{model}")


@pytest.mark.slow
@pytest.mark.parametrize(("model", "training", "action"), list(_families_and_illnesses()))
def test_advice_that_any_family_can_get_lowers_its_loss(model, training, action):
    if "steps" in training:
        training = {"learning_rate": _SLOW.get(model.name, 0.001), **training}
    if model.name == "ssm" and "learning_rate" in training and "steps" not in training:
        # At the rate of the others its loss is no number after two steps.
        training = {"learning_rate": 4.0}
    if model.reads_source:
        experiment = _reading(Copy(source_length=5, noise=0.2), 9, model, **training)
    else:
        experiment = _short(model, _CHAIN, 6, **training)
    _check_advice(experiment, action)


def _check_advice(experiment, action):
    """Check the advice after a run, and that the run that follows it has a lower loss."""
    _, model, happened = trained(experiment)
    advice = advice_for(experiment, happened)
    assert (None if advice is None else advice.action) == action
    if advice is None:
        assert happened.learned > 0.95
        return
    assert all(len(part.split()) <= 22 for part in advice.reason.split(". "))
    _, advised, _ = trained(advice.experiment)
    gains = losses_of(experiment, model) - losses_of(advice.experiment, advised)
    error = gains.std(ddof=1) / len(gains) ** 0.5
    assert gains.mean() > 2 * error, (gains.mean(), error)


@pytest.mark.slow
def test_the_advice_leads_from_the_published_head_to_what_can_be_learned():
    """Every step of the way learns more than the one before it, and the last one nearly all.

    With some seeds a step learns less, or the last run stays in a local minimum. Which seeds these
    are depends on how the processor rounds: one of two must do.
    """
    assert any(map(_leads_to_the_best, (2, 6)))


def _leads_to_the_best(seed):
    experiment = dataclasses.replace(
        _smaller(PRESETS["published-dotmod-attention"].experiment), seed=seed
    )
    shares = []
    while True:
        test, _, happened = trained(experiment)
        shares.append(happened.learned)
        advice = advice_for(experiment, happened)
        if advice is None:
            break
        experiment = advice.experiment
    assert len(shares) <= 6
    best = baselines_of(experiment.generator, experiment.length)[-1].best
    reached = shares[-1] > 0.98 and test.accuracy >= best.accuracy - 0.02
    return reached and shares == sorted(shares)


def _smaller(experiment):
    """The experiment over six days instead of ten, with a tenth of the sequences."""
    training = dataclasses.replace(experiment.training, train_size=500, test_size=1_000)
    generator = dataclasses.replace(experiment.generator, n=6)
    return dataclasses.replace(experiment, generator=generator, length=6, training=training, seed=2)
