"""Edits of the forward pass: what they replace, and what the tables say of it."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from attnlab.generators import InContextMarkov
from attnlab.inspection import (
    Ablation,
    Effect,
    ablated_loss,
    ablations,
    effect_of,
    expected_loss,
    probs_by_query,
    references_of,
    removals,
    replacements,
)
from attnlab.models import AttentionOptions, Edit, LinearOptions, TransformerOptions, edited
from attnlab.models.inside import in_proportion, mean_trace, on_position, removed, trace_of, uniform
from attnlab.training.evaluation import evaluate
from attnlab.training.measure import Estimate
from attnlab.ui.inspect.edits_panel import ablation_table

VOCAB, LENGTH = 3, 5
TOKENS = np.array([2, 0, 1, 1, 0])
CAUSAL = np.tri(LENGTH, dtype=bool)
FAMILIES = {
    "attention": AttentionOptions(d_attn=3, d_model=4),
    "transformer": TransformerOptions(layers=2, heads=2, d_attn=3, d_model=6, mlp_width=4),
    "chunked": TransformerOptions(
        layers=2, heads=2, d_attn=3, d_model=6, mlp_width=4, attention="chunked"
    ),
}

WITHOUT_EARLIER = replacements(has_earlier=False)

every_family = pytest.mark.parametrize("name", FAMILIES)


def build(options):
    return options.build(vocab=VOCAB, length=LENGTH, key=jax.random.key(1))


def assert_close(found, expected):
    np.testing.assert_allclose(jax.tree.leaves(found), jax.tree.leaves(expected), atol=1e-6)


def sequences(size):
    return np.random.default_rng(3).integers(VOCAB, size=(size, LENGTH + 1)).astype(np.int32)


def effects(steps):
    """The last effects that were yielded, by layer, head and replacement."""
    *_, last = steps
    return {(each.layer, each.head, each.by): each.effect for each in last}


def without_last_head(model):
    """The model whose second head of the second layer writes zeros."""
    layer = model.layers[1]
    # Its rows of the output matrix are what carries a head's values on.
    weight = layer.output.weight.at[3:6].set(0.0)
    layer = dataclasses.replace(layer, output=layer.output._replace(weight=weight))
    return dataclasses.replace(model, layers=(model.layers[0], layer))


def logits_of(model):
    return model(jnp.array(TOKENS), jnp.arange(LENGTH))[0]


@pytest.mark.slow
@every_family
def test_a_pattern_in_its_own_place_changes_nothing(name):
    model = build(FAMILIES[name])
    trace = trace_of(model, TOKENS)
    edits = [
        Edit(found.layer, head, jnp.asarray(found.pattern[head]))
        for found in trace.attention
        for head in range(len(found.pattern))
    ]
    np.testing.assert_allclose(logits_of(edited(model, *edits)), logits_of(model), atol=1e-5)


@pytest.mark.slow
@every_family
def test_an_edit_is_seen_in_its_head_and_in_no_other_of_its_layer(name):
    model = build(FAMILIES[name])
    before = trace_of(model, TOKENS)
    changed = edited(model, Edit(0, 0, uniform(CAUSAL)))
    after = trace_of(changed, TOKENS)
    np.testing.assert_allclose(after.attention[0].pattern[0], uniform(CAUSAL), atol=1e-6)
    np.testing.assert_allclose(
        after.attention[0].pattern[1:], before.attention[0].pattern[1:], atol=1e-6
    )
    assert np.abs(logits_of(changed) - logits_of(model)).max() > 0


@pytest.mark.slow
def test_a_removed_head_is_one_whose_values_are_zero():
    model = build(FAMILIES["transformer"])
    found = logits_of(edited(model, Edit(1, 1, removed(CAUSAL))))
    np.testing.assert_allclose(found, logits_of(without_last_head(model)), atol=1e-6)


@pytest.mark.slow
def test_edits_are_of_the_rows_that_are_asked_for():
    model = build(FAMILIES["attention"])
    changed = edited(model, Edit(0, 0, on_position(CAUSAL, 1)))
    some, _ = changed(jnp.array(TOKENS), jnp.array([4, 2]))
    np.testing.assert_allclose(some, logits_of(changed)[jnp.array([4, 2])], atol=1e-6)


def test_patterns_sum_to_one_where_something_is_admitted():
    amounts = jnp.array(np.eye(LENGTH)[[1, 1, 1, 1, 1]])
    for pattern in (uniform(CAUSAL), on_position(CAUSAL, 3), in_proportion(CAUSAL, amounts)):
        np.testing.assert_allclose(pattern.sum(axis=1), 1, atol=1e-6)
        assert (np.asarray(pattern)[~CAUSAL] == 0).all()
    assert (np.asarray(removed(CAUSAL)) == 0).all()
    # Queries before the position see nothing of it.
    np.testing.assert_allclose(on_position(CAUSAL, 3)[:3], uniform(CAUSAL)[:3])
    np.testing.assert_allclose(on_position(CAUSAL, 3)[4], np.eye(LENGTH)[3])
    np.testing.assert_allclose(in_proportion(CAUSAL, amounts)[0], np.eye(LENGTH)[0])


def test_a_model_without_heads_is_refused():
    with pytest.raises(ValueError, match="no attention heads"):
        edited(build(LinearOptions()), Edit(0, 0, uniform(CAUSAL)))


@pytest.mark.slow
def test_an_effect_is_the_difference_of_two_tests():
    model, test = build(FAMILIES["transformer"]), sequences(60)
    edit = Edit(1, 0, uniform(CAUSAL))
    effect = effect_of(model, edit, test=test, readout="last")
    before, after = (
        evaluate(each, jnp.array(test), readout="last") for each in (model, edited(model, edit))
    )
    assert effect.nll == pytest.approx(after.nll, abs=1e-6)
    assert effect.nll_change.value == pytest.approx(after.nll - before.nll, abs=1e-6)
    accuracy_change = after.accuracy - before.accuracy
    assert effect.accuracy_change.value == pytest.approx(accuracy_change, abs=1e-6)
    # By hand, of every sequence on its own.
    last = jnp.array([LENGTH - 1])

    def losses_of(each):
        logits = jax.jit(jax.vmap(lambda row: each(row, last)[0][0]))(jnp.array(test[:, :-1]))
        return [
            scipy.special.logsumexp(row) - row[target]
            for row, target in zip(np.asarray(logits), test[:, -1], strict=True)
        ]

    losses = [losses_of(each) for each in (model, edited(model, edit))]
    differences = np.subtract(losses[1], losses[0])
    assert effect.nll_change.stderr == pytest.approx(differences.std(ddof=1) / 60**0.5, rel=1e-3)


def test_an_accuracy_that_no_sequence_changes_has_an_error_and_a_loss_says_so():
    model, test = build(FAMILIES["attention"]), sequences(400)
    unused = dataclasses.replace(model, value=jax.tree.map(jnp.zeros_like, model.value))
    effect = effect_of(unused, Edit(0, 0, uniform(CAUSAL)), test=test, readout="last")
    assert (effect.nll_change, effect.accuracy_change.value) == ((0, 0), 0)
    # Half an event among 400.
    assert effect.accuracy_change.stderr == pytest.approx((0.5 / 400 / 400) ** 0.5, rel=1e-2)
    found = [Ablation(0, 0, "removed", effect)]
    assert ablation_table(found, "accuracy", WITHOUT_EARLIER).loc["head 1", "removed"] == (
        "0.000 ± 0.002"
    )
    assert ablation_table(found, "nll", WITHOUT_EARLIER).loc["head 1", "removed"] == "unchanged"


@pytest.mark.slow
def test_every_head_is_replaced_in_every_way_and_the_figures_come_one_by_one():
    model, test = build(FAMILIES["transformer"]), sequences(200)
    steps = [*ablations(model, test, np.tri(LENGTH), "last")]
    assert [len(step) for step in steps] == list(range(1, 2 * 2 * len(WITHOUT_EARLIER) + 1))
    found = effects(steps)
    assert set(found) == set(itertools.product(range(2), range(2), WITHOUT_EARLIER))
    expected = effect_of(model, Edit(1, 1, removed(CAUSAL)), test=test, readout="last")
    assert_close(found[1, 1, "removed"], expected)
    mean = mean_trace(model, test[:, :-1]).attention[0].pattern[1]
    expected = effect_of(model, Edit(0, 1, jnp.asarray(mean)), test=test, readout="last")
    assert_close(found[0, 1, "mean"], expected)
    # Of a dependence that is the same for all days, the pattern is uniform.
    assert_close(found[0, 0, "truth"], found[0, 0, "uniform"])


@pytest.mark.slow
def test_a_frozen_pattern_is_the_mean_of_the_same_head_earlier():
    model, test = build(FAMILIES["transformer"]), sequences(200)
    earlier = FAMILIES["transformer"].build(vocab=VOCAB, length=LENGTH, key=jax.random.key(9))
    found = effects(ablations(model, test, np.tri(LENGTH), "last", earlier=earlier))
    assert {by for _, _, by in found} == set(replacements(has_earlier=True))
    mean = mean_trace(earlier, test[:, :-1]).attention[1].pattern[0]
    expected = effect_of(model, Edit(1, 0, jnp.asarray(mean)), test=test, readout="last")
    assert_close(found[1, 0, "frozen"], expected)
    # Of the model itself, the frozen pattern is its mean.
    found = effects(ablations(model, test, np.tri(LENGTH), "last", earlier=model))
    assert found[0, 1, "frozen"] == found[0, 1, "mean"]


def test_the_table_begins_with_the_head_that_costs_most_and_has_errors():
    def one(head, by, change):
        return Ablation(
            0, head, by, Effect(1.0, Estimate(change, 0.002), 0.5, Estimate(-change / 2, 0.003))
        )

    found = [one(0, "removed", 0.01), one(0, "uniform", 0.02), one(1, "removed", 0.2)]
    table = ablation_table(found, "nll", WITHOUT_EARLIER)
    assert list(table.index) == ["head 2", "head 1"]
    assert list(table.columns) == list(WITHOUT_EARLIER)
    assert table.loc["head 1", "uniform"] == "0.020 ± 0.002"
    # What has not come yet.
    assert table.loc["head 2", "uniform"] == "…"
    table = ablation_table(found, "accuracy", WITHOUT_EARLIER)
    assert table.loc["head 2", "removed"] == "−0.100 ± 0.003"
    costs = [(head, effect.nll_change.value) for head, effect in removals(found).items()]
    assert costs == [(("self", 0, 1), 0.2), (("self", 0, 0), 0.01)]


@pytest.mark.slow
def test_ablated_losses_are_those_of_edited_models():
    """Without a head the model is another one, whose zeroed values say the same."""
    references = references_of(InContextMarkov(), LENGTH, size=30)
    visible = references.sequences[:, :-1]
    model = FAMILIES["transformer"].build(vocab=2, length=LENGTH, key=jax.random.key(1))
    whole = expected_loss(references, probs_by_query(model, visible))
    assert ablated_loss(references, model, ()) == whole
    expected = expected_loss(references, probs_by_query(without_last_head(model), visible))
    found = ablated_loss(references, model, [(1, 1)])
    np.testing.assert_allclose(found.nll, expected.nll, atol=1e-5)
    assert found.mean_stderr == pytest.approx(expected.mean_stderr, abs=1e-5)
    assert np.abs(np.subtract(found.nll, whole.nll)).max() > 1e-3
