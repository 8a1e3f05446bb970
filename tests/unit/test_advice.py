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
    InContextMarkov,
    Induction,
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
from attnlab.models import AttentionOptions, GRUOptions, LinearOptions, TransformerOptions
from attnlab.models.inside import mean_trace
from attnlab.optimum import Baseline, Best, dependence, informative_positions, ladder
from attnlab.positions import Rotary, Scalar
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
    own=(0.9, 0.9, 0.9),
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
    assert _action(_with(LinearOptions()), learned=0.1) == "Train a transformer with an MLP"


def test_a_linear_predictor_that_could_learn_enough_needs_no_mlp():
    for model in (LinearOptions(), AttentionOptions()):
        assert _action(_with(model), learned=0.93, linear=0.99) is None
    assert _action(_with(AttentionOptions()), linear=None) == "Train a transformer with an MLP"


@pytest.mark.parametrize(
    "model",
    [
        TransformerOptions(heads=2, d_attn=5, mlp_width=0, position=Rotary(), mask="causal"),
        AttentionOptions(d_attn=5, d_model=9, embedding="learned", score="additive"),
    ],
)
@pytest.mark.parametrize(("process", "changed"), [(Recall(), "mlp_width"), (Induction(), "layers")])
def test_advice_keeps_every_setting_that_it_is_not_about(model, process, changed):
    before = Experiment(generator=process, model=model, training=Training(loss="next"))
    advised = advice_for(before, _SHORT._replace(informative=())).experiment
    names = (options_of(model).keys() & options_of(advised.model).keys()) - {changed}
    assert {name: getattr(advised.model, name) for name in names} == {
        name: getattr(model, name) for name in names
    }
    assert dataclasses.replace(advised, model=model) == before


def test_a_head_wider_than_any_of_a_transformer_is_narrowed_to_the_widest():
    advice = advice_for(_with(AttentionOptions(d_attn=128)), _SHORT)
    assert advice.experiment.model.d_attn == 64


# Two of the three causes of training other tokens are in the first short run below.
@pytest.mark.parametrize(
    "experiment", [_with(readout="first"), _with(AttentionOptions(mask="published"))]
)
def test_settings_that_train_other_tokens_are_named_first(experiment):
    assert _action(experiment) == "Train the last day only"


@pytest.mark.parametrize(
    ("experiment", "happened"),
    [
        (_with(loss="next"), {}),
        (_with(data="fresh"), {"problem": OVERFITS}),
        (_with(GRUOptions()), {"learned": 0.05}),
        (_with(TransformerOptions(heads=3)), {"attended": 0.5}),
        (_with(TransformerOptions(heads=2)), {"attended": 0.9}),
        (_with(TransformerOptions(heads=2)), {"attended": None}),
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


def _trained(experiment):
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
            ladder(*process),
            informative=_informative(*process),
            trace=mean_trace(model, setup.probes),
            losses=losses,
        ),
    )


def _baselines(setup):
    """All baselines, or where each sequence has its own rule the guess and the floor of the test.

    The others take long to sample there, and no advice depends on them.
    """
    process, length = setup.experiment.generator, setup.experiment.length
    if not has_references(process):
        return ladder(process, length)
    guess, floor = float(np.log(process.vocabulary.size)), float(setup.exact.mean())
    return Baseline("uniform", Best(guess, 0.0)), Baseline("optimal", Best(floor, 1.0))


def _informative(process, length):
    if process.true_sources(jnp.zeros(length, jnp.int32)) is not None:
        return np.zeros(length, bool)
    return informative_positions(dependence(process, length))


def _losses(experiment, model):
    """The loss of a model on each of some sequences that depend on its process alone."""
    process, length = experiment.generator, experiment.length
    sequences = sample(process, key=jr.key(1), size=2_000, length=length + 1)
    mask = loss_mask_of(process, sequences)
    return outcomes(model, sequences, readout=experiment.training.readout, loss_mask=mask)[0]


_ONE_HEAD = TransformerOptions(heads=1)
_TWO_HEADS = TransformerOptions(heads=2, mlp_width=0, position=Rotary())


def _short(model=_ONE_HEAD, **training):
    fast = Training(steps=200, data="fresh", batch=128, learning_rate=0.01, test_size=1_000)
    return Experiment(
        generator=DotMod(n=4),
        length=4,
        model=model,
        training=dataclasses.replace(fast, **training),
    )


def _reading(process, length, model=_TWO_HEADS, **training):
    """A run that predicts every token, on few test sequences."""
    fast = _short(model, loss="next", steps=400, batch=64, test_size=200)
    training = dataclasses.replace(fast.training, **training)
    return dataclasses.replace(fast, generator=process, length=length, training=training)


_FIXED = {"data": "fixed", "batch_mode": "full", "train_size": 500}
_START = {"position": Scalar(), "initialisation": "published"}
# A run for each illness, which all the others do not have, and one that has none.
_SHORT_RUNS = (
    (
        _short(
            AttentionOptions(mask="published", **_START),
            loss="published", readout="first", steps=100, **_FIXED,
        ),
        "Train the last day only",
    ),
    (_short(learning_rate=10.0, steps=100), "Train with learning rate 1"),
    (_short(AttentionOptions(**_START)), "Train with learned positions"),
    (_short(data="fixed", train_size=50), "Train on fresh sequences"),
    (_short(AttentionOptions(), **_FIXED), "Train on fresh sequences"),
    (_short(AttentionOptions(), steps=400), "Train a transformer with an MLP"),
    (_short(LinearOptions(), steps=300), "Train a transformer with an MLP"),
    (_short(learning_rate=1.0), "Train with 2 heads"),
    (
        dataclasses.replace(
            _short(TransformerOptions(heads=3), steps=400, learning_rate=0.003),
            generator=Recall(),
            length=10,
        ),
        "Train for 1,600 steps",
    ),
    (_short(steps=400), None),
    # Other classes of processes. The rest of those learned in context would take a minute.
    (_reading(Induction(letters=8), 15), "Train a transformer with two layers"),
    (_reading(InContextMarkov(), 16, AttentionOptions()), "Train a transformer with two layers"),
    (_reading(Copy(source_length=5), 9, GRUOptions(), steps=60), "Train for 240 steps"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "action"), _SHORT_RUNS)
def test_a_trained_run_gets_the_advice_for_its_illness_which_lowers_its_loss(experiment, action):
    _, model, happened = _trained(experiment)
    advice = advice_for(experiment, happened)
    assert (None if advice is None else advice.action) == action
    if advice is None:
        assert happened.learned > 0.95
        return
    assert all(len(part.split()) <= 22 for part in advice.reason.split(". "))
    _, advised, _ = _trained(advice.experiment)
    gains = _losses(experiment, model) - _losses(advice.experiment, advised)
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
        test, _, happened = _trained(experiment)
        shares.append(happened.learned)
        advice = advice_for(experiment, happened)
        if advice is None:
            break
        experiment = advice.experiment
    assert len(shares) <= 6
    best = ladder(experiment.generator, experiment.length)[-1].best
    reached = shares[-1] > 0.98 and test.accuracy >= best.accuracy - 0.02
    return reached and shares == sorted(shares)


def _smaller(experiment):
    """The experiment over six days instead of ten, with a tenth of the sequences."""
    training = dataclasses.replace(experiment.training, train_size=500, test_size=1_000)
    generator = dataclasses.replace(experiment.generator, n=6)
    return dataclasses.replace(experiment, generator=generator, length=6, training=training, seed=2)
