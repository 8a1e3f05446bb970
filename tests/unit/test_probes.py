"""Probes, their controls, the gap at a belief, and steering."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, present
from attnlab.generators import (
    GENERATORS,
    Even,
    HiddenChain,
    HiddenMarkov,
    Markov,
    Mess3,
    ProductChain,
    RandomRandomXor,
    beliefs,
)
from attnlab.inspection import (
    activations,
    belief_data,
    belief_gap,
    belief_r2,
    fit_probe,
    measure_of,
    prepare_probes,
    probe,
    probe_all_sites,
    probe_sites,
    score,
    steer,
    untrained_belief_r2,
)
from attnlab.inspection.belief_gap import on_simplex
from attnlab.inspection.belief_probes import (
    NEXT_TOKEN,
    SHUFFLED,
    possible_pasts,
    sequences_for,
)
from attnlab.inspection.predictions import probs_by_query
from attnlab.models import Edit, GRUOptions, LinearOptions, TransformerOptions, edited
from attnlab.training.experiment import Experiment, build_model, prepare

pytestmark = pytest.mark.usefixtures("quickly_compiled")

RNG = np.random.default_rng
WEIGHT, BIAS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]), np.array([0.5, -1.0])
SMALL = TransformerOptions(layers=1, heads=1, d_attn=2, d_model=4, mlp_width=5)


def planted(rng, sequences, *, noise, width=3):
    rows = rng.normal(size=(sequences, 4, width))
    clean = rows[..., :3] @ WEIGHT.T + BIAS
    return rows, clean + noise * rng.normal(size=clean.shape)


def test_a_planted_map_is_recovered():
    rng = RNG(0)
    found = probe(planted(rng, 200, noise=0.0), planted(rng, 200, noise=0.0))
    np.testing.assert_allclose(found.probe.weight, WEIGHT, atol=1e-4)
    np.testing.assert_allclose(found.probe.bias, BIAS, atol=1e-4)
    assert found.score.r2 == pytest.approx(1, abs=1e-6)
    assert len(found.by_position) == 4


def test_the_fit_is_that_of_least_squares():
    rows, targets = planted(RNG(1), 300, noise=1.0)
    found = fit_probe(rows, targets)
    flat = np.column_stack([rows.reshape(-1, 3), np.ones(1200)])
    expected, *_ = np.linalg.lstsq(flat, targets.reshape(-1, 2), rcond=None)
    np.testing.assert_allclose(np.column_stack([found.weight, found.bias]), expected.T, atol=0.02)


def test_more_activations_than_samples_need_a_ridge():
    rng = RNG(2)
    train = planted(rng, 10, noise=1.0, width=60)
    test = planted(rng, 500, noise=1.0, width=60)
    found = probe(train, test)
    assert found.probe.ridge > 0.1
    # Without a ridge, the fit is exact in training and worthless elsewhere.
    flat = np.column_stack([train[0].reshape(40, 60), np.ones(40)])
    plain, *_ = np.linalg.lstsq(flat, train[1].reshape(40, 2), rcond=None)
    unpenalised = score(test[0] @ plain[:60] + plain[60], test[1])
    assert found.score.low > unpenalised.high


def test_the_score_of_noise_is_zero_within_its_interval():
    rng = RNG(3)
    rows, targets = rng.normal(size=(2, 400, 4, 5))
    found = probe((rows[:200], targets[:200]), (rows[200:], targets[200:])).score
    assert found.low <= 0 <= found.high
    assert abs(found.r2) < 0.02


def test_the_interval_covers():
    """One map with a known share: the positions of a sequence have a common noise."""
    rng, inside = RNG(4), 0
    # The variances of the signal, of common and of separate noise.
    true = 1 - (1 + 1) / (np.sum(WEIGHT[0] ** 2) + 1 + 1)
    for _ in range(300):
        rows = rng.normal(size=(80, 4, 3))
        clean = rows @ WEIGHT[:1].T
        noise = rng.normal(size=(80, 1, 1)) + rng.normal(size=(80, 4, 1))
        found = score(clean, clean + noise)
        inside += found.low <= true <= found.high
    # 0.95 within about three standard errors, and some bias of 80 sequences.
    assert 0.9 <= inside / 300 <= 0.985


def test_a_constant_has_no_score():
    assert np.isnan(score(np.zeros((9, 2, 1)), np.ones((9, 2, 1))).r2)


def test_too_few_sequences_are_refused():
    with pytest.raises(ValueError, match="`rows` has 4 sequences"):
        fit_probe(np.zeros((4, 2, 3)), np.zeros((4, 2, 1)))


def test_the_nearest_distribution():
    points = RNG(5).normal(size=(200, 4))
    found = on_simplex(points)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    others = RNG(6).dirichlet(np.ones(4), 2_000)
    nearest = np.linalg.norm(points[:, None] - others[None], axis=2).min(axis=1)
    assert (np.linalg.norm(points - found, axis=1) <= nearest + 1e-9).all()
    np.testing.assert_allclose(on_simplex(others), others, atol=1e-12)


@pytest.mark.slow
def test_controls_show_what_an_untrained_model_already_gives():
    experiment = Experiment(generator=RandomRandomXor(), length=6, model=SMALL)
    setup, model = prepare_probes(experiment, size=300), build_model(experiment)
    sites = probe_sites(setup, model)
    assert [each.site for each in sites] == ["embedding", "attention.0", "mlp.0", "final"]
    for each in sites:
        assert each.trained.score == each.untrained
    # After a random bit the belief says more than the next token, which is random, too.
    assert 0.1 < setup.controls[NEXT_TOKEN].r2 < 0.5
    assert setup.controls[SHUFFLED].r2 < 0.05
    whole = probe_all_sites(setup, model).score
    assert whole.r2 >= max(each.untrained.r2 for each in sites) - 0.02
    # The next-token distribution of `mess3` gives the belief.
    twin = prepare_probes(Experiment(generator=Mess3(), length=6, model=SMALL), size=300)
    assert twin.controls[NEXT_TOKEN].r2 == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_no_probe_of_the_hidden_state_beats_the_exact_belief():
    """Of a state known up to an error with probability e, the belief has a known R²."""
    stay = 0.1
    # The token is the state after the move, or the other one with probability 0.2.
    rows = [
        [chance * right for token in (0, 1) for state, chance in enumerate(moves)
         for right in [0.8 if token == state else 0.2]]
        for moves in ((1 - stay, stay), (stay, 1 - stay))
    ]  # fmt: skip
    process = HiddenChain(symbols="a b", table=tuple(map(tuple, rows)))
    experiment = Experiment(generator=process, length=6, model=SMALL)
    setup = prepare_probes(experiment, "hidden state", size=1_000)
    best = setup.controls["exact belief"]
    beliefs = belief_data(process, 6, size=4_000).beliefs[..., 0]
    # E[(y - b)²] = E[b (1 - b)], and y has the variance 1/4.
    assert best.low <= 1 - 4 * (beliefs * (1 - beliefs)).mean() <= best.high
    assert probe_all_sites(setup, build_model(experiment)).score.r2 <= best.r2 + 0.01


@pytest.mark.slow
def test_one_number_by_which_runs_are_compared():
    experiment = Experiment(generator=Mess3(), length=4, model=SMALL)
    setup = prepare(experiment)
    # The same activations after every past say nothing.
    constant = edited(setup.state.model, Edit(site="final", value=np.ones((4, 4))))
    at_end = present(belief_r2(constant, setup))
    assert abs(at_end.value) < 0.01 > at_end.stderr > 0
    at_embedding = present(measure_of("belief_r2:embedding"))
    found = present(belief_r2(constant, setup, "embedding"))
    assert at_embedding.of(constant, setup) == found
    assert found.value > 0.3
    assert belief_r2(constant, setup, "state") is None
    # Before training, both are the same.
    assert belief_r2(setup.state.model, setup) == untrained_belief_r2(setup.state.model, setup)
    for undefined in (Experiment(generator=Markov()), Experiment(model=LinearOptions())):
        setup = prepare(undefined)
        assert belief_r2(setup.state.model, setup) is None
        assert untrained_belief_r2(setup.state.model, setup) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_is_probed_with_the_sequences_of_its_own_seed(seed):
    experiment = Experiment(generator=Mess3(), length=4, model=SMALL, seed=seed)
    setup = prepare(experiment)
    *_, last = probe_sites(prepare_probes(experiment), setup.state.model)
    found = belief_r2(setup.state.model, setup)
    assert present(found).value == pytest.approx(last.trained.score.r2, abs=1e-9)


@pytest.mark.slow
def test_pasts_that_were_fitted_are_known():
    experiment = Experiment(generator=Mess3(), length=6, model=GRUOptions(hidden_size=2))
    setup = prepare_probes(experiment, size=60)
    train, test = setup.train.sequences, setup.test.sequences
    fitted = {tuple(row[:end]) for row in train for end in range(1, 7)}
    expected = [[tuple(row[:end]) in fitted for end in range(1, 7)] for row in test]
    np.testing.assert_array_equal(setup.repeated, expected)
    # A perfect probe of the pasts that were fitted says nothing about the others.
    found = probe_all_sites(setup, build_model(experiment))
    wrong = np.where(setup.repeated[..., None], setup.targets[1], found.probe.bias)
    found = found._replace(predicted=wrong, score=score(wrong, setup.targets[1]))
    assert setup.score_of_new(found).r2 <= 0 < found.score.r2


@pytest.mark.parametrize("target", ["next token", "last token"])
def test_other_targets(target):
    experiment = Experiment(generator=HiddenMarkov(), length=5, model=GRUOptions(hidden_size=8))
    setup = prepare_probes(experiment, target, size=200)
    (site,) = probe_sites(setup, build_model(experiment))
    assert site.site == "state"
    assert site.trained.score.r2 > 0.5


@pytest.mark.slow
def test_what_cannot_be_probed_is_refused():
    no_beliefs = Experiment(generator=Markov(), model=SMALL)
    with pytest.raises(OptionError, match="`process` is 'markov': it has no hidden states"):
        prepare_probes(no_beliefs)
    one_state = HiddenChain(symbols="a b", initial=(1.0,), table=((0.5, 0.5),))
    with pytest.raises(OptionError, match="or only one"):
        belief_data(one_state, 5)
    with pytest.raises(OptionError, match="`model` is 'linear'"):
        prepare_probes(Experiment(generator=Mess3(), model=LinearOptions()))
    mess3 = Experiment(generator=Mess3(), model=SMALL)
    with pytest.raises(OptionError, match="`target` is 'beliefs'"):
        prepare_probes(mess3, "beliefs", size=10)
    with pytest.raises(OptionError, match="`size` is 10: too few sequences"):
        prepare_probes(mess3, size=10)
    many = Experiment(generator=ProductChain("parentheses", "rrxor"), model=SMALL)
    states = len(many.generator.hidden_states)
    with pytest.raises(
        OptionError, match=rf"`size` is {states}: .* {states} outputs.* {states + 1} or"
    ):
        prepare_probes(many, size=states)
    with pytest.raises(OptionError, match="`target` is 'hidden state': the process 'hmm'"):
        prepare_probes(Experiment(generator=HiddenMarkov(), model=SMALL), "hidden state")
    sees_all = dataclasses.replace(mess3, model=dataclasses.replace(SMALL, mask="none"))
    with pytest.raises(OptionError, match="`mask` is 'none': its positions see later tokens"):
        prepare_probes(sees_all)


def untrained(process=None):
    experiment = Experiment(generator=process or Mess3(), length=6, model=SMALL)
    model = build_model(experiment)
    data = belief_data(experiment.generator, 6, seed=1, size=400)
    rows = activations(model, data.sequences)["final"]
    return experiment.generator, model, fit_probe(rows[:200], data.beliefs[:200]), rows, data


@pytest.mark.slow
def test_the_parts_of_the_gap_sum_to_it():
    process, model, fitted, rows, data = untrained(Even())
    found = belief_gap(process, model, fitted, rows, data)
    assert found.gap == pytest.approx(found.not_represented + found.not_used, abs=1e-12)
    # Every part by the definition of the cross-entropy.
    probs = probs_by_query(model, data.sequences)
    loss = -(data.next_probs * np.log(probs)).sum(axis=2).mean()
    assert found.floor + found.gap == pytest.approx(loss, abs=1e-9)
    assert found.not_represented > 0
    # The model predicts better than from one certain belief.
    certain = dataclasses.replace(fitted, weight=0 * fitted.weight, bias=np.array([0.0, 1.0]))
    worse = belief_gap(process, model, certain, rows, data)
    assert (found.beats_probe, worse.beats_probe) == (False, True)


@pytest.mark.slow
def test_a_belief_that_is_there_already_changes_nothing():
    _, model, fitted, _, data = untrained()
    tokens = data.sequences[0]
    own = fitted(activations(model, tokens[None])["final"][0, -1])
    found = steer(model, fitted, "final", tokens, own[None])
    np.testing.assert_array_equal(found.probs[0], found.plain)
    unedited = probs_by_query(model, tokens[None])[0, -1]
    np.testing.assert_allclose(found.plain, unedited, atol=1e-6)
    assert not found.moves.any()


@pytest.mark.slow
@pytest.mark.parametrize("site", ["embedding", "mlp.0", "final"])
def test_after_the_move_the_probe_gives_the_injected_belief(site):
    _, model, _, _, data = untrained()
    rows = activations(model, data.sequences)[site]
    fitted = fit_probe(rows, data.beliefs)
    wanted = np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]])
    found = steer(model, fitted, site, data.sequences[0], wanted, position=3)
    assert found.probs.shape == found.control.shape == (2, 3)
    np.testing.assert_allclose(found.probs.sum(axis=1), 1, atol=1e-6)
    assert not np.array_equal(found.probs, found.control)
    move = found.moves[0]
    np.testing.assert_allclose(fitted(rows[0, 3] + move), wanted[0], atol=1e-5)
    value = rows[0] + move * (np.arange(6) == 3)[:, None]
    changed = edited(model, Edit(site=site, value=value.astype(np.float32)))
    np.testing.assert_allclose(
        found.probs[0], probs_by_query(changed, data.sequences[:1])[0, 3], atol=1e-5
    )


@pytest.mark.slow
def test_the_random_move_is_as_long_as_the_move_to_the_belief():
    """Two log odds of three tokens give the two numbers of the activation that moved them."""
    process = Mess3()
    model = build_model(Experiment(generator=process, length=6, model=GRUOptions(hidden_size=2)))
    data = belief_data(process, 6, size=50)
    fitted = fit_probe(activations(model, data.sequences)["state"], data.beliefs)
    wanted = np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]])
    found = steer(model, fitted, "state", data.sequences[0], wanted)
    plain, moved, random = (
        np.diff(np.log(probs), axis=-1) @ np.linalg.inv(np.diff(model.unembedding.weight, axis=1))
        for probs in (found.plain, found.probs, found.control)
    )
    np.testing.assert_allclose(moved - plain, found.moves, atol=1e-4)
    lengths = (np.linalg.norm(each - plain, axis=1) for each in (random, moved))
    np.testing.assert_allclose(*lengths, rtol=1e-3)


@pytest.mark.slow
def test_large_activations_are_probed_on_fewer_sequences():
    length = 200
    wide = TransformerOptions(layers=4, heads=1, d_model=64)
    model = build_model(Experiment(generator=Mess3(), length=length, model=wide))
    count = sequences_for(model, length)
    # Both halves, with ten sites of width 64.
    assert 20 < count < 1_000
    assert 2 * count * length * 10 * 64 <= 16_000_000
    few = build_model(Experiment(generator=Mess3(), length=6, model=SMALL))
    assert sequences_for(few, 6) == 1_000


@pytest.mark.parametrize(("name", "counts"), [("golden-mean", (2, 3, 5, 8, 13)), ("mess3", (3, 9))])
def test_possible_pasts_are_all_that_have_a_probability(name, counts):
    """Without two ones in a row there are as many as Fibonacci's numbers."""
    process, depth, vocab = GENERATORS[name](), len(counts), 2 if name == "golden-mean" else 3
    found = possible_pasts(process, 5, sum(counts) + 1)
    assert found.sequences.shape == (counts[-1], 5)
    assert found.beliefs.shape[:2] == (counts[-1], depth)
    possible = []
    for word in itertools.product(range(vocab), repeat=depth):
        # The probability of each token, given the belief before it.
        before = beliefs(process, jnp.asarray(word))[:-1]
        steps = [process.log_probs(each)[token] for each, token in zip(before, word, strict=True)]
        possible += [word] * bool(np.isfinite(steps).all())
    assert sorted(map(tuple, found.sequences[:, :depth])) == sorted(possible)
    for word, reached in zip(found.sequences, found.beliefs, strict=True):
        after = np.exp(np.asarray(beliefs(process, jnp.asarray(word))))[1:]
        np.testing.assert_allclose(reached, after[:depth], atol=1e-6)
