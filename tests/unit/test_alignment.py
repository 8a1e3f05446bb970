"""Alignments and what is written, on models whose answers are known."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import Cards, Copy, Reverse, Sort
from attnlab.inspection.decoding import BEAM, write_all, written
from attnlab.inspection.targets import alignment_shares, on_true_alignment
from attnlab.models import AbstractModel, AttentionMap, Trace
from attnlab.models.encoder_decoder import EncoderDecoderOptions

TASK = Cards(hand=3, suits=2, ranks=4)


class Looking(AbstractModel):
    """Attends to one place of the source, whatever it is, and writes the card that lies there."""

    vocab: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    places: tuple[int, ...] = eqx.field(static=True)

    def read(self, one_hot, queries):
        rows = queries - (self.count - 1)
        places = jnp.array(self.places)[rows]
        pattern = jax.nn.one_hot(places, len(one_hot))[None]
        logits = 3.0 * one_hot[places]
        mask = jnp.ones(pattern.shape[1:], bool)
        return logits, Trace((AttentionMap(pattern, mask, 0, "cross"),))


def test_equal_tokens_share_the_alignment():
    shares = alignment_shares(Sort(source_length=4, letters=3), np.array([[2, 0, 0, 1]]))
    # Sorted: a a b c, where both a's may be either of the two.
    np.testing.assert_allclose(
        shares, [[0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("places", "copied", "reversed_"), [((0, 1, 2), 1.0, 1 / 3), ((2, 1, 0), 1 / 3, 1.0)]
)
def test_a_model_that_looks_at_one_place_has_the_share_of_its_hits(places, copied, reversed_):
    tokens = np.array([[0, 1, 2, 0, 1], [3, 2, 0, 1, 1]])
    model = Looking(vocab=4, count=3, places=places)
    for kind, share in ((Copy, copied), (Reverse, reversed_)):
        task = kind(source_length=3, letters=4)
        np.testing.assert_allclose(on_true_alignment(task, model, tokens), [[share]], rtol=1e-6)


def test_what_is_written_follows_the_attention_and_its_distribution():
    sources = jnp.array([[5, 1, 7], [0, 2, 4]])
    model = Looking(vocab=8, count=3, places=(2, 2, 0))
    beams = write_all(model, sources, count=3)
    np.testing.assert_array_equal(beams.continuations[:, 0], [[7, 7, 5], [4, 4, 0]])
    found = written(model, sources, beams.continuations[:, 0])
    np.testing.assert_allclose(found.attention[:, 0, 0], np.eye(3)[None, [2, 2, 0]].repeat(2, 0))
    hit = np.exp(3) / (np.exp(3) + 7)
    np.testing.assert_allclose(found.probs[0, 0, 7], hit, rtol=1e-5)
    np.testing.assert_allclose(beams.log_probs[:, 0], 3 * np.log(hit), rtol=1e-5)
    # Without what lies there already the others share its probability.
    once = written(model, sources, jnp.array([[7, 5, 1], [4, 0, 2]]), unused=True)
    np.testing.assert_allclose(once.probs[0, 1], np.where(np.arange(8) == 7, 0, 1 / 7), rtol=1e-5)


@pytest.mark.slow
def test_ways_of_writing_agree_with_each_other():
    options = EncoderDecoderOptions(heads=1, d_attn=2, d_model=4, mlp_width=0)
    model = options.build(vocab=8, length=5, key=jr.key(3), source=3)
    sources = jnp.array([[5, 1, 7], [0, 2, 4]])
    every = write_all(model, sources, count=3, way=BEAM, width=64)
    # A beam as wide as there are targets before the last token has the best of all.
    targets = jnp.array([*itertools.product(range(8), repeat=3)])
    for source, found in zip(sources, every.log_probs, strict=True):
        probs = np.asarray(written(model, jnp.tile(source, (512, 1)), targets).probs)
        chosen = np.take_along_axis(probs, np.asarray(targets)[..., None], axis=2)
        law = np.log(chosen.astype(np.float64)).sum(axis=(1, 2))
        np.testing.assert_allclose(found, np.sort(law)[:-65:-1], atol=1e-5)
    greedy = write_all(model, sources, count=3)
    assert (every.log_probs[:, 0] >= greedy.log_probs[:, 0] - 1e-5).all()
