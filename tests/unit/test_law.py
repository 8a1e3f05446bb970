"""Training on the law: exact losses and gradients, and how many sequences it may have."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import (
    Bijection,
    Cards,
    GoldenMean,
    Markov,
    ModularAddition,
    OwnSequences,
    Recall,
    RecallPairs,
    sample,
)
from attnlab.models import GRUOptions
from attnlab.optimum import optimum
from attnlab.training.experiment import Experiment, build_model, prepare
from attnlab.training.law import evaluate_law, prepare_law, source_of_law
from attnlab.training.loop import EvaluationEvent, run
from attnlab.training.losses import LOSSES, sequence_loss
from attnlab.training.steps import Training, advance, loss_and_gradient
from tests.unit.model_oracles import (
    as_float64,
    attention_objective,
    attention_parts,
    numpy_gradient,
)
from tests.unit.optimum_oracles import NEXT, START, markov_joint
from tests.unit.process_cases import CASES
from tests.unit.small_experiments import SMALL, SMALL_LINEAR, SMALL_TRANSFORMER, small

DRAWS = 1_000_000


def law_gradient(experiment, model):
    """Loss and gradient on the law, by name of the leaf."""
    parameters, rest = eqx.partition(model, eqx.is_array)
    law = prepare_law(experiment.generator, experiment.length)
    batch = source_of_law(law).draw(jr.key(0))
    (objective, _), gradient = eqx.filter_jit(loss_and_gradient)(
        parameters, rest, batch, experiment.training
    )
    return float(objective), gradient


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_is_that_of_finite_differences_over_all_sequences(loss):
    experiment = small(data="law", loss=loss)
    model = build_model(experiment)
    joint = markov_joint(START, NEXT, 5)
    sequences = list(map(list, np.ndindex(joint.shape)))

    def expected(parameters):
        return attention_objective(experiment, parameters, sequences, joint.ravel())

    objective, gradient = law_gradient(experiment, model)
    parameters = [as_float64(part) for part in attention_parts(model)]
    # Up to four float32 log-probabilities of size 1 are summed.
    assert objective == pytest.approx(expected(parameters), abs=5e-6)
    for index, found in enumerate(attention_parts(gradient)):
        np.testing.assert_allclose(
            as_float64(found), numpy_gradient(expected, parameters, index), atol=5e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["last", "next"])
@pytest.mark.parametrize("experiment", [SMALL, SMALL_TRANSFORMER], ids=lambda each: each.model.name)
def test_the_gradient_is_the_mean_of_a_million_samples(experiment, loss):
    experiment = small(experiment, data="law", loss=loss)
    model = build_model(experiment)
    drawn = sample(experiment.generator, key=jr.key(3), size=DRAWS, length=5)
    distinct, count = np.unique(np.asarray(drawn), axis=0, return_counts=True)
    source = prepare(small(experiment, data="fixed")).source
    parameters, rest = eqx.partition(model, eqx.is_array)

    def of_one(tokens):
        example = jax.tree.map(lambda leaf: leaf[0], source.draw(jr.key(0)))._replace(tokens=tokens)
        return eqx.filter_grad(
            lambda parameters: (
                sequence_loss(
                    eqx.combine(parameters, rest), example, loss=loss, readout="last"
                ).objective
            )
        )(parameters)

    each = jax.jit(jax.vmap(of_one))(jnp.asarray(distinct))
    _, exact = law_gradient(experiment, model)
    for found, samples in zip(jax.tree.leaves(exact), jax.tree.leaves(each), strict=True):
        samples = as_float64(samples).reshape(len(distinct), -1)
        mean = count @ samples / DRAWS
        error = np.sqrt(count @ (samples - mean) ** 2) / DRAWS
        assert (np.abs(as_float64(found).ravel() - mean) <= 4 * error + 1e-7).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["markov", *(name for name in CASES if CASES[name].generator.has_loss_mask())]
)
def test_the_floor_of_the_law_is_the_optimum(name):
    process = CASES[name].generator
    length = process.own_length() or max(4, process.shortest_length())
    process = process.at_length(length)
    law, best = prepare_law(process, length), optimum(process, length).final
    assert law.weight.sum() == pytest.approx(1, abs=1e-12)
    assert law.floor == pytest.approx(best.nll, abs=4 * best.nll_stderr + 2e-6)


def test_a_test_on_the_law_is_the_expectation_over_all_sequences():
    experiment = small(SMALL_LINEAR, data="law")
    model = build_model(experiment)
    weight, bias = map(as_float64, (model.projection.weight, model.projection.bias))
    loss = accuracy = 0.0
    for days, probability in np.ndenumerate(markov_joint(START, NEXT, 5)):
        logits = np.eye(3)[list(days[:4])].ravel() @ weight + bias
        loss += probability * (np.log(np.exp(logits).sum()) - logits[days[4]])
        accuracy += probability * (logits.argmax() == days[4])
    found = evaluate_law(model, prepare(experiment).law, readout="last")
    assert (found.nll, found.accuracy) == pytest.approx((loss, accuracy), abs=1e-6)
    assert found.excess == pytest.approx(
        loss - optimum(experiment.generator, 4).final.nll, abs=1e-6
    )
    assert (found.nll_stderr, found.accuracy_stderr, found.excess_stderr) == (0, 0, 0)


@pytest.mark.slow
def test_runs_on_the_law_report_exact_results_and_need_no_seed_of_data():
    for experiment in (
        small(data="law", loss="next", steps=4),
        # 2,584 pasts in three blocks, the last of which is filled up.
        dataclasses.replace(
            SMALL,
            generator=GoldenMean(),
            length=16,
            model=GRUOptions(hidden_size=3),
            training=Training(data="law", loss="next", steps=4, test_size=100),
        ),
        Experiment(
            generator=ModularAddition(p=7),
            model=GRUOptions(hidden_size=3),
            training=Training(data="law", steps=4, test_size=100),
        ),
        Experiment(
            generator=RecallPairs(keys=2, values=2, pairs=1),
            length=5,
            model=GRUOptions(hidden_size=3),
            training=Training(data="law", loss="next", steps=4, test_size=100),
        ),
    ):
        setup = prepare(experiment)
        tests = [each for each in run(experiment) if isinstance(each, EvaluationEvent)]
        first, last = tests[0].evaluation, tests[-1].evaluation
        assert last.nll < first.nll
        assert (first.nll_stderr, first.accuracy_stderr, first.excess_stderr) == (0, 0, 0)
        assert first.nll - first.excess == pytest.approx(setup.law.floor, abs=1e-9)
        if setup.law.loss_mask is None and first.by_position is not None:
            assert first.by_position.nll[-1] == pytest.approx(first.nll, abs=1e-6)
        # The first step's losses are those of the test, whatever the key.
        for seed in (0, 1):
            _, losses = advance(
                setup.state, setup.source, experiment.training, key=jr.key(seed), steps=1
            )
            assert losses.nll[0] == pytest.approx(first.nll, abs=2e-6)


@pytest.mark.parametrize(
    ("generator", "length", "problem"),
    [
        (Markov(), 11, "'markov' has 177,147 possible pasts of 11 tokens.*`length` of at most 10"),
        (Markov(), 200, "177,147 possible pasts of 11 tokens.*`length` of at most 10"),
        (GoldenMean(), 40, "75,025 possible pasts of 23 tokens.*`length` of at most 22"),
        (Bijection(), 9, "`length` of at most"),
        (Cards(hand=3), 5, "'cards' has 132,600 possible pasts of 3 tokens.*smaller process"),
        (OwnSequences(), 4, "no law.*Choose 'fixed' or 'fresh'"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_law_of_too_many_sequences_is_refused_with_the_largest_length(generator, length, problem):
    with pytest.raises(OptionError, match=f"`data` is 'law'.*{problem}"):
        Experiment(generator=generator, length=length, training=Training(data="law"))


def test_the_largest_length_is_allowed():
    law = prepare_law(GoldenMean(), 22)
    assert len(law.weight) == 46_368
    # Days before the visible ones are hidden at short lengths.
    assert len(prepare_law(Recall().at_length(5), 5).weight) == 3**5


def test_options_that_the_law_rules_out():
    with pytest.raises(OptionError, match=r"`split` is 'held out': the law has all"):
        Training(data="law", split="held out")
    with pytest.raises(OptionError, match=r"`scheduled_sampling` is 0\.5.*'law'"):
        Training(data="law", loss="next", scheduled_sampling=0.5)
    # A whole training set needs no batch.
    assert Training(data="law", batch_mode="full", train_size=50_000).data == "law"
