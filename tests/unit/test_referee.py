"""The referee: methods, truths and scores against values by hand and other libraries."""

import dataclasses
import importlib.resources
import itertools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import mannwhitneyu, spearmanr

from attnlab.generators import Custom, Recall
from attnlab.inspection import MEASURES, measure_of
from attnlab.inspection.explanations import METHODS, Explained
from attnlab.inspection.referee import (
    PARTS,
    Truth,
    area_under_curve,
    explains,
    levels,
    rank_correlation,
    truths_of,
)
from attnlab.lessons.explanations import league_table
from attnlab.models import AttentionOptions, LinearOptions, TransformerOptions
from attnlab.models.parts import Projection
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL_TRANSFORMER, small

pytestmark = pytest.mark.usefixtures("quickly_compiled")
LENGTH = 5
TRAINING = Training(steps=2, train_size=100, test_size=100, batch=10)
# Fair coins: each token is drawn alone.
COINS = Custom(symbols="a b", table=((0.5, 0.5), (0.5, 0.5)))


def of_coins(model):
    experiment = Experiment(generator=COINS, length=LENGTH, model=model, training=TRAINING)
    tokens = np.array(list(itertools.product((0, 1), repeat=LENGTH)), np.int32)
    return experiment, tokens, np.full((LENGTH, 2), 0.5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def random_scores():
    rng = np.random.default_rng(3)
    # With many ties.
    return rng.integers(0, 4, (30, 7)) / 4.0, rng.integers(0, 5, (30, 7)) / 5.0


def test_rank_correlation_and_area_are_those_of_scipy(random_scores):
    scores, size = random_scores
    matters = size > 0.5
    truth = Truth(size, matters)
    ranks, areas = rank_correlation(scores, truth), area_under_curve(scores, truth)
    for at in range(len(scores)):
        if np.ptp(scores[at]) and np.ptp(size[at]):
            found = spearmanr(scores[at], size[at]).statistic
            assert ranks[at] == pytest.approx(found, abs=1e-12)
        some = matters[at]
        if some.any() and not some.all():
            pairs = mannwhitneyu(scores[at][some], scores[at][~some]).statistic
            assert areas[at] == pytest.approx(pairs / some.sum() / (~some).sum())


def test_scores_that_say_nothing_are_chance_and_a_truth_that_says_nothing_is_none():
    matters = np.array([[True, False, False]])
    equal = np.ones((1, 3))
    truth = Truth(np.array([[0.3, 0.1, 0.0]]), matters)
    assert rank_correlation(equal, truth) == 0
    assert area_under_curve(equal, truth) == 0.5
    assert np.isnan(rank_correlation(equal, Truth(np.zeros((1, 3)), matters)))
    assert np.isnan(area_under_curve(equal, Truth(equal, ~np.zeros_like(matters))))


def test_sizes_count_and_near_ties_are_ties():
    np.testing.assert_array_equal(levels(np.array([-2.0, 1.0, 0.0, 1e-6])), [1000, 500, 0, 0])


@pytest.fixture(scope="module")
def linear():
    """Log-odds Σ wᵢ sᵢ with sᵢ = ±1, by hand."""
    weights = np.array([0.3, -0.8, 0.05, 1.1, 0.5])
    experiment, tokens, marginals = of_coins(LinearOptions())
    model = prepare(experiment).state.model
    weight = np.stack([np.outer([1, -1], [w / 2, -w / 2]) for w in weights]).reshape(-1, 2)
    model = eqx.tree_at(
        lambda m: m.projection, model, Projection(jnp.asarray(weight, jnp.float32), jnp.zeros(2))
    )
    return weights, 1 - 2 * tokens, Explained(experiment, model, tokens, marginals)


def test_values_of_a_linear_model_by_hand(linear):
    weights, signs, explained = linear
    odds = (signs * weights).sum(axis=1)
    likeliest = np.where(odds >= 0, 1, -1)
    parts = signs * weights * likeliest[:, None]
    # d log σ(z) / d z = 1 - σ(z); half the odds are the embedding's, since the other half is -1.
    found = METHODS["gradient"].of(explained)
    by_hand = (1 - sigmoid(np.abs(odds)))[:, None] * parts
    np.testing.assert_allclose(found, by_hand, atol=1e-5)
    # Without a token its part is 0; resampled, it changes its sign half of the time.
    left = np.abs(sigmoid(odds)[:, None] - sigmoid(odds[:, None] - signs * weights))
    for name in ("leave_out", "leave_out_mean"):
        np.testing.assert_allclose(METHODS[name].of(explained), left, atol=1e-6)
    moved = np.abs(sigmoid(odds)[:, None] - sigmoid(odds[:, None] - 2 * signs * weights)) / 2
    np.testing.assert_allclose(truths_of(explained).model.size, moved, atol=1e-6)
    np.testing.assert_allclose(METHODS["patch"].of(explained), moved, atol=1e-6)


def test_gradient_leaving_out_and_truth_agree_where_all_tokens_agree(linear):
    weights, signs, explained = linear
    agree = (signs * weights > 0).all(axis=1)
    assert agree.sum() == 1
    truth = truths_of(explained).model
    for name in ("gradient", "integrated_gradients", "leave_out", "leave_out_mean", "patch"):
        assert rank_correlation(METHODS[name].of(explained), truth)[agree] == pytest.approx(1)


@pytest.fixture(scope="module")
def stack():
    experiment = small(SMALL_TRANSFORMER, train_size=100)
    setup = prepare(experiment)
    tokens = np.asarray(setup.test)[:20, :-1]
    return Explained(experiment, setup.state.model, tokens, np.full((4, 3), 1 / 3)), setup


def log_probs_in_float64(explained, rows, tokens):
    """The log-probability of the tokens, computed in float64."""
    with jax.enable_x64(True):
        wide = jax.tree.map(
            lambda leaf: jnp.asarray(np.asarray(leaf, np.float64)) if eqx.is_array(leaf) else leaf,
            explained.model,
        )
        query = jnp.array([explained.experiment.read_position])
        logits = np.array([_logits(wide, jnp.asarray(row), query) for row in rows])
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return np.log(shares[np.arange(len(rows)), tokens])


@eqx.filter_jit
def _logits(model, row, query):
    return model.read(row, query)[0][0]


def test_gradients_are_differences_in_float64_and_integrated_ones_complete(stack):
    explained, _ = stack
    few = explained._replace(tokens=explained.tokens[:2])
    rows = few.rows.astype(np.float64)
    query = jnp.array([few.experiment.read_position])
    likeliest = [int(few.model.read(jnp.asarray(row), query)[0][0].argmax()) for row in few.rows]
    found, step = METHODS["gradient"].of(few), 1e-5
    for place in range(rows.shape[1]):
        # Along the embedding of the token itself.
        along = np.zeros_like(rows)
        along[:, place] = rows[:, place]
        up, down = (
            log_probs_in_float64(few, rows + sign * step * along, likeliest) for sign in (1, -1)
        )
        np.testing.assert_allclose(found[:, place], (up - down) / 2 / step, rtol=1e-3, atol=1e-5)
    start = np.full_like(rows, 1 / rows.shape[2])
    ends = (log_probs_in_float64(few, each, likeliest) for each in (rows, start))
    total = METHODS["integrated_gradients"].of(few).sum(axis=1)
    np.testing.assert_allclose(total, np.subtract(*ends), atol=1e-3)


def test_rollout_and_values_by_hand(stack):
    explained, _ = stack
    tokens, model = jnp.asarray(explained.tokens[0]), explained.model
    first, second = (
        np.asarray(each.pattern, np.float64).mean(axis=0)
        for each in model(tokens, jnp.arange(tokens.size))[1].attention
    )
    same = np.eye(tokens.size)
    flow = (second + same) / 2 @ ((first + same) / 2)
    np.testing.assert_allclose(METHODS["rollout"].of(explained)[0], flow[-1], atol=1e-6)
    np.testing.assert_allclose(METHODS["attention"].of(explained)[0], second[-1], atol=1e-6)
    parts = model.layers[-1].project_qkv(
        model.inputs_of_layers(tokens)[-1], jnp.arange(tokens.size), model.options
    )
    last = model(tokens, jnp.arange(tokens.size))[1].attention[-1].pattern
    outputs = jnp.split(model.layers[-1].output.weight, model.options.heads)
    by_hand = sum(
        np.asarray(last[head, -1]) * np.linalg.norm(parts.value[head] @ outputs[head], axis=1)
        for head in range(model.options.heads)
    )
    np.testing.assert_allclose(METHODS["values"].of(explained)[0], by_hand, rtol=1e-4)


def wired(places):
    """A head that attends to these positions alone, whose values are the tokens' log-odds."""
    options = AttentionOptions(d_attn=LENGTH, d_model=LENGTH)
    experiment, tokens, marginals = of_coins(options)
    model = prepare(experiment).state.model
    width = model.query.weight.shape[0]
    scores = np.full(LENGTH, -40.0)
    scores[list(places)] = np.log(np.arange(1, len(places) + 1))
    key = np.zeros((width, LENGTH))
    key[2:, 0] = scores * np.sqrt(LENGTH)
    value = np.zeros((width, 2))
    value[:2] = [[2.0, -2.0], [-2.0, 2.0]]

    def projection(weight, bias):
        return Projection(jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32))

    model = eqx.tree_at(
        lambda m: (m.positions, m.query, m.key, m.value),
        model,
        (
            jnp.eye(LENGTH),
            projection(np.zeros((width, LENGTH)), np.eye(LENGTH)[0]),
            projection(key, np.zeros(LENGTH)),
            projection(value, np.zeros(2)),
        ),
    )
    return Explained(experiment, model, tokens, marginals)


@pytest.mark.parametrize("places", [(1,), (0, 3)])
def test_attention_of_a_head_wired_by_hand_is_right(places):
    explained = wired(places)
    truth, scores = truths_of(explained).model, METHODS["attention"].of(explained)
    assert (area_under_curve(scores, truth) == 1).all()
    same = (explained.tokens == explained.tokens[:, :1]).all(axis=1)
    np.testing.assert_allclose(rank_correlation(scores, truth)[same], 1)
    if len(places) == 1:
        np.testing.assert_allclose(rank_correlation(scores, truth), 1)


def test_attention_that_is_ignored_is_at_chance():
    """With equal values only the residual path of the last token counts; weights are random."""
    options = TransformerOptions(
        layers=1, heads=8, d_attn=8, d_model=8, mlp_width=4, normalisation="none", mask="none"
    )
    experiment, tokens, marginals = of_coins(options)
    areas = []
    for seed in range(12):
        model = options.build(vocab=2, length=LENGTH, key=jr.key(seed))
        values = jax.tree.map(jnp.zeros_like, model.layers[0].value)
        model = eqx.tree_at(lambda m: m.layers[0].value, model, values)
        explained = Explained(experiment, model, tokens, marginals)
        truth = truths_of(explained).model
        np.testing.assert_array_equal(truth.matters.any(axis=0), np.arange(LENGTH) == LENGTH - 1)
        assert (area_under_curve(METHODS["values"].of(explained), truth) == 0.5).all()
        heads = METHODS["heads"].of(explained)
        areas += [area_under_curve(heads[:, at], truth).mean() for at in range(heads.shape[1])]
    assert abs(np.mean(areas) - 0.5) < 4 * np.std(areas) / np.sqrt(len(areas))


def test_the_process_depends_on_its_sources_as_enumerated_by_hand():
    process = Recall(days=(1, 3))
    experiment = Experiment(generator=process, length=4, training=TRAINING)
    setup = prepare(experiment)
    tokens = np.asarray(setup.test)[:6, :-1]
    explained = Explained(experiment, setup.state.model, tokens, np.full((4, 3), 1 / 3))
    at = process.at_length(4)

    def law(sequence):
        belief, total = at.start(), 0.0
        for token in sequence:
            total += float(at.log_probs(belief)[token])
            belief = at.update(belief, jnp.int32(token))
        return np.exp(total), np.exp(np.asarray(at.log_probs(belief), np.float64))

    truth = truths_of(explained).process
    for number, place in itertools.product(range(3), range(4)):
        _, before = law(tokens[number])
        weights, moves = [], []
        for token in range(3):
            other = tokens[number].copy()
            other[place] = token
            weight, after = law(other)
            weights.append(weight)
            moves.append(np.abs(after - before).sum() / 2)
        by_hand = np.dot(weights, moves) / np.sum(weights)
        assert truth.size[number, place] == pytest.approx(by_hand, abs=1e-5)


def test_every_method_is_a_measure_with_all_parts(stack):
    _, setup = stack
    for name in METHODS:
        for part in PARTS:
            measure = measure_of(f"explains_{name}" + f":{part}" * bool(part))
            found = measure.estimate(setup.state.model, setup)
            low, high = measure.bounds
            assert found is None or low <= found.value <= high
        assert f"explains_{name}" in MEASURES
    assert measure_of("explains_attention:nothing") is None
    # Before training, the control reads the same model.
    for name in ("rollout", "gradient"):
        same = (explains(setup.state.model, setup, method=name, part=p) for p in ("", "untrained"))
        assert next(same) == next(same)


def test_what_does_not_apply_is_absent():
    experiment = dataclasses.replace(small(SMALL_TRANSFORMER), model=LinearOptions())
    setup = prepare(experiment)
    for name in ("attention", "heads", "values", "rollout", "probe"):
        assert explains(setup.state.model, setup, method=name) is None
    assert explains(setup.state.model, setup, method="leave_out") is not None


def test_the_league_table_is_the_mean_of_the_shipped_numbers():
    folder = importlib.resources.files("attnlab.comparisons").joinpath("results")
    record = json.loads(folder.joinpath("explanations.json").read_text())
    of_family = [
        each["numbers"]
        for each in record["settings"]
        if each["experiment"]["model"]["name"] == "transformer"
    ]
    assert len(record["settings"]) == 36
    assert len({json.dumps(each["experiment"]["generator"]) for each in record["settings"]}) == 12
    places = league_table("process.auc", "transformer")
    assert [place.method for place in places] == sorted(
        METHODS, key=lambda name: -next(p.interval.mean for p in places if p.method == name)
    )
    for place in places:
        name = f"explains_{place.method}:process.auc"
        values = [numbers[name] for numbers in of_family if name in numbers]
        by_seed = np.mean(values, axis=0)
        assert place.interval.mean == pytest.approx(by_seed.mean(), abs=1e-6)
        low, high = place.interval.ends
        half = 4.302653 * by_seed.std(ddof=1) / np.sqrt(3)
        assert (low, high) == pytest.approx((by_seed.mean() - half, by_seed.mean() + half))
    chance = next(place for place in league_table("") if place.method == "random")
    assert abs(chance.interval.mean) < 0.1
