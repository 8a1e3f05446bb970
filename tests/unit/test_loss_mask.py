"""A process says which of its tokens count: in training, test, floor, and their metrics."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab import Experiment, GRUOptions, OptionError, Training, evaluate, train
from attnlab.generators import loss_mask_of, predicted_count, sample
from attnlab.inspection import effect_of, quality
from attnlab.models import Edit, TransformerOptions
from attnlab.models.inside import removed
from attnlab.optimum import baselines_of, optimum
from attnlab.testing import check_process
from attnlab.training.experiment import prepare
from attnlab.training.limits import reachable_by
from attnlab.training.losses import sequence_loss
from attnlab.training.sources import as_examples
from tests.unit.one_question import MARK, OneQuestion, joint_of_one_question

PROCESS = OneQuestion()
ENTROPY = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
EXPERIMENT = Experiment(
    generator=PROCESS,
    length=6,
    model=TransformerOptions(layers=1, heads=2, d_attn=2, d_model=4, mlp_width=4),
    training=Training(loss="next", batch=20, steps=30, train_size=200, test_size=100),
)


def answers(sequences):
    """Where the answer is, in NumPy."""
    return (np.asarray(sequences) == MARK).argmax(axis=1) + 1


@pytest.mark.slow
def test_the_process_keeps_the_laws():
    check_process(PROCESS, length=5, joint=partial(joint_of_one_question, PROCESS))


@dataclasses.dataclass(frozen=True)
class OwnToken(OneQuestion):
    def loss_mask(self, tokens):
        return jnp.asarray(tokens) == MARK


@dataclasses.dataclass(frozen=True)
class AsManyAsLetters(OneQuestion):
    def loss_mask(self, tokens):
        return jnp.append(False, jnp.asarray(tokens)[:-1] == 0)


@dataclasses.dataclass(frozen=True)
class First(OneQuestion):
    def loss_mask(self, tokens):
        return jnp.arange(jnp.asarray(tokens).size) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (OwnToken, "depends on that token or later ones"),
        (AsManyAsLetters, "differ in how many"),
        (First, "the first token"),
    ],
)
def test_a_process_whose_questions_make_no_sense_is_found(kind, problem):
    with pytest.raises(AssertionError, match=problem):
        check_process(kind(), length=5, draws=2_000)


@pytest.mark.slow
def test_sequences_with_other_numbers_of_questions_are_refused_before_training():
    with pytest.raises(ValueError, match="Select the same number of tokens"):
        prepare(dataclasses.replace(EXPERIMENT, generator=AsManyAsLetters()))


@pytest.mark.slow
@pytest.mark.parametrize("length", [6, 12])
def test_the_floor_is_that_of_the_asked_tokens(length):
    best = optimum(PROCESS, length).final
    # Every question is as hard as the others, so that even a sample has no spread.
    assert best.nll == pytest.approx(ENTROPY, abs=1e-6)
    assert best.accuracy == pytest.approx(0.9, abs=1e-6)
    uniform, unigram, optimal = baselines_of(PROCESS, length)
    assert uniform.best.nll == pytest.approx(np.log(3))
    assert abs(unigram.best.nll - np.log(2)) <= 4 * unigram.best.nll_stderr + 1e-6
    assert optimal.best == best


def test_the_last_position_keeps_its_own_floor():
    # The last token is the answer with probability 1/3 at the shortest length, else a coin's.
    *_, last = optimum(PROCESS, 4).by_position
    assert last.nll == pytest.approx((ENTROPY + 2 * np.log(2)) / 3, abs=1e-6)


@pytest.mark.slow
def test_one_token_of_each_sequence_is_asked():
    sequences = np.asarray(sample(PROCESS, key=jax.random.key(0), size=50, length=7))
    expected = np.arange(7) == answers(sequences)[:, None]
    np.testing.assert_array_equal(loss_mask_of(PROCESS, sequences), expected)
    assert predicted_count(PROCESS, 6) == 1


@pytest.mark.slow
def test_training_minimises_the_loss_of_the_asked_token_alone():
    setup = prepare(EXPERIMENT)
    batch = setup.source.draw(jax.random.key(1))
    loss_of = eqx.filter_jit(sequence_loss)
    call = eqx.filter_jit(lambda model, tokens, queries: model(tokens, queries))
    for tokens, mask in zip(batch.tokens[:5], batch.loss_mask[:5], strict=True):
        example = as_examples(tokens[None], mask[None])
        one = jax.tree.map(lambda part: part[0], example)
        found = loss_of(setup.state.model, one, loss="next", readout="last")
        place = answers(tokens[None])[0]
        logits = call(setup.state.model, tokens[:-1], jnp.arange(tokens.size - 1))[0]
        expected = -jax.nn.log_softmax(logits[place - 1])[tokens[place]]
        np.testing.assert_allclose(found.objective, expected, rtol=1e-5)
        every = loss_of(setup.state.model, one, loss="next", readout="last", loss_tokens="all")
        rows = jax.nn.log_softmax(logits)
        mean = -np.mean([rows[at, token] for at, token in enumerate(tokens[1:].tolist())])
        np.testing.assert_allclose((every.objective, every.nll), (mean, expected), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["fixed", "fresh"])
def test_the_test_is_that_of_the_asked_tokens(data):
    training = dataclasses.replace(EXPERIMENT.training, data=data)
    experiment = dataclasses.replace(EXPERIMENT, training=training)
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    model, test = last.state.model, np.asarray(setup.test)
    found = evaluate(
        model, setup.test, readout="last", loss_mask=setup.loss_mask, exact=setup.exact
    )
    read = jax.jit(jax.vmap(lambda tokens: model(tokens, jnp.arange(6))[0]))
    logits = read(setup.test[:, :-1])
    rows, place = np.arange(len(test)), answers(test)
    log_probs = np.asarray(jax.nn.log_softmax(logits))[rows, place - 1]
    answer = test[rows, place]
    losses = -log_probs[rows, answer]
    assert found.nll == pytest.approx(losses.mean(), rel=1e-5)
    assert found.accuracy == pytest.approx((log_probs.argmax(axis=1) == answer).mean())
    exact = -np.log(np.where(answer == test[:, 0], 0.9, 0.1))
    np.testing.assert_allclose(setup.exact, exact, rtol=1e-5)
    assert found.excess == pytest.approx((losses - exact).mean(), abs=1e-5)


@pytest.mark.slow
def test_inspection_counts_the_asked_tokens():
    setup = prepare(EXPERIMENT)
    model, test = setup.state.model, np.asarray(setup.test)
    edit = Edit(0, 0, removed(np.tri(6, dtype=bool)))
    effect = effect_of(model, edit, test=test, readout="last", loss_mask=setup.loss_mask)
    plain = effect_of(model, edit, test=test, readout="last")
    assert effect.nll != plain.nll
    first, *_ = quality(EXPERIMENT, model, test)
    counted = np.unique(answers(test))
    np.testing.assert_array_equal(first.by_position.positions, counted)


def test_what_is_known_of_the_final_token_alone_is_not_said():
    assert reachable_by(EXPERIMENT) is None
    assert EXPERIMENT.read_position == 5
    last = dataclasses.replace(EXPERIMENT.training, loss="last")
    assert dataclasses.replace(EXPERIMENT, training=last).tests_more_than_trained
    assert not EXPERIMENT.tests_more_than_trained


def test_a_model_must_predict_every_token_from_those_before_it():
    with pytest.raises(OptionError, match="several tokens are tested"):
        dataclasses.replace(EXPERIMENT, model=TransformerOptions(mask="none"))


@pytest.mark.slow
def test_a_model_learns_to_answer():
    training = Training(loss="next", data="fresh", batch=100, steps=800, learning_rate=0.02)
    experiment = Experiment(
        generator=PROCESS, length=6, model=GRUOptions(hidden_size=16), training=training
    )
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    found = evaluate(
        last.state.model, setup.test, readout="last", loss_mask=setup.loss_mask, exact=setup.exact
    )
    assert found.excess < 0.02
    assert found.excess > -4 * found.excess_stderr
