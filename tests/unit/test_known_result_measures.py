"""The measures of known results on models whose attention and predictions are planted."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.generators import AbstractGenerator
from attnlab.generators.base import predictions_from
from attnlab.inspection import measure_of, mechanisms
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
