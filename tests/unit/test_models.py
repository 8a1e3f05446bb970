"""Every model with every option: what it computes, shows, and does not see."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.attention import SCALES
from attnlab.models import (
    HIDDEN_STATES,
    KERNELS,
    MODELS,
    TIME_SCALES,
    WEIGHTS_BY_POSITION,
    AbstractModel,
    AttentionOptions,
    CellPlace,
)
from attnlab.positions import POSITIONS
from attnlab.testing import check_model
from tests.unit.model_oracles import (
    ACTIVATIONS,
    SCORES_OF,
    as_float64,
    attention_forward,
    conv_forward,
    gru_logits,
    linear_logits,
    lstm_logits,
    mlp_logits,
    rnn_logits,
    ssm_forward,
    transformer_forward,
)
from tests.unit.model_settings import (
    LENGTH,
    MODELS_IN_ALL_SETTINGS,
    TOKENS,
    VOCAB,
    build,
    built,
    run,
)
from tests.unit.position_oracles import SCORES, TABLES

pytestmark = pytest.mark.usefixtures("quickly_compiled")

RECURRENT = {"gru": gru_logits, "lstm": lstm_logits, "rnn": rnn_logits}

# The first setting of each family.
FIRST = {options.name: name for name, options in reversed(MODELS_IN_ALL_SETTINGS.items())}.values()

# What it sees follows another mask.
PUBLISHED = "transformer rotary, mask published, temperature"

every_setting = pytest.mark.parametrize("setting", MODELS_IN_ALL_SETTINGS)


def test_every_registered_model_has_a_setting():
    assert {type(options) for options in MODELS_IN_ALL_SETTINGS.values()} == set(MODELS.values())


# `check_model` holds every family to rows that do not depend on the other queries.
@pytest.mark.slow
def test_queries_choose_rows_and_nothing_else():
    model, logits, trace = built("transformer none, heads 1")
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


@pytest.mark.slow
@every_setting
def test_the_trace_has_what_there_is_and_the_shapes_it_says(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    _, _, trace = built(setting)
    layers = getattr(options, "layers", 0)
    heads = {
        "attention": [1], "transformer": [getattr(options, "heads", 0)] * layers,
    }.get(options.name, [])  # fmt: skip
    assert [found.pattern.shape for found in trace.attention] == [
        (number, LENGTH, LENGTH) for number in heads
    ]
    for layer, found in enumerate(trace.attention):
        assert (found.layer, found.kind) == (layer, "self")
        np.testing.assert_allclose(np.asarray(found.pattern).sum(axis=-1), 1, atol=1e-6)
        assert (np.asarray(found.pattern)[:, ~np.asarray(found.mask)] == 0).all()
    shapes = {
        "linear": {WEIGHTS_BY_POSITION: (LENGTH, VOCAB, VOCAB)},
        **{name: {HIDDEN_STATES: (LENGTH, 4)} for name in RECURRENT},
        "conv": {KERNELS: (layers, LENGTH, LENGTH)},
        "ssm": {HIDDEN_STATES: (LENGTH, 4), TIME_SCALES: (4,)},
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
    """(logits, patterns of every layer and head, activations by site) of `TOKENS`.

    Activations are those of transformers and state space models alone.
    """
    if options.name == "linear":
        weight, bias = (as_float64(part) for part in model.projection)
        day_feature = options.day_feature == "with"
        logits = linear_logits(weight, bias, TOKENS, day_feature=day_feature)
        return np.tile(logits, (LENGTH, 1)), [], {}
    if options.name == "mlp":
        activation = ACTIVATIONS[options.activation]
        return np.tile(mlp_logits(model, TOKENS, activation), (LENGTH, 1)), [], {}
    if options.name == "conv":
        return conv_forward(model, TOKENS)[0], [], {}
    if options.name == "ssm":
        logits, sites = ssm_forward(model, TOKENS)
        return logits, [], sites
    if options.name in RECURRENT:
        return RECURRENT[options.name](model, TOKENS), [], {}
    positions, turn, bias = positions_of(model, options)
    if options.name == "transformer":

        def bias_of(head):
            if getattr(options.position, "slopes", "") != "by head":
                return bias
            # Press et al. (2022): 2^(-8/n), 2^(-16/n) and so on, where the one slope is 1/2.
            return bias * 2 * 2.0 ** (-8 * (head + 1) / options.heads)

        return transformer_forward(
            model, list(TOKENS), positions=positions, turn=turn, bias_of=bias_of
        )
    logits, pattern = attention_forward(
        model, list(TOKENS), positions=positions, mask=options.mask, scale=2**-0.5, turn=turn,
        bias=bias,
    )  # fmt: skip
    return logits, [[pattern]], {}


@pytest.mark.slow
@every_setting
def test_a_model_agrees_with_a_forward_pass_in_float64(setting):
    model, logits, trace = built(setting)
    expected, patterns, sites = in_float64(model, MODELS_IN_ALL_SETTINGS[setting])
    # Numbers of size 1 to 10 through a few float32 products.
    for found, pattern in zip(trace.attention, patterns, strict=True):
        np.testing.assert_allclose(found.pattern, pattern, atol=2e-5)
    np.testing.assert_allclose(logits, expected, atol=5e-5)
    assert not sites or tuple(sites) == model.sites
    for site, rows in sites.items():
        np.testing.assert_allclose(trace.residual[site], rows, atol=5e-5, err_msg=site)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*FIRST, PUBLISHED])
def test_a_model_holds_the_laws(setting):
    options = MODELS_IN_ALL_SETTINGS[setting]
    check_model(options, vocab=VOCAB, tokens=TOKENS, plain=setting in FIRST)


@pytest.mark.slow
@every_setting
def test_the_arithmetic_of_a_cell_is_that_of_the_pattern(setting):
    model, _, trace = built(setting)
    tokens = jnp.array(TOKENS)
    for found in trace.attention:
        for head, query in ((0, 1), (len(found.pattern) - 1, LENGTH - 1)):
            cell = model.cell(tokens, CellPlace(found.layer, head, query, 1))
            if cell is None:
                # A family need not take its cells apart; one that says it does has all of them.
                assert type(model).cell is AbstractModel.cell
                continue
            score = SCORES_OF[cell.kind](as_float64(cell.query), as_float64(cell.key))
            assert cell.kind == MODELS_IN_ALL_SETTINGS[setting].score
            assert cell.score == pytest.approx(score, abs=1e-5)
            assert cell.scaled[1] == pytest.approx(cell.score * cell.scale + cell.bias, abs=1e-5)
            np.testing.assert_array_equal(cell.unmasked, found.mask[query])
            np.testing.assert_allclose(cell.pattern, found.pattern[head, query], atol=1e-6)
    if not trace.attention:
        assert model.cell(tokens, CellPlace(0, 0, 1, 1)) is None


@pytest.mark.parametrize("setting", [name for name in MODELS_IN_ALL_SETTINGS if "conv" in name])
def test_kernels_are_drawn_by_distance(setting):
    model, _, trace = built(setting)
    _, expected = conv_forward(model, TOKENS)
    np.testing.assert_allclose(trace.values[KERNELS], expected, atol=1e-6)


def test_time_scales_are_those_of_the_fading_state():
    model, _, trace = built("ssm")
    # From the second token on nothing enters: what is left falls by e in that many days.
    first, second = jnp.zeros(VOCAB).at[0].set(1), jnp.zeros(VOCAB)
    silent = eqx.tree_at(lambda m: m.inputs.bias, model, jnp.zeros(4))
    (one,) = silent.after(silent.start(), first)
    (other,) = silent.after((one,), second)
    np.testing.assert_allclose(
        trace.values[TIME_SCALES], -1 / np.log(as_float64(other) / as_float64(one)), rtol=1e-4
    )


def test_without_positions_the_days_are_a_set():
    options = AttentionOptions(d_attn=3, position=POSITIONS["none"](), mask="none")
    model = build(options)
    first = run(model, (0, 1, 2, 2, 1))[0]
    # The same days in another order, read from a day of the same weather.
    np.testing.assert_allclose(run(model, (2, 1, 0, 1, 2))[0][2], first[0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_the_scale_reaches_the_scores(scale):
    options = AttentionOptions(d_attn=16, scale=scale, temperature=5.0)
    model = build(options)
    factor = {"1/sqrt(d)": 0.25, "none": 1.0, "temperature": 0.2}[scale]
    expected, _ = attention_forward(
        model, list(TOKENS), positions=as_float64(model.positions), mask="causal", scale=factor
    )
    np.testing.assert_allclose(run(model)[0], expected, atol=2e-5)
