"""Test figures of every position, against float64 NumPy."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.models import AttentionOptions
from attnlab.training.evaluation import (
    Evaluation,
    evaluate,
    evaluate_by_position,
    exact_losses,
)
from attnlab.training.experiment import prepare, source_of
from attnlab.training.sources import Example
from tests.unit.model_oracles import as_float64, attention_forward, log_softmax
from tests.unit.process_cases import CASES as PROCESS_CASES
from tests.unit.small_experiments import SMALL, small
from tests.unit.task_oracles import CASES as TASK_CASES
from tests.unit.task_oracles import joint_of

SIZE, DAYS = 40, 5
TOKENS = np.random.default_rng(0).integers(0, 3, (SIZE, DAYS + 1)).astype(np.int32)


@pytest.fixture(scope="module")
def model():
    return AttentionOptions(d_attn=2).build(vocab=3, length=DAYS, key=jr.key(3))


@pytest.fixture(scope="module")
def expected(model):
    """-log p of each next token, and whether it was the likeliest: sequences by positions."""
    positions, nll, right = as_float64(model.positions), [], []
    for days in TOKENS:
        logits, _ = attention_forward(
            model, list(days[:-1]), positions=positions, mask="causal", scale=2**-0.5
        )
        log_probs = log_softmax(logits)
        nll.append([-row[day] for row, day in zip(log_probs, days[1:], strict=True)])
        right.append([row.argmax() == day for row, day in zip(log_probs, days[1:], strict=True)])
    return np.array(nll), np.array(right, float)


def error(values):
    return np.sqrt(((values - values.mean()) ** 2).mean() / values.size)


def assert_figures(found, nll, right):
    nll_error = nll.std(ddof=1) / np.sqrt(nll.size)
    wanted = [nll.mean(), nll_error, right.mean(), error(right)]
    np.testing.assert_allclose(found[:4], wanted, atol=1e-6)


def test_every_position_has_its_own_figures(model, expected):
    nll, right = expected
    found = evaluate_by_position(model, jnp.asarray(TOKENS))
    np.testing.assert_array_equal(found.positions, np.arange(1, DAYS + 1))
    for t in range(DAYS):
        assert_figures([series[t] for series in found[1:5]], nll[:, t], right[:, t])
    assert_figures(found.final, nll[:, -1], right[:, -1])


def test_the_error_of_the_mean_is_that_over_sequences(model, expected):
    nll, right = expected
    mean = evaluate_by_position(model, jnp.asarray(TOKENS)).mean
    assert_figures(mean, nll.mean(axis=1), right.mean(axis=1))


def test_only_what_is_asked_counts(model, expected):
    nll, right = expected
    loss_mask = np.random.default_rng(1).random(TOKENS.shape) < 0.5
    loss_mask[:, 2], loss_mask[:3] = False, False
    examples = Example(jnp.asarray(TOKENS), jnp.asarray(loss_mask))
    found = evaluate_by_position(model, examples)
    np.testing.assert_array_equal(found.positions, [1, 3, 4, 5])
    for place, t in enumerate((1, 3, 4, 5)):
        those = loss_mask[:, t]
        figures = [series[place] for series in found[1:5]]
        assert_figures(figures, nll[those, t - 1], right[those, t - 1])
    rows = [
        (nll[s, loss_mask[s, 1:]].mean(), right[s, loss_mask[s, 1:]].mean())
        for s in range(SIZE)
        if loss_mask[s, 1:].any()
    ]
    assert_figures(found.mean, *np.array(rows).T)


def test_the_final_position_is_what_is_read_out_last(model):
    final = evaluate_by_position(model, jnp.asarray(TOKENS)).final
    assert isinstance(final, Evaluation)
    readout = evaluate(model, jnp.asarray(TOKENS), readout="last")
    np.testing.assert_allclose(final[:4], readout[:4], atol=1e-6)


def test_no_accuracy_has_an_error_of_zero(model):
    found = evaluate_by_position(model, jnp.asarray(TOKENS[:1]))
    assert (found.accuracy_stderr > 0).all()
    assert found.mean.accuracy_stderr > 0


@pytest.mark.parametrize(
    "training", [{}, {"batch_mode": "full"}, {"data": "fresh"}], ids=["minibatch", "full", "fresh"]
)
def test_given_tokens_are_not_asked(monkeypatch, training):
    experiment = small(**training)
    monkeypatch.setattr(type(SMALL.generator), "prompt_length", lambda self: 2)
    sequences = jnp.zeros((200, 5), jnp.int32)
    drawn = source_of(experiment, sequences).with_batch(7).draw(jr.key(0))
    assert drawn.loss_mask.shape == drawn.tokens.shape
    np.testing.assert_array_equal(drawn.loss_mask.any(axis=0), [False, False, True, True, True])
    np.testing.assert_array_equal(drawn.loss_mask.all(axis=0), [False, False, True, True, True])


@pytest.mark.parametrize("name", PROCESS_CASES)
def test_exact_losses_are_those_of_the_enumerated_law(name):
    # Of `maximum` only the fifth token counts.
    case, length = PROCESS_CASES[name], 5 if name == "maximum" else 4
    law = case.joint(length)
    sequences = np.array([index for index in np.ndindex(law.shape) if law[index] > 0])
    tested = np.tile(np.arange(length) == length - 1, (len(sequences), 1))
    if case.generator.has_loss_mask():
        tested = np.array(jax.jit(jax.vmap(case.generator.loss_mask))(sequences))
    # p(the first t tokens of each sequence).
    beginnings = [law.sum(axis=tuple(range(t, length)), keepdims=True) for t in range(length + 1)]
    known = np.stack([np.broadcast_to(each, law.shape)[law > 0] for each in beginnings], axis=1)
    expected = np.log(known[:, :-1] / known[:, 1:]).mean(axis=1, where=tested)
    np.testing.assert_allclose(exact_losses(case.generator, sequences), expected, atol=2e-5)


@pytest.mark.parametrize("name", TASK_CASES)
def test_exact_losses_of_a_task_are_means_over_its_target(name):
    case = TASK_CASES[name]
    task, law = case.task, joint_of(case)
    sequences = np.array([index for index in np.ndindex(law.shape) if law[index] > 0])
    source = task.source_length
    expected = [
        -np.log(law[tuple(row)] / law[tuple(row[:source])].sum()) / source for row in sequences
    ]
    np.testing.assert_allclose(exact_losses(task, sequences), expected, atol=2e-6)


@pytest.mark.slow
def test_the_excess_is_the_mean_difference_on_the_same_sequences_and_much_more_exact():
    setup = prepare(SMALL)
    found = evaluate(setup.state.model, setup.test, readout="last", exact=setup.exact)
    nll = np.array([evaluate(setup.state.model, row[None], readout="last").nll
                    for row in setup.test])  # fmt: skip
    true = exact_losses(SMALL.generator, np.asarray(setup.test))
    assert found.excess == pytest.approx((nll - true).mean(), abs=1e-6)
    assert found.excess_stderr == pytest.approx((nll - true).std(ddof=1) / nll.size**0.5, rel=1e-4)
    plain = evaluate(setup.state.model, setup.test, readout="last")
    assert plain == found._replace(excess=None, excess_stderr=None)
