"""Scores of heads whose patterns or weights are planted."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.generators import Induction
from attnlab.inspection import HeadScore, head_scores, role_of
from attnlab.models import AbstractModel, AttentionMap, Trace, TransformerOptions
from attnlab.models.parts import Projection


class Planted(AbstractModel):
    """Two heads: one attends to the token before, one uniformly to the past."""

    vocab: int = eqx.field(static=True)

    def read(self, one_hot, queries):
        length = len(one_hot)
        mask = jnp.tri(length, dtype=bool)
        before = jnp.eye(length, k=-1).at[0, 0].set(1)
        uniform = mask / mask.sum(axis=1, keepdims=True)
        pattern = jnp.stack([before, uniform])[:, queries]
        return jnp.zeros((queries.size, self.vocab)), Trace((AttentionMap(pattern, mask, 0),))


def test_planted_heads_have_their_scores():
    process = Induction(letters=3, repeats="half").at_length(7)
    sequences = np.array([[0, 1, 2, 0, 0, 1, 2, 0], [1, 2, 0, 2, 1, 2, 0, 2]])
    before, uniform = head_scores(process, Planted(3), sequences)
    assert np.isnan(before.copying)
    assert (before.layer, before.head, uniform.head) == (1, 1, 2)
    assert before.previous_token == 1
    # Queries 4, 5 and 6 predict the tokens of the loss mask, each from one position.
    assert before.true_sources == 0
    assert uniform.true_sources == pytest.approx(np.mean([1 / 5, 1 / 6, 1 / 7]), abs=1e-6)
    # Of the first sequence: queries 3 to 6 have 1, 2, 1 and 1 matches; of the second: 2, 3 … 6.
    first = np.mean([1 / 4, 2 / 5, 1 / 6, 1 / 7])
    second = np.mean([1 / 4, 1 / 5, 2 / 6, 1 / 7])
    assert uniform.prefix_match == pytest.approx((first + second) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("prefix", "previous", "role"),
    [(0.9, 0.05, "induction"), (0.5, 0.6, "previous token"), (0.55, 0.3, ""), (0.1, 0.1, "")],
)
def test_a_head_is_named_by_what_it_does_more_than_before(prefix, previous, role):
    before = HeadScore(1, 1, 0.38, 0.05, 0, 0, 0, 0)
    assert role_of(before._replace(prefix_match=prefix, previous_token=previous), before) == role


@pytest.mark.slow
@pytest.mark.parametrize("normalisation", ["none", "pre"])
def test_planted_heads_copy(normalisation):
    """The scores of I, -I and a cyclic shift, whose eigenvalues without the mean sum to -1."""
    size = 4
    options = TransformerOptions(
        layers=1, heads=3, d_attn=size, d_model=size, mlp_width=0, normalisation=normalisation
    )
    identity = jnp.eye(size)
    written = [identity, -identity, jnp.roll(identity, 1, axis=1)]
    model = options.build(vocab=size, length=3, key=jax.random.key(0))
    layer = model.layers[0]
    bias = jnp.arange(12.0)
    model = dataclasses.replace(
        model,
        tokens=identity,
        layers=(
            dataclasses.replace(
                layer,
                value=Projection(jnp.tile(identity, 3), bias),
                output=layer.output._replace(weight=jnp.concatenate(written)),
            ),
        ),
        unembedding=Projection(identity, bias[:size]),
    )
    process = Induction(letters=size, repeats="half").at_length(3)
    found = head_scores(process, model, np.array([[0, 1, 0, 1], [2, 3, 2, 3]]))
    expected = pytest.approx([1, -1, -1 / (size - 1)], abs=1e-5)
    assert [score.copying for score in found] == expected
