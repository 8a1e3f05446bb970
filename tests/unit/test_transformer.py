"""The transformer beside other people's, its chunks, its cache, and what its parts add."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.models import (
    Edit,
    TransformerOptions,
    edited,
)
from attnlab.models.composition import score_parts
from attnlab.models.generation import empty_cache, next_logits
from attnlab.models.inside import removed
from attnlab.positions import Alibi, Rotary, Scalar
from tests.unit.model_settings import (
    LENGTH,
    MODELS_IN_ALL_SETTINGS,
    SMALL_TRANSFORMER,
    TOKENS,
    build,
    built,
    run,
)

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.slow
def test_heads_are_those_of_equinox():
    options = TransformerOptions(
        layers=1, heads=3, d_attn=4, d_value=5, d_model=7, mlp_width=0, residual="without",
        normalisation="none", mask="causal",
    )  # fmt: skip
    model = build(options)
    (layer,), rng = model.layers, np.random.default_rng(1)
    theirs = eqx.nn.MultiheadAttention(
        3, 7, qk_size=4, vo_size=5, use_query_bias=True, use_key_bias=True, use_value_bias=True,
        use_output_bias=True, key=jr.key(0),
    )  # fmt: skip
    names = "query", "key", "value", "output"
    projections = [getattr(layer, name) for name in names]
    theirs = eqx.tree_at(
        lambda m: [
            part
            for name in names
            for part in (getattr(m, f"{name}_proj").weight, getattr(m, f"{name}_proj").bias)
        ],
        theirs,
        [part for each in projections for part in (each.weight.T, each.bias)],
    )
    rows = jnp.array(rng.normal(size=(LENGTH, 7)), dtype=jnp.float32)
    ours, _, _ = layer(rows, jnp.arange(LENGTH), options)
    expected = theirs(rows, rows, rows, mask=np.tri(LENGTH, dtype=bool))
    np.testing.assert_allclose(ours, expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["learned, chunked", "alibi, chunked, additive"])
def test_attention_in_chunks_has_the_gradients_of_all_at_once(setting):
    chunked, _, _ = built(f"transformer {setting}")
    plain = dataclasses.replace(
        chunked, options=dataclasses.replace(chunked.options, attention="plain")
    )

    def loss(parameters, rest, tokens):
        logits, _ = eqx.combine(parameters, rest)(tokens, jnp.array([1, LENGTH - 1]))
        return (jax.nn.log_softmax(logits) ** 2).sum()

    gradient = jax.jit(jax.grad(loss), static_argnums=1)
    one, other = (
        gradient(*eqx.partition(model, eqx.is_array), jnp.array(TOKENS))
        for model in (chunked, plain)
    )
    for found, expected in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["gru", *(name for name in MODELS_IN_ALL_SETTINGS if name.startswith("transf"))]
)
def test_contributions_sum_to_the_logits_where_they_are_a_sum(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    model, logits, _ = built(setting)
    found = model.contributions(jnp.array(TOKENS), 3)
    is_sum = options.name == "transformer" and options.residual == "with"
    assert (found is not None) == (is_sum and options.normalisation != "post")
    assert model.logits_are_a_sum == (found is not None)
    if found is not None:
        np.testing.assert_allclose(sum(found.values()), logits[3], atol=2e-5)
        heads = options.layers * options.heads
        assert sum("head" in name for name in found) == heads
        assert len(found) == 1 + heads + options.layers + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["rotary", "alibi", "concatenated, no norm", "learned, RMSNorm, MLP"]
)
def test_the_parts_of_the_scores_give_the_pattern(setting):
    plain = {"layers": 2, "heads": 2, "d_attn": 4, "d_model": 6, "mlp_width": 0}
    options = {
        "rotary": TransformerOptions(**plain, position=Rotary()),
        "alibi": TransformerOptions(**plain, position=Alibi(), scale="none"),
        "concatenated, no norm": TransformerOptions(
            **plain, position=Scalar(), normalisation="none"
        ),
        "learned, RMSNorm, MLP": TransformerOptions(
            **{**plain, "mlp_width": 5}, normaliser="RMSNorm"
        ),
    }[setting]
    model, query = build(options), 2
    # Biases are 0 at first.
    model = jax.tree.map(lambda leaf: leaf + 0.1, model)
    _, trace = run(model)
    parts = [
        score_parts(model, np.array(TOKENS), layer=1, head=1, query=query, key=key)
        for key in range(query + 1)
    ]
    scores = np.array([each.scores.sum() + each.bias for each in parts])
    share = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(share, trace.attention[1].pattern[1, query, : query + 1], atol=1e-5)
    names = ["token", "layer 1, head 1", "layer 1, head 2"]
    assert [name for name in parts[0].key if name in names] == names
    assert ("position" in parts[0].key) == (setting not in ("rotary", "alibi"))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"normalisation": "post"}, {"score": "gaussian"}])
def test_other_scores_have_no_parts(more):
    model = build(dataclasses.replace(SMALL_TRANSFORMER, **more))
    assert score_parts(model, np.array(TOKENS), layer=1, head=0, query=1, key=0) is None


@pytest.mark.slow
def test_a_contribution_is_what_the_logits_lose_without_the_head():
    """Of the last layer and without what comes after it, the direct path is the only one."""
    options = TransformerOptions(
        layers=2, heads=2, d_attn=2, d_model=4, mlp_width=0, normalisation="none"
    )
    model = build(options)
    found = model.contributions(jnp.array(TOKENS), 4)
    mask = jnp.tri(LENGTH, dtype=bool)
    without, _ = run(edited(model, Edit(1, 1, removed(mask))), queries=[4])
    whole, _ = run(model, queries=[4])
    np.testing.assert_allclose(found["layer 2, head 2"], (whole - without)[0], atol=1e-5)


CAUSAL = [
    name
    for name, options in MODELS_IN_ALL_SETTINGS.items()
    if isinstance(options, TransformerOptions) and options.causal
]


@pytest.mark.slow
@pytest.mark.parametrize("setting", CAUSAL)
def test_token_after_token_with_a_cache_is_all_at_once(setting):
    model, logits, _ = built(setting)
    cache, found, step = empty_cache(model), [], eqx.filter_jit(next_logits)
    for token in TOKENS:
        one, cache = step(model, jnp.array(token), cache)
        found.append(one)
    assert int(cache.position) == len(TOKENS)
    np.testing.assert_allclose(found, logits, atol=2e-6)


@pytest.mark.slow
def test_a_cache_needs_a_mask_that_hides_what_is_to_come():
    with pytest.raises(OptionError, match=r"`mask` is 'none'.*Choose the mask 'causal'"):
        empty_cache(build(dataclasses.replace(SMALL_TRANSFORMER, mask="none")))
