"""Every model with every option: what it computes, shows, and does not see."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.attention.head import MASKS, SCALES
from attnlab.models import (
    HIDDEN_STATES,
    MODELS,
    WEIGHTS_BY_DAY,
    AttentionOptions,
    GRUOptions,
    LinearOptions,
    TransformerOptions,
    parameter_count,
)
from attnlab.positions import POSITIONS
from tests.unit.model_oracles import (
    as_float64,
    attention_forward,
    gru_logits,
    linear_logits,
    transformer_forward,
)
from tests.unit.position_oracles import SCORES, TABLES

VOCAB, LENGTH = 3, 5
TOKENS = (2, 0, 1, 1, 0)

SMALL_TRANSFORMER = TransformerOptions(
    layers=2, heads=2, d_attn=2, d_model=4, mlp_width=5, temperature=2.0
)
# Every encoding with both embeddings, and masks in turn; encodings of scores meet every mask.
HEADS = dict.fromkeys(
    [
        (position, tuple(MASKS)[(number + turn) % len(MASKS)], embedding)
        for number, position in enumerate(POSITIONS)
        for turn, embedding in enumerate(("one-hot", "learned"))
    ]
    + list(itertools.product(SCORES, MASKS, ["one-hot"]))
)
# Every other value of an option, and every encoding that reaches the stack in a way of its own.
STACKS = {
    "none, heads 1": {"heads": 1},
    "scalar, mask none": {"mask": "none"},
    "sinusoidal, without residual": {"residual": "without"},
    "learned, normalisation post": {"normalisation": "post"},
    "rotary, mask published, temperature": {"mask": "published", "scale": "temperature"},
    "alibi": {},
    "learned, layers 1, no normalisation": {"layers": 1, "normalisation": "none"},
    "learned, no MLP": {"mlp_width": 0},
}
MODELS_IN_ALL_SETTINGS = {
    **{
        f"attention {position} {mask} {embedding}": AttentionOptions(
            d_attn=2, d_model=4, position=POSITIONS[position](), mask=mask, embedding=embedding
        )
        for position, mask, embedding in HEADS
    },
    **{
        f"transformer {name}": dataclasses.replace(
            SMALL_TRANSFORMER, position=POSITIONS[name.split(",")[0]](), **changes
        )
        for name, changes in STACKS.items()
    },
    "linear": LinearOptions(),
    "linear with days": LinearOptions(day_feature="with"),
    "gru": GRUOptions(hidden_size=4),
}

every_setting = pytest.mark.parametrize("setting", MODELS_IN_ALL_SETTINGS)


def build(options, *, length=LENGTH, seed=0):
    return options.build(vocab=VOCAB, length=length, key=jr.key(seed))


@functools.cache
def built(setting):
    """A model of a setting, its logits and its trace at every query of `TOKENS`.

    Off its start, where biases are all 0 and normalisations alike.
    """
    rng = np.random.default_rng(4)
    parameters, rest = eqx.partition(build(MODELS_IN_ALL_SETTINGS[setting], seed=3), eqx.is_array)
    moved = jax.tree.map(
        lambda leaf: leaf + rng.normal(scale=0.1, size=leaf.shape).astype(np.float32), parameters
    )
    model = eqx.combine(moved, rest)
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
    # Those below the last layer are of all days, whatever is asked.
    for few, found in zip(some.attention[-1:], trace.attention[-1:], strict=True):
        np.testing.assert_allclose(
            few.pattern, found.pattern[:, jnp.array([LENGTH - 1, 1])], atol=1e-6
        )
    assert some.values.keys() == trace.values.keys()
    for name in some.values:
        np.testing.assert_array_equal(some.values[name], trace.values[name])


@every_setting
def test_the_trace_has_what_there_is_and_the_shapes_it_says(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    _, _, trace = built(setting)
    heads = {"attention": [1], "transformer": [getattr(options, "heads", 0)] * getattr(
        options, "layers", 0)}.get(options.name, [])  # fmt: skip
    assert [found.pattern.shape for found in trace.attention] == [
        (number, LENGTH, LENGTH) for number in heads
    ]
    for layer, found in enumerate(trace.attention):
        assert (found.layer, found.kind) == (layer, "self")
        np.testing.assert_allclose(np.asarray(found.pattern).sum(axis=-1), 1, atol=1e-6)
        assert (np.asarray(found.pattern)[:, ~np.asarray(found.mask)] == 0).all()
    shapes = {
        "linear": {WEIGHTS_BY_DAY: (LENGTH, VOCAB, VOCAB)},
        "gru": {HIDDEN_STATES: (LENGTH, 4)},
    }.get(options.name, {})
    assert {name: value.shape for name, value in trace.values.items()} == shapes


def positions_of(model, options):
    """The features of positions, what turns queries and keys, and what is added to scores."""
    name = options.position.name
    turn, bias = SCORES.get(name, (None, lambda length: None))
    if model.positions is not None:
        return as_float64(model.positions), turn, bias(LENGTH)
    return TABLES["none" if name in SCORES else name](LENGTH, options.d_model), turn, bias(LENGTH)


def in_float64(model, options):
    """(logits, patterns of every layer and head) of `TOKENS` by an independent forward pass."""
    if options.name == "linear":
        weight, bias = (as_float64(part) for part in model.projection)
        day_feature = options.day_feature == "with"
        logits = linear_logits(weight, bias, TOKENS, day_feature=day_feature)
        return np.tile(logits, (LENGTH, 1)), []
    if options.name == "gru":
        return gru_logits(model, TOKENS), []
    positions, turn, bias = positions_of(model, options)
    if options.name == "transformer":
        return transformer_forward(model, list(TOKENS), positions=positions, turn=turn, bias=bias)
    logits, pattern = attention_forward(
        model, list(TOKENS), positions=positions, mask=options.mask, scale=2**-0.5, turn=turn,
        bias=bias,
    )  # fmt: skip
    return logits, [[pattern]]


@every_setting
def test_a_model_agrees_with_a_forward_pass_in_float64(setting):
    model, logits, trace = built(setting)
    expected, patterns = in_float64(model, MODELS_IN_ALL_SETTINGS[setting])
    # Numbers of size 1 to 10 through a few float32 products.
    for found, pattern in zip(trace.attention, patterns, strict=True):
        np.testing.assert_allclose(found.pattern, pattern, atol=2e-5)
    np.testing.assert_allclose(logits, expected, atol=5e-5)


@every_setting
def test_a_prediction_has_a_gradient_to_the_days_it_sees_and_none_to_others(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    model, _, _ = built(setting)
    days = jax.nn.one_hot(jnp.array(TOKENS), VOCAB)

    def logits_at(days, query):
        # Of the squares, since the sum of a softmax's own gradients may be zero by itself.
        return (model.read(days, query[None])[0] ** 2).sum()

    gradient_at = jax.jit(jax.grad(logits_at))
    for query in range(LENGTH):
        gradient = np.abs(gradient_at(days, jnp.int32(query))).max(axis=1)
        assert np.flatnonzero(gradient).tolist() == list(options.sees(query, LENGTH))


@every_setting
def test_a_causal_family_sees_no_later_day(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    past = all(max(options.sees(day, LENGTH)) <= day for day in range(LENGTH))
    assert options.causal == past


@every_setting
def test_the_arithmetic_of_a_cell_is_that_of_the_pattern(setting):
    model, _, trace = built(setting)
    tokens = jnp.array(TOKENS)
    for found in trace.attention:
        for head, query in itertools.product(range(len(found.pattern)), (1, LENGTH - 1)):
            cell = model.cell(tokens, layer=found.layer, head=head, query=query, key=1)
            score = sum(float(q) * float(k) for q, k in zip(cell.query, cell.key, strict=True))
            assert cell.score == pytest.approx(score, abs=1e-5)
            assert cell.scaled[1] == pytest.approx(cell.score * cell.scale + cell.bias, abs=1e-5)
            np.testing.assert_array_equal(cell.unmasked, found.mask[query])
            np.testing.assert_allclose(cell.pattern, found.pattern[head, query], atol=1e-6)
    if not trace.attention:
        assert model.cell(tokens, layer=0, head=0, query=1, key=1) is None


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


@pytest.mark.parametrize(("length", "d_attn"), [(2, 6), (10, 1)])
def test_counts_of_parameters(length, d_attn):
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
    layer = 4 * (24 * 24 + 24) + (24 * 48 + 48) + (48 * 24 + 24) + 2 * 2 * 24
    stack = VOCAB * 24 + length * 24 + 3 * layer + 2 * 24 + (24 + 1) * VOCAB
    assert count(TransformerOptions(layers=3)) == stack
    assert count(GRUOptions(hidden_size=7)) == 3 * 7 * (VOCAB + 7 + 1) + 7 + (7 + 1) * VOCAB
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
