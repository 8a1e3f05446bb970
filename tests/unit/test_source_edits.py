"""Heads of models with a source: replaced, removed, given the true alignment, and by hand."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from attnlab.generators import Cards, Reverse, sample
from attnlab.inspection import ablations, effect_of
from attnlab.models import (
    HIDDEN_STATES,
    CellPlace,
    Edit,
    EncoderDecoderOptions,
    RNNAttentionOptions,
    RNNBottleneckOptions,
    TransformerOptions,
    TrueAlignment,
    edited,
)
from attnlab.models.inside import trace_of
from attnlab.training.evaluation import evaluate

pytestmark = pytest.mark.usefixtures("quickly_compiled")

VOCAB, SOURCE, LENGTH = 4, 3, 5
TOKENS = np.array([2, 0, 3, 1, 0])
FAMILIES = {
    "encoder-decoder": EncoderDecoderOptions(heads=2, d_attn=3, d_model=6, mlp_width=5),
    "rnn additive": RNNAttentionOptions(hidden_size=4, d_attn=3),
    "rnn scaled": RNNAttentionOptions(hidden_size=4, d_attn=3, score="scaled", cell="lstm"),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


# Op by op each part of a model would compile alone.
@functools.cache
@eqx.filter_jit
def build(name):
    options = FAMILIES[name]
    return options.build(vocab=VOCAB, length=LENGTH, key=jax.random.key(1), source=SOURCE)


@eqx.filter_jit
def _read(model, tokens):
    return model(tokens, jnp.arange(SOURCE - 1, LENGTH))[0]


def target_logits(model):
    return np.asarray(_read(model, jnp.array(TOKENS)))


@pytest.mark.slow
@every_family
def test_a_pattern_in_its_own_place_changes_nothing_and_another_one_does(name):
    model = build(name)
    assert model.has_heads
    trace, before = trace_of(model, TOKENS), target_logits(model)
    own = [
        # As arrays, so that all heads of a kind share one compiled program.
        Edit(jnp.int32(found.layer), jnp.int32(head), jnp.asarray(found.pattern[head]), found.kind)
        for found in trace.attention
        for head in range(len(found.pattern))
    ]
    np.testing.assert_allclose(target_logits(edited(model, *own)), before, atol=1e-5)
    for number, edit in enumerate(own):
        without = dataclasses.replace(edit, pattern=jnp.zeros((LENGTH, LENGTH)))
        changed = edited(model, without)
        assert np.abs(target_logits(changed) - before).max() > 1e-4
        # It stands in the trace in its own place and in no other of its layer.
        heads = [
            pattern for found in trace_of(changed, TOKENS).attention for pattern in found.pattern
        ]
        assert (heads[number] == 0).all()
        assert all(heads[other].any() for other in range(len(own)) if other != number)


@pytest.mark.slow
def test_without_cross_attention_a_target_knows_nothing_of_its_source():
    model = build("encoder-decoder")
    nothing = jnp.zeros((LENGTH, LENGTH))
    alone = edited(model, *(Edit(0, head, nothing, "cross") for head in range(2)))
    gradient = eqx.filter_jit(
        jax.jacrev(lambda rows: alone.read(rows, jnp.arange(SOURCE - 1, LENGTH))[0])
    )(jax.nn.one_hot(TOKENS, VOCAB))
    moved = np.abs(np.asarray(gradient)).sum(axis=(0, 1, 3))
    assert (moved[:SOURCE] == 0).all()
    assert (moved[SOURCE:] > 0).all()


@pytest.mark.slow
def test_edits_of_heads_that_there_are_not_are_refused():
    rnn, plain = build("rnn additive"), TransformerOptions(heads=1, d_attn=2, d_model=4)
    edit = Edit(0, 0, jnp.zeros((LENGTH, LENGTH)), "source")
    with pytest.raises(ValueError, match=r"`kind` is 'source'.*Choose one of 'cross'"):
        edited(rnn, edit)
    transformer = plain.build(vocab=VOCAB, length=LENGTH, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"Choose one of 'self'"):
        edited(transformer, edit)
    options = RNNBottleneckOptions(hidden_size=2)
    bottleneck = options.build(vocab=VOCAB, length=LENGTH, key=jax.random.key(0), source=SOURCE)
    with pytest.raises(ValueError, match="no attention heads"):
        edited(bottleneck, edit)


@pytest.mark.slow
def test_the_true_alignment_is_that_of_every_sequence():
    task = Cards(hand=3, suits=1, ranks=4)
    hand = np.array([3, 0, 2])
    tokens = np.concatenate([hand, np.sort(hand)[:-1]])
    found = TrueAlignment(task, np.ones((5, 5), bool))(jax.nn.one_hot(tokens, 4))
    expected = np.full((5, 5), 0.2)
    expected[2:] = np.eye(5)[[1, 2, 0]]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # In its map of cross-attention queries within the source have no row.
    mask = np.zeros((5, 5), bool)
    mask[2:, :3] = True
    assert (np.asarray(TrueAlignment(task, mask)(jax.nn.one_hot(tokens, 4)))[:2] == 0).all()
    model = RNNAttentionOptions(hidden_size=4, d_attn=3).build(
        vocab=4, length=5, key=jax.random.key(0), source=3
    )
    oracle = edited(model, Edit(0, 0, TrueAlignment(task, mask), "cross"))
    np.testing.assert_allclose(
        trace_of(oracle, tokens).attention[0].pattern[0, 2:, :3], expected[2:, :3], atol=1e-6
    )


@pytest.mark.slow
@every_family
def test_the_arithmetic_of_a_cell_leads_to_its_share(name):
    model = build(name)
    trace = trace_of(model, TOKENS)
    for found in trace.attention:
        for query, key in np.argwhere(found.mask)[[0, -1]]:
            place = CellPlace(found.layer, 0, int(query), int(key), found.kind)
            cell = model.cell(jnp.array(TOKENS), place)
            if cell.kind == "additive":
                score = cell.weights @ np.tanh(cell.query + cell.key)
            else:
                score = cell.query @ cell.key
            assert cell.score == pytest.approx(float(score), abs=1e-5)
            assert cell.scaled[key] == pytest.approx(cell.scale * cell.score + cell.bias, abs=1e-5)
            share = scipy.special.softmax(np.where(cell.unmasked, cell.scaled, -np.inf))
            np.testing.assert_allclose(cell.pattern, share, atol=1e-5)
            np.testing.assert_allclose(cell.pattern, found.pattern[0, query], atol=1e-5)
    if name.startswith("rnn"):
        # The state before the token: that behind the one before it.
        cell = model.cell(jnp.array(TOKENS), CellPlace(0, 0, LENGTH - 1, 0, "cross"))
        np.testing.assert_allclose(cell.state, trace.values[HIDDEN_STATES][-2], atol=1e-6)


@pytest.mark.slow
def test_there_is_no_arithmetic_outside_of_a_map():
    for name in ("encoder-decoder", "rnn additive"):
        model = build(name)
        assert model.cell(jnp.array(TOKENS), CellPlace(0, 0, 0, 0, "cross")) is None
        assert model.cell(jnp.array(TOKENS), CellPlace(0, 0, 4, 4, "cross")) is None


@pytest.mark.slow
def test_every_head_is_replaced_over_all_target_tokens():
    task = Reverse(source_length=SOURCE, letters=VOCAB)
    model, test = build("encoder-decoder"), sample(task, key=jax.random.key(3), size=60, length=6)
    *_, found = ablations(model, np.asarray(test), None, "last", task=task)
    by_head = {}
    for each in found:
        by_head.setdefault((each.kind, each.head), []).append(each.by)
    without = ["removed", "uniform", "mean"]
    assert by_head == {
        (kind, head): without + ["alignment"] * (kind == "cross")
        for kind in ("source", "self", "cross")
        for head in range(2)
    }
    mask = trace_of(model, TOKENS).attention[-1].mask
    edit = Edit(0, 1, TrueAlignment(task, mask), "cross")
    before, after = (
        evaluate(each, test, readout="last", prompt_length=SOURCE)
        for each in (model, edited(model, edit))
    )
    effect = found[-1].effect
    assert effect.nll == pytest.approx(after.nll, abs=1e-6)
    assert effect.nll_change.value == pytest.approx(after.nll - before.nll, abs=1e-6)
    accuracy_change = after.accuracy - before.accuracy
    assert effect.accuracy_change.value == pytest.approx(accuracy_change, abs=1e-6)
    again = effect_of(model, edit, test=np.asarray(test), readout="last", prompt_length=SOURCE)
    np.testing.assert_allclose(jax.tree.leaves(again), jax.tree.leaves(effect), atol=1e-6)
