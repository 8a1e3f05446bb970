"""The effect of what a head reads from a head below: planted, and by a forward pass in float64."""

import dataclasses
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, present
from attnlab.generators import InContextMarkov
from attnlab.inspection import path_cuts, references_of
from attnlab.models.composition import INPUTS, logits_without_path
from attnlab.positions import Sinusoidal
from tests.unit.model_oracles import transformer_forward
from tests.unit.model_settings import SMALL_TRANSFORMER, TOKENS, build

pytestmark = pytest.mark.usefixtures("quickly_compiled")

OPTIONS = dataclasses.replace(SMALL_TRANSFORMER, position=Sinusoidal())
REFERENCES = references_of(InContextMarkov(k=3), 5, size=40)


@pytest.mark.slow
def test_a_cut_is_that_of_a_forward_pass_in_float64():
    model = build(OPTIONS)
    tokens = np.array(TOKENS)
    positions = np.asarray(model.embedding().positions, np.float64)
    of_cut = eqx.filter_jit(
        partial(logits_without_path, model, jnp.array(tokens), layer=1, reader=1, writer=0)
    )
    for names in [(), *((name,) for name in INPUTS), INPUTS]:
        found = of_cut(cut=jnp.array([name in names for name in INPUTS]))
        cut = 1, 1, 0, names
        expected, *_ = transformer_forward(model, tokens, positions=positions, cut=cut)
        np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.slow
def test_cutting_what_a_silent_head_writes_changes_no_bit():
    model = build(OPTIONS)
    silent = eqx.tree_at(
        lambda m: m.layers[0].output.weight,
        model,
        replace_fn=lambda weight: weight.at[: OPTIONS.d_attn].set(0),
    )
    for found in present(path_cuts(REFERENCES, silent, layer=1, head=1)):
        is_silent = found.writer == 0
        assert (found.change == (0, 0)) == is_silent


def test_a_planted_path_is_found():
    """A head that compares nothing attends equally to all: it reads by its values alone."""
    model = eqx.tree_at(
        lambda m: (m.layers[1].query.weight, m.layers[1].key.weight),
        build(OPTIONS),
        replace_fn=jnp.zeros_like,
    )
    for found in present(path_cuts(REFERENCES, model, layer=1, head=0)):
        assert (found.change.value != 0) == (found.into == "value")


def test_the_first_layer_and_other_layers_have_no_paths():
    with pytest.raises(OptionError, match="`layer` is 0"):
        path_cuts(REFERENCES, build(OPTIONS), layer=0, head=0)
    other = build(dataclasses.replace(OPTIONS, normalisation="post"))
    assert path_cuts(REFERENCES, other, layer=1, head=0) is None
