"""The measures of known results on models whose attention and predictions are planted."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.numerics import key_of
from attnlab.generators import AbstractGenerator, beliefs, sample
from attnlab.generators.base import predictions_from
from attnlab.inspection import activations, dispersion, factors, measure_of, mechanisms
from attnlab.inspection.measures import prefix_match
from attnlab.inspection.mechanisms import accuracy_on_longer_words, expected_excess, parents_found
from attnlab.known_results import KNOWN_RESULTS
from attnlab.models import AbstractModel, AttentionMap, Edit, Trace, edited
from attnlab.training.experiment import prepare

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def prepared(name, setting):
    experiment = KNOWN_RESULTS[name].settings[setting]
    training = dataclasses.replace(experiment.training, test_size=100)
    return prepare(dataclasses.replace(experiment, training=training))


@pytest.mark.parametrize("name", KNOWN_RESULTS)
def test_each_measure_is_defined_for_every_setting(name):
    study = KNOWN_RESULTS[name].study
    assert {*study.recording.get("metrics", {})} == {*study.metrics}
    for metric in study.metrics:
        assert all(measure_of(metric).applies(setting.experiment) for setting in study.settings)


@pytest.mark.slow
def test_parents_are_found_by_the_head_that_attends_to_most_of_them():
    setup = prepared("causal-tree", "binary tree")
    # Counted from 1, token t has the parent t // 2; the first one and the question have none.
    parents = np.array([0, 0, 0, 1, 1, 2, 2, 7])
    of_three = np.where(np.arange(8) < 4, parents, np.arange(8))

    def with_patterns(*patterns):
        model = setup.state.model
        for head, pattern in enumerate(patterns):
            model = edited(model, Edit(layer=0, head=head, pattern=pattern))
        return model

    assert parents_found(with_patterns(np.eye(8), np.eye(8)[parents]), setup) == 1
    assert parents_found(with_patterns(np.eye(8)[of_three], np.eye(8)), setup) == 0.5
    assert parents_found(with_patterns(np.eye(8), np.eye(8)), setup) == 0


class Planted(AbstractModel):
    """Attends to what followed the same token before, or to itself; predicts exactly or not."""

    process: AbstractGenerator = eqx.field(static=True)
    attends: bool = eqx.field(static=True)
    predicts: bool = eqx.field(static=True)
    vocab: int = eqx.field(static=True, default=16)

    def read(self, one_hot, queries):
        tokens = one_hot.argmax(axis=1)
        mask = jnp.tri(len(tokens), dtype=bool)
        follows = (tokens[:, None] == jnp.roll(tokens, 1)[None]) & mask
        follows = follows.at[:, 0].set(False)
        weights = jnp.where(
            follows.any(axis=1, keepdims=True) & self.attends,
            follows,
            jnp.eye(len(tokens), dtype=bool),
        )
        pattern = (weights / weights.sum(axis=1, keepdims=True))[None, queries]
        logits = predictions_from(self.process, self.process.start(), jnp.append(tokens, 0))[1:]
        return self.predicts * logits[queries].clip(-20), Trace((AttentionMap(pattern, mask, 0),))


@pytest.mark.slow
def test_an_exact_prediction_has_no_excess_and_attention_to_copies_a_full_prefix_match():
    setup = prepared("induction-heads", "two layers")
    process = setup.experiment.generator.at_length(setup.experiment.length)
    exact = Planted(process, attends=False, predicts=True)
    guess = Planted(process, attends=True, predicts=False)
    assert prefix_match(guess, setup).value == 1
    assert prefix_match(exact, setup).value < 0.2
    assert expected_excess(exact, setup) == pytest.approx(0, abs=1e-5)
    # A uniform guess among 16 letters, minus the floor.
    assert 1 < expected_excess(guess, setup) < np.log(16)


@pytest.mark.slow
@pytest.mark.parametrize("predicts", [True, False])
def test_exact_verdicts_on_longer_words_are_all_right(predicts, monkeypatch):
    # This model has no weights that depend on the length.
    monkeypatch.setattr(mechanisms, "model_at_length", lambda experiment, model, length: model)
    setup = prepared("regular-languages", "rnn, even pairs")
    process = setup.experiment.generator
    model = Planted(process, attends=False, predicts=predicts, vocab=4)
    found = accuracy_on_longer_words(model, setup)
    # Without predictions, it never says yes, which half of the words need.
    assert found == 1 if predicts else 0.4 < found < 0.6


def planted_head(setup, gap, gain=10.0):
    """A head whose score rises by a gap with each value, and that copies the label."""
    process, head = setup.experiment.generator, setup.state.model
    tokens = process.vocabulary.size
    items = np.arange(process.values * process.labels)
    keys = np.zeros((tokens, 16), np.float32)
    keys[items, 0], keys[len(items), 0] = gap * 4 * (items // process.labels), -gap * 4
    values = np.zeros((tokens, tokens), np.float32)
    values[items, len(items) + 1 + items % process.labels] = gain
    constant = np.zeros(16, np.float32)
    constant[0] = 1
    query, key = (eqx.tree_at(lambda part: part.weight, each, jnp.zeros((tokens, 16)))
                  for each in (head.query, head.key))  # fmt: skip
    return dataclasses.replace(
        head,
        query=eqx.tree_at(lambda part: part.bias, query, jnp.array(constant)),
        key=eqx.tree_at(lambda part: part.weight, key, jnp.array(keys)),
        value=eqx.tree_at(lambda part: part.weight, head.value, jnp.array(values)),
    )


@pytest.mark.slow
def test_the_weight_of_the_largest_of_planted_scores_is_that_of_a_sum():
    setup, length = prepared("softmax-disperses", "one head"), 257
    gap = 2.0
    head = planted_head(setup, gap)
    found = dispersion.read_maximum(head, setup.experiment, 16)
    process = setup.experiment.generator.at_length(length)
    key = jr.fold_in(key_of(setup.experiment.seed), 12)
    tokens = np.asarray(sample(process, key=key, size=500, length=length + 1))
    scores = gap * np.where(tokens[:, :-1] == 16, -1, tokens[:, :-1] // 4)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found.weights == pytest.approx(weights, abs=1e-5)
    assert dispersion.weight_of_largest(head, setup, 16).value == pytest.approx(
        weights.max(axis=1).mean(), abs=1e-5
    )
    sharper = weights ** (np.log(257) / np.log(17))
    sharper /= sharper.sum(axis=1, keepdims=True)
    assert dispersion.weight_of_largest(head, setup, 16, by_length=True).value == pytest.approx(
        sharper.max(axis=1).mean(), abs=1e-5
    )
    # The scores of value 3 and of the question differ by 4 gaps.
    bound = np.exp(4 * gap) / (256 + np.exp(4 * gap))
    assert dispersion.weight_bound(head, setup.experiment, 257) == pytest.approx(bound, rel=1e-4)
    assert dispersion.weight_above_bound(head, setup) < 0


class Mixed(AbstractModel):
    """Its only site has the exact beliefs of both factors, in given directions."""

    process: AbstractGenerator = eqx.field(static=True)
    directions: np.ndarray
    vocab: int = eqx.field(static=True, default=9)
    sites: ClassVar[tuple[str, ...]] = ("mixed",)

    def read(self, one_hot, queries, *, edits=(), capture=()):
        joint = jnp.exp(beliefs(self.process, one_hot.argmax(axis=1)))[1:].reshape(-1, 3, 3)
        # The joint belief is a table of the states of both factors.
        both = jnp.concatenate([joint.sum(axis=2)[:, :2], joint.sum(axis=1)[:, :2]], axis=1)
        rows = (both @ self.directions)[queries]
        return jnp.zeros((len(queries), self.vocab)), Trace(residual={"mixed": rows})


@pytest.mark.slow
@pytest.mark.parametrize("cosine", [0.0, 0.6])
def test_planted_beliefs_of_two_factors_have_their_dimension_and_angle(cosine):
    setup = prepared("factored", "two mess3")
    process = setup.experiment.generator
    directions = np.eye(4, 8)
    directions[2] = [cosine, 0, np.sqrt(1 - cosine**2), 0, 0, 0, 0, 0]
    model = Mixed(process, jnp.asarray(directions, jnp.float32))
    assert factors.dimension(model, setup) == 4
    rows = activations(model, np.asarray(setup.test)[:, :-1])["mixed"].reshape(-1, 8)
    spread = np.cov(rows.T)
    ratio = np.trace(spread) ** 2 / np.trace(spread @ spread)
    assert factors.participation_ratio(model, setup) == pytest.approx(ratio, rel=1e-4)
    assert factors.lowest_factor_r2(model, setup) == pytest.approx(1, abs=1e-4)
    assert factors.factor_cosine(model, setup) == pytest.approx(cosine, abs=1e-4)
