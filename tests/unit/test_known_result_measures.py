"""The measures of known results on models whose attention and predictions are planted."""

import ast
import dataclasses
import inspect

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.generators import AbstractGenerator
from attnlab.generators.base import predictions_from
from attnlab.known_results import KNOWN_RESULTS
from attnlab.known_results.causal_tree import parents_found
from attnlab.known_results.induction_heads import has_neither_or_both, highest_prefix_match
from attnlab.models import AbstractModel, AttentionMap, Edit, Trace, edited
from attnlab.training.experiment import Experiment, prepare

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def prepared(name, setting):
    experiment = KNOWN_RESULTS[name].settings[setting]
    training = dataclasses.replace(experiment.training, test_size=100)
    return prepare(dataclasses.replace(experiment, training=training))


def test_each_measure_is_of_the_data_and_model_of_its_own_run():
    """Settings of a module have one seed; the runs have others."""
    for known in KNOWN_RESULTS.values():
        for metric in known.metrics.values():
            calls = [each for each in ast.walk(ast.parse(inspect.getsource(metric)))
                     if isinstance(each, ast.Call)]  # fmt: skip
            given = [metric.__globals__.get(getattr(each, "id", "")) for call in calls
                     for each in call.args]  # fmt: skip
            assert not any(isinstance(each, Experiment) for each in given), metric


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
def test_attention_and_loss_are_on_the_same_side_of_their_middle_or_not():
    setup = prepared("induction-heads", "two layers")
    process = setup.experiment.generator.at_length(setup.experiment.length)
    neither = Planted(process, attends=False, predicts=False)
    setup = setup._replace(state=setup.state._replace(model=neither))

    def found(attends, predicts):
        return has_neither_or_both(Planted(process, attends=attends, predicts=predicts), setup)

    assert highest_prefix_match(Planted(process, attends=True, predicts=False), setup) == 1
    assert (found(attends=False, predicts=False), found(attends=True, predicts=True)) == (1, 1)
    assert (found(attends=True, predicts=False), found(attends=False, predicts=True)) == (0, 0)
