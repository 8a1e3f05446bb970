"""New days from a model against all continuations, enumerated in float64."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.models import AttentionOptions
from attnlab.models.generation import beam_search, generate
from tests.unit.model_oracles import as_float64, attention_forward, log_softmax

LENGTH, DAYS = 4, 3
TOKENS = (0, 2, 1, 1)


@pytest.fixture(scope="module")
def model():
    options = AttentionOptions(d_attn=2, initialisation="published")
    return options.build(vocab=3, length=LENGTH, key=jr.key(0))


def logits_after(model, window):
    logits, _ = attention_forward(
        model, list(window), positions=as_float64(model.positions), mask="causal", scale=2**-0.5
    )
    return logits[-1]


@pytest.fixture(scope="module")
def joint(model):
    """log p of every continuation, by sliding the window over it."""
    table = np.zeros((3,) * DAYS)
    for days in itertools.product(range(3), repeat=DAYS):
        window = TOKENS
        for day in days:
            table[days] += log_softmax(logits_after(model, window))[day]
            window = (*window[1:], day)
    return table


def drawn(model, *, temperature, size, days=DAYS, readout="last"):
    def one(key):
        return generate(
            model, jnp.array(TOKENS), readout=readout, days=days, temperature=temperature, key=key
        )

    return np.asarray(jax.vmap(one)(jr.split(jr.key(7), size)))


def test_greedy_takes_the_likeliest_day_each_time(model):
    window, expected = TOKENS, []
    for _ in range(6):
        expected.append(int(logits_after(model, window).argmax()))
        window = (*window[1:], expected[-1])
    for row in drawn(model, temperature=0.0, size=2, days=6):
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_frequencies_are_the_probabilities_of_the_model(model, temperature):
    size = 40_000
    table = np.zeros((3,) * DAYS)
    for days in itertools.product(range(3), repeat=DAYS):
        window = TOKENS
        for day in days:
            table[days] += log_softmax(logits_after(model, window) / temperature)[day]
            window = (*window[1:], day)
    counts = np.zeros(table.shape)
    np.add.at(counts, tuple(drawn(model, temperature=temperature, size=size).T), 1)
    probabilities = np.exp(table)
    # 4.5 standard deviations in each of 27 cells, and one draw for the skew of rare ones.
    bound = 4.5 * np.sqrt(size * probabilities * (1 - probabilities)) + 1
    assert np.all(np.abs(counts - size * probabilities) < bound)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_temperatures_that_mean_nothing_are_refused(model, temperature):
    with pytest.raises(ValueError, match=rf"`temperature` is {temperature}: .*0 or more"):
        drawn(model, temperature=temperature, size=1)


def search(model, width, days=DAYS):
    beam = beam_search(model, jnp.array(TOKENS), readout="last", days=days, width=width)
    return np.asarray(beam.continuations), np.asarray(beam.log_probs)


@pytest.mark.parametrize("width", [9, 27])
def test_a_wide_enough_beam_finds_the_likeliest_of_all(model, joint, width):
    continuations, log_probs = search(model, width)
    order = np.argsort(-joint, axis=None)[:width]
    # Sums of three float32 logarithms.
    np.testing.assert_allclose(log_probs, joint.ravel()[order], atol=1e-5)
    np.testing.assert_array_equal(continuations, np.transpose(np.unravel_index(order, joint.shape)))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_every_beam_reports_the_summed_log_probability_of_its_days(model, joint, width):
    continuations, log_probs = search(model, width)
    assert len({tuple(days) for days in continuations}) == width
    found = [joint[tuple(days)] for days in continuations]
    np.testing.assert_allclose(log_probs, found, atol=1e-5)
    assert np.all(np.diff(log_probs) <= 0)


def test_a_beam_of_one_is_greedy(model):
    np.testing.assert_array_equal(search(model, 1)[0], drawn(model, temperature=0.0, size=1))


@pytest.mark.parametrize(("width", "days"), [(0, 3), (3, 0), (-1, 1)])
def test_no_width_and_no_days_are_refused(model, width, days):
    with pytest.raises(ValueError, match=f"`width` is {width} for {days} tokens"):
        search(model, width, days=days)


def test_the_readout_is_where_the_prediction_is_read(model):
    options = AttentionOptions(d_attn=2, mask="published", initialisation="published")
    first = options.build(vocab=3, length=LENGTH, key=jr.key(1))
    logits, _ = attention_forward(
        first, list(TOKENS), positions=as_float64(first.positions), mask="published",
        scale=2**-0.5,
    )  # fmt: skip
    day = drawn(first, temperature=0.0, size=1, days=1, readout="first")
    assert day[0, 0] == logits[0].argmax()
