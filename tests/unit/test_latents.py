"""Beliefs at every position, and what a process draws for each sequence besides its tokens."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.generators import DotMod, NDays, beliefs, draw_many, log_predictives, sample
from attnlab.optimum import optimum
from attnlab.testing import check_process
from tests.unit.table_per_sequence import TablePerSequence, joint_with_tables

PROCESS, LENGTH = TablePerSequence(), 4


@pytest.mark.slow
def test_a_process_with_a_table_per_sequence_holds_the_laws():
    check_process(
        PROCESS, length=LENGTH, joint=lambda length: joint_with_tables(PROCESS, length).sum(axis=0)
    )


def test_beliefs_are_the_posterior_by_enumeration():
    joint = joint_with_tables(PROCESS, LENGTH)
    for tokens in np.ndindex((2,) * LENGTH):
        if not joint[(slice(None), *tokens)].sum():
            continue
        found = beliefs(PROCESS, jnp.array(tokens))
        assert found.log_tables.shape == (LENGTH + 1, 2)
        for seen in range(LENGTH + 1):
            law = joint[(slice(None), *tokens[:seen])]
            law = law.reshape(len(law), -1).sum(axis=1)
            np.testing.assert_allclose(np.exp(found.log_tables[seen]), law / law.sum(), atol=1e-6)


def test_latents_come_with_their_tokens():
    joint, size = joint_with_tables(PROCESS, LENGTH), 20_000
    drawn = draw_many(PROCESS, key=jr.key(3), size=size, length=LENGTH)
    np.testing.assert_array_equal(
        drawn.tokens, sample(PROCESS, key=jr.key(3), size=size, length=LENGTH)
    )
    counts = np.zeros(joint.shape)
    np.add.at(counts, (np.asarray(drawn.latent), *np.asarray(drawn.tokens).T), 1)
    assert counts[joint == 0].sum() == 0
    # 32 cells of known variance: 4.5 standard deviations and one sequence more.
    spread = np.sqrt(size * joint * (1 - joint))
    assert (np.abs(counts - size * joint) <= 4.5 * spread + 1).all()


def test_without_anything_hidden_a_draw_is_its_tokens():
    drawn = draw_many(NDays(), key=jr.key(0), size=3, length=5)
    assert drawn.latent == ()
    assert drawn.tokens.shape == (3, 5)


def test_what_all_beliefs_share_is_there_once():
    process, tokens = DotMod(n=2), jnp.array([0, 1, 2])
    found, start = beliefs(process, tokens), process.start()
    assert found.table.value.shape == start.table.value.shape
    assert found.seen.shape == (4,)
    rows = [
        process.log_probs(found._replace(seen=found.seen[t], code=found.code[t])) for t in range(3)
    ]
    np.testing.assert_array_equal(jnp.stack(rows), log_predictives(process, tokens))


@pytest.mark.slow
def test_the_optimum_is_that_of_the_mixture():
    law = joint_with_tables(PROCESS, LENGTH + 1).sum(axis=0)
    past = law.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        nll = -np.nansum(law * np.log(law / past[..., None]))
    assert optimum(PROCESS, LENGTH).final.nll == pytest.approx(nll, abs=1e-6)
