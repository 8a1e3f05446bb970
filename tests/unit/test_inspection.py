"""Looking into a model: predictions, comparisons, losses by day, influence by lag."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.attention import MASKS
from attnlab.charts import by_day_chart, series_table
from attnlab.generators import Markov
from attnlab.inspection import (
    Comparison,
    compare,
    confusion,
    final_probs,
    probs_by_query,
    quality,
    surprise,
)
from attnlab.models import MODELS, AttentionMap, AttentionOptions
from attnlab.optimum import dependence, next_token, token_marginals
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training
from attnlab.ui.inspect.prediction_panel import evenly, moved_before
from tests.unit.small_experiments import SMALL

LENGTH = 4


def built(options):
    return options.build(vocab=3, length=LENGTH, key=jr.key(3))


def some_sequences(size):
    return np.random.default_rng(0).integers(0, 3, size=(size, LENGTH)).astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "transformer", "linear"])
def test_probabilities_are_the_softmax_of_the_logits_that_are_read_out(name):
    model, days = built(MODELS[name]()), some_sequences(7)
    probs = final_probs(model, days, "last")
    last_logits = jax.jit(lambda tokens: model(tokens, jnp.array([LENGTH - 1]))[0][0])
    for row, tokens in zip(probs, days, strict=True):
        logits = np.asarray(last_logits(jnp.array(tokens)), np.float64)
        np.testing.assert_allclose(row, np.exp(logits) / np.exp(logits).sum(), rtol=1e-5)
    if name == "attention":
        np.testing.assert_allclose(probs_by_query(model, days)[:, -1], probs, rtol=1e-5)


def test_confusion_counts_every_pair():
    probs = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.5, 0.2, 0.3]])
    counts = confusion(probs, np.array([0, 2, 0]))
    assert counts.tolist() == [[2, 0, 0], [0, 0, 0], [0, 1, 0]]


def test_surprise_adds_up_to_the_cross_entropy():
    true, model = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    parts = surprise(true, model)
    assert parts.unavoidable == pytest.approx(np.log(2))
    assert sum(parts) == pytest.approx(-0.5 * np.log(0.2) - 0.5 * np.log(0.3))
    assert surprise(true, true).error == 0
    # A certain token, as single precision has it.
    certain = np.array([np.nextafter(np.float32(1), np.float32(2)), 0.0], float)
    for known in (certain, np.array([1.0, 0.0])):
        assert [f"{part:.3f}" for part in surprise(known, known)] == ["0.000", "0.000"]
    assert surprise(true, np.array([1.0, 0.0, 0.0])).error == np.inf


@pytest.mark.parametrize("name", ["attention", "transformer", "linear"])
def test_comparison_has_the_rows_that_are_read_out(name):
    options = MODELS[name]()
    experiment = Experiment(generator=Markov(), length=LENGTH, model=options)
    true, laws = dependence(Markov(), LENGTH), token_marginals(Markov(), LENGTH)
    found = compare(experiment, built(options), some_sequences(9), true.replacement, laws)
    rows = LENGTH if options.every_position else 1
    assert found.depends.shape == found.truth.shape == (rows, LENGTH)
    heads = {"attention": 1, "transformer": 3}.get(name)
    assert [map.pattern.shape for map in found.attention] == [
        (heads, LENGTH, LENGTH) for _ in range(heads is not None)
    ]
    if heads:
        np.testing.assert_allclose(found.attends, found.attention[0].pattern.mean(axis=0))
    else:
        assert found.attends is None
    assert ((found.depends >= 0) & (found.depends <= 1)).all()
    # A causal prediction cannot depend on a day after its query.
    assert np.abs(np.triu(found.depends, k=LENGTH - rows + 1)).max() < 1e-7


def test_a_published_readout_is_compared_at_its_own_row():
    options = AttentionOptions(mask="published")
    training = Training(readout="first")
    experiment = Experiment(length=LENGTH, model=options, training=training)
    true, laws = dependence(Markov(), LENGTH), token_marginals(Markov(), LENGTH)
    model, days = built(options), some_sequences(9)
    found = compare(experiment, model, days, true.replacement, laws)
    first_row = jax.jit(lambda row: model(row, jnp.array([0]))[1].attention[0].pattern[0, 0])
    patterns = [first_row(jnp.array(row)) for row in days]
    np.testing.assert_allclose(found.attends[0], np.mean(patterns, axis=0), atol=1e-6)
    assert found.depends.shape == (1, LENGTH)
    assert MASKS["published"](jnp.arange(1), jnp.arange(LENGTH)).all()


@pytest.mark.slow
def test_a_preset_can_be_inspected_from_end_to_end():
    experiment = PRESETS["published-dotmod-linear"].experiment
    setup = prepare(experiment)
    probs = final_probs(setup.state.model, setup.test[:50, :-1], "last")
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-5)
    test = np.asarray(setup.test[:50])
    early, found = quality(experiment, setup.state.model, test)
    assert early.test is None
    assert found.counts.sum() == found.transitions.count.sum() == 50
    true = [next_token(experiment.generator, days) for days in test[:, :-1].tolist()]
    gap = [surprise(*pair).error for pair in zip(true, probs, strict=True)]
    assert found.test.divergence.value == pytest.approx(np.mean(gap), rel=1e-4)


def test_attention_spread_evenly_is_over_the_keys_that_the_query_may_see():
    days, informative = jnp.arange(10), np.isin(np.arange(10), (0, 3, 7))
    shares = {name: evenly(np.asarray(mask(days, days))[-1], informative)
              for name, mask in MASKS.items()}  # fmt: skip
    # Under the published mask the last day sees itself alone.
    assert shares == {"causal": 0.3, "none": 0.3, "published": 0.0}


def test_the_table_has_the_losses_their_errors_and_the_floors():
    table = by_day_chart(
        np.array([2, 3]), np.array([1.0, 0.5]), np.array([0.1, 0.2]), np.array([0.9, 0.25])
    ).tables["table"]
    assert table.drop(columns="series").to_dict("list") == {
        "at": [2, 3], "value": [1.0, 0.5], "error": [0.1, 0.2], "low": [0.9, 0.3],
        "high": [1.1, 0.7], "floor": [0.9, 0.25],
    }  # fmt: skip


def test_only_days_that_were_trained_on_have_figures():
    setup = prepare(SMALL)
    first = next(quality(SMALL, setup.state.model, np.asarray(setup.test)))
    assert first.by_position is None


def test_an_error_that_is_not_known_draws_no_bar():
    table = series_table("", [0, 1], [0.5, 0.25], [np.nan, np.nan])
    np.testing.assert_allclose(table["low"], table["value"])
    np.testing.assert_allclose(table["high"], table["value"])


PLACES = 5


def layer(number, *rows):
    """A map of one head that attends to its own position, except in these rows: (query, key)."""
    pattern = np.eye(PLACES)
    for query, key in rows:
        pattern[query] = np.eye(PLACES)[key]
    return AttentionMap(pattern[None], np.tri(PLACES, dtype=bool), number)


@pytest.mark.parametrize(
    ("rows", "moved"),
    [
        # Position 2 reads 0, and the last position reads 1 itself.
        ([(2, 0), (4, 1)], [0, 1]),
        ([(2, 0)], [0]),
        # What position 3 has read is read by no one.
        ([(3, 0)], []),
        ([], []),
    ],
)
def test_moved_is_only_what_earlier_layers_bring_to_positions_that_are_read(rows, moved):
    depends = np.zeros((PLACES, PLACES))
    depends[-1] = [0.3, 0.2, 0.4, 0.0, 0.1]
    below, chosen = layer(0, *rows), layer(1, (4, 2))
    found = Comparison((below, chosen, layer(2, (4, 0))), depends, depends, depends)
    assert moved_before(found, chosen).tolist() == moved
    # In the first layer nothing was moved before.
    assert moved_before(found, below).tolist() == []
    depends[-1] = [0.0, 0.0, 0.5, 0.0, 0.0]
    assert moved_before(found, chosen).tolist() == []
