"""Every model with every option: what it computes, shows, and does not see."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.attention.head import MASKS, SCALES
from attnlab.models import MODELS, AttentionOptions, LinearOptions, parameter_count
from attnlab.positions import POSITIONS
from tests.unit.model_oracles import as_float64, attention_forward, linear_logits
from tests.unit.position_oracles import SCORES, TABLES

VOCAB, LENGTH = 3, 5
TOKENS = (2, 0, 1, 1, 0)

MODELS_IN_ALL_SETTINGS = {
    **{
        f"attention {position} {mask} {embedding}": AttentionOptions(
            d_attn=2, d_model=4, position=POSITIONS[position](), mask=mask, embedding=embedding
        )
        for position, mask, embedding in itertools.product(
            POSITIONS, MASKS, ("one-hot", "learned")
        )
    },
    "linear": LinearOptions(),
    "linear with days": LinearOptions(day_feature="with"),
}  # fmt: skip

every_setting = pytest.mark.parametrize("setting", MODELS_IN_ALL_SETTINGS)


def build(options, *, length=LENGTH, seed=0):
    return options.build(vocab=VOCAB, length=length, key=jr.key(seed))


@functools.cache
def built(setting):
    """The model of a setting, its logits and its trace at every query of `TOKENS`."""
    model = build(MODELS_IN_ALL_SETTINGS[setting], seed=3)
    return model, *run(model)


def run(model, tokens=TOKENS, queries=None):
    queries = range(len(tokens)) if queries is None else queries
    return model(jnp.array(tokens), jnp.array(queries))


def test_every_registered_model_has_a_setting():
    assert {type(options) for options in MODELS_IN_ALL_SETTINGS.values()} == set(MODELS.values())


@every_setting
def test_queries_choose_rows_and_nothing_else(setting):
    model, logits, trace = built(setting)
    some_logits, some = run(model, queries=[LENGTH - 1, 1])
    assert logits.shape == (LENGTH, VOCAB)
    # Products of matrices of other heights may be summed in another order.
    np.testing.assert_allclose(some_logits, logits[jnp.array([LENGTH - 1, 1])], atol=1e-6)
    np.testing.assert_allclose(
        some.patterns, trace.patterns[:, :, jnp.array([LENGTH - 1, 1])], atol=1e-6
    )
    np.testing.assert_array_equal(some.weights, trace.weights)


@every_setting
def test_the_trace_has_the_shapes_it_says(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    _, _, trace = built(setting)
    attends = isinstance(options, AttentionOptions)
    layers = 1 if attends else 0
    assert trace.patterns.shape == (layers, layers, LENGTH, LENGTH)
    assert trace.weights.shape == (LENGTH, VOCAB, 0 if attends else VOCAB)
    np.testing.assert_allclose(np.asarray(trace.patterns).sum(axis=-1), 1, atol=1e-6)


@every_setting
def test_attention_agrees_with_a_forward_pass_in_float64(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    model, logits, trace = built(setting)
    if isinstance(options, LinearOptions):
        weight, bias = (as_float64(part) for part in model.projection)
        day_feature = options.day_feature == "with"
        expected = linear_logits(weight, bias, TOKENS, day_feature=day_feature)
        np.testing.assert_allclose(logits, np.tile(expected, (LENGTH, 1)), atol=1e-5)
        return
    name = options.position.name
    turn, bias = SCORES.get(name, (None, lambda length: None))
    if model.positions is not None:
        positions = as_float64(model.positions)
    else:
        positions = TABLES["none" if name in SCORES else name](LENGTH, options.d_model)
    expected, pattern = attention_forward(
        model, list(TOKENS), positions=positions, mask=options.mask, scale=2**-0.5,
        turn=turn, bias=bias(LENGTH),
    )  # fmt: skip
    # Numbers of size 1 to 10 through three float32 products.
    np.testing.assert_allclose(trace.patterns[0, 0], pattern, atol=1e-5)
    np.testing.assert_allclose(logits, expected, atol=2e-5)


@pytest.mark.parametrize("setting", [s for s in MODELS_IN_ALL_SETTINGS if " causal" in s])
def test_a_causal_model_does_not_see_later_days(setting):
    model, logits, _ = built(setting)
    for day in range(1, LENGTH):
        changed = list(TOKENS)
        changed[day] = (changed[day] + 1) % VOCAB
        other, _ = run(model, changed)
        np.testing.assert_array_equal(other[:day], logits[:day])
        assert np.any(np.asarray(other[day]) != np.asarray(logits[day]))


@pytest.mark.parametrize("setting", [s for s in MODELS_IN_ALL_SETTINGS if " published" in s])
def test_a_model_with_the_published_mask_does_not_see_earlier_days(setting):
    model, logits, _ = built(setting)
    for day in range(LENGTH - 1):
        changed = list(TOKENS)
        changed[day] = (changed[day] + 1) % VOCAB
        other, _ = run(model, changed)
        np.testing.assert_array_equal(other[day + 1 :], logits[day + 1 :])
        assert np.any(np.asarray(other[day]) != np.asarray(logits[day]))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("embedding", ["one-hot", "learned"])
def test_gradients_to_unseen_days_are_exactly_zero(mask, embedding):
    # Learned positions are features of one day each, so their gradient is that of its input.
    model = build(AttentionOptions(d_attn=2, d_model=4, mask=mask, embedding=embedding), seed=2)

    def logits_at(positions, query):
        moved = dataclasses.replace(model, positions=positions)
        return (run(moved, queries=[query])[0] ** 2).sum()

    gradient_at = jax.grad(logits_at)
    for query in range(LENGTH):
        gradient = np.asarray(gradient_at(model.positions, query))
        seen = {"causal": range(query + 1), "none": range(LENGTH),
                "published": range(query, LENGTH)}[mask]  # fmt: skip
        for day in range(LENGTH):
            assert (np.abs(gradient[day]).max() > 0) == (day in seen)


def test_without_positions_the_days_are_a_set():
    options = AttentionOptions(d_attn=3, position=POSITIONS["none"](), mask="none")
    model = build(options)
    first = run(model, (0, 1, 2, 2, 1))[0]
    # The same days in another order, read from a day of the same weather.
    np.testing.assert_allclose(run(model, (2, 1, 0, 1, 2))[0][2], first[0], atol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_the_scale_reaches_the_scores(scale):
    options = AttentionOptions(d_attn=16, scale=scale, temperature=5.0)
    model = build(options)
    factor = {"1/sqrt(d)": 0.25, "none": 1.0, "temperature": 0.2}[scale]
    expected, _ = attention_forward(
        model, list(TOKENS), positions=as_float64(model.positions), mask="causal", scale=factor
    )
    np.testing.assert_allclose(run(model)[0], expected, atol=2e-5)


@pytest.mark.parametrize("d_attn", [1, 6])
@pytest.mark.parametrize("length", [2, 10])
def test_counts_of_parameters(d_attn, length):
    def count(options):
        return parameter_count(build(options, length=length))

    d_in = {"none": 3, "scalar": 4, "sinusoidal": 3 + 8}
    for name, width in d_in.items():
        options = AttentionOptions(d_attn=d_attn, position=POSITIONS[name]())
        assert count(options) == (width + 1) * (2 * d_attn + VOCAB)
    learned = (3 + 8 + 1) * (2 * d_attn + VOCAB) + length * 8
    assert count(AttentionOptions(d_attn=d_attn)) == learned
    added = (8 + 1) * (2 * d_attn + VOCAB) + length * 8 + VOCAB * 8
    assert count(AttentionOptions(d_attn=d_attn, embedding="learned")) == added
    assert count(LinearOptions()) == (3 * length + 1) * VOCAB
    assert count(LinearOptions(day_feature="with")) == (4 * length + 1) * VOCAB


def projections(initialisation):
    wide = AttentionOptions(
        d_attn=128, d_model=128, embedding="learned", initialisation=initialisation
    )
    head = build(wide, seed=4)
    linear = build(LinearOptions(initialisation=initialisation), length=64, seed=4)
    return head.query, head.key, linear.projection


def test_ones_are_ones():
    for weight, bias in projections("ones"):
        assert np.all(np.asarray(weight) == 1)
        assert np.all(np.asarray(bias) == 1)


@pytest.mark.parametrize("initialisation", ["published", "scaled"])
def test_random_starts_have_the_spread_they_say(initialisation):
    for weight, bias in projections(initialisation):
        spread = 1 if initialisation == "published" else weight.shape[0] ** -0.5
        # Four standard errors of the mean and of the standard deviation of normal draws.
        assert abs(np.mean(weight)) < 4 * spread / np.sqrt(weight.size)
        assert abs(np.std(weight) / spread - 1) < 4 / np.sqrt(2 * weight.size)
        assert np.all(np.asarray(bias) != 0) == (initialisation == "published")
        assert np.all(np.asarray(bias) == 0) == (initialisation == "scaled")


def test_projections_of_a_head_are_drawn_apart():
    head = build(AttentionOptions(d_attn=3))
    parts = [np.asarray(part.weight) for part in (head.query, head.key, head.value)]
    for one, other in itertools.combinations(parts, 2):
        assert np.all(one != other)
