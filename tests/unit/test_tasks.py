"""Tasks know their own law, their floor, and where each target token comes from."""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from attnlab.command_line.cli import main
from attnlab.configuration.options import OptionError
from attnlab.generators import (
    TASKS,
    Cards,
    Copy,
    Markov,
    Shift,
    Sort,
    is_source,
    sample,
    true_dependence,
)
from attnlab.models import EncoderDecoderOptions, LinearOptions, TransformerOptions
from attnlab.optimum import baselines_of, dependence, frequencies, optimum
from attnlab.runs.links import from_query, to_query
from attnlab.runs.option_texts import read_experiment
from attnlab.testing import check_process
from attnlab.training.experiment import PROBES, Experiment, from_json, prepare, to_json
from attnlab.training.shares import share_in_training
from attnlab.training.steps import Training
from tests.unit.task_oracles import CASES, joint_of, sources_of, target_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")

every_case = pytest.mark.parametrize("name", CASES)
SIGMAS = 4.5


def predictive_rows(law):
    """For each number of tokens seen: p(they came), and p(next | they came) where they can."""
    for seen in range(law.ndim):
        joint = law.sum(axis=tuple(range(seen + 1, law.ndim)))
        came = joint.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            yield came, joint / came[..., None]


def mapped(function, sources):
    return np.asarray(jax.jit(jax.vmap(function))(jnp.array(sources)))


def test_every_task_has_a_case():
    assert {type(case.task) for case in CASES.values()} == set(TASKS.values())


@every_case
def test_a_task_holds_the_laws_and_agrees_with_enumeration(name):
    case = CASES[name]
    check_process(case.task, joint=lambda length: joint_of(case), draws=20_000, plain=False)


@every_case
def test_floor_and_ceiling_agree_with_enumeration(name):
    task = CASES[name].task
    best = optimum(task, task.own_length())
    for found, (came, rows) in zip(
        best.by_position, predictive_rows(joint_of(CASES[name])), strict=True
    ):
        safe = np.where(rows > 0, rows, 1)
        nll = np.nansum(came[..., None] * -safe * np.log(safe))
        assert found.nll == pytest.approx(nll, abs=1e-9)
        assert found.accuracy == pytest.approx(np.nansum(came * rows.max(axis=-1)))
    assert best.exact
    assert best.final.nll == pytest.approx(task.floor())
    unigram = baselines_of(task, task.own_length())[1].best
    pooled = sum(
        joint_of(CASES[name]).sum(
            axis=tuple(axis for axis in range(2 * task.source_length) if axis != place)
        )
        for place in range(task.source_length, 2 * task.source_length)
    )
    assert unigram.accuracy == pytest.approx(pooled.max() / task.source_length)


@every_case
def test_sources_and_targets_are_counted(name):
    case = CASES[name]
    sources = sources_of(case)
    assert case.task.sources() == len(sources)
    assert case.task.targets() == len({target_of(case, source) for source in sources})


@every_case
def test_alignment_is_where_a_token_is_taken_from(name):
    case = CASES[name]
    some = sources_of(case)[::5]
    for source, found in zip(some, mapped(case.task.true_alignment, some), strict=True):
        for row, place in zip(found, case.places(source), strict=True):
            # Equal letters differ only in position, which sorting ignores.
            alike = [i for i, token in enumerate(source) if token == source[place]]
            expected = alike if isinstance(case.task, Sort | Cards) else [place]
            assert np.flatnonzero(row).tolist() == expected


@every_case
def test_dependence_is_what_other_tokens_change(name):
    case, vocab = CASES[name], CASES[name].task.vocabulary.size
    possible = set(sources_of(case))
    some = sources_of(case)[::7]
    maps = mapped(functools.partial(true_dependence, case.task), some)
    for source, found in zip(some, maps, strict=True):
        true, count = target_of(case, source), len(source)
        expected = np.zeros((count, count), dtype=bool)
        for place in range(count):
            for token in range(vocab):
                changed = (*source[:place], token, *source[place + 1 :])
                if changed not in possible:
                    continue
                other = target_of(case, changed)
                for row in range(count):
                    if other[:row] == true[:row] and other[row] != true[row]:
                        expected[row, place] = True
        np.testing.assert_array_equal(found, expected)


def test_hands_of_a_whole_deck_are_alike_and_have_no_card_twice():
    drawn = np.asarray(sample(Cards(), key=jr.key(1), size=20_000, length=10))
    assert all(len(set(hand)) == 5 for hand in drawn[:2_000, :5].tolist())
    for place in range(5):
        counts = np.bincount(drawn[:, place], minlength=52)
        spread = np.sqrt(20_000 / 52 * 51 / 52)
        assert (np.abs(counts - 20_000 / 52) < SIGMAS * spread).all()
    assert not is_source(Cards(), jnp.array([3, 1, 3, 2, 0]))
    assert is_source(Cards(), jnp.array([3, 1, 4, 2, 0]))


def test_true_dependence_of_small_tasks_is_in_the_map():
    task = Copy(source_length=2, letters=2)
    maps = dependence(task, 3)
    assert maps.exact
    # The first target token follows at the end of the source, the second one behind it.
    np.testing.assert_allclose(maps.replacement[1], [0.5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(maps.replacement[2], [0, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(maps.information[2], [0, np.log(2), 0], atol=1e-6)


def test_frequencies_of_a_task_are_counted():
    known = frequencies(Cards(hand=2, suits=2, ranks=2), 3)
    assert not known.exact
    # The lower of two of four cards: 3, 2 and 1 of 6 pairs, by rank then suit.
    expected = np.array([3, 1, 2, 0]) / 6
    assert (np.abs(known.days[2] - expected) <= SIGMAS * known.days_stderr[2] + 1e-9).all()


@pytest.mark.parametrize("name", TASKS)
def test_an_experiment_takes_the_length_of_its_task(name):
    task = TASKS[name]()
    experiment = Experiment(generator=task)
    assert experiment.length == 2 * task.source_length - 1
    # The option that its control stands for.
    larger = dataclasses.replace(task, **{task.size_option: task.source_length + 1})
    assert larger.source_length == task.source_length + 1
    assert from_json(to_json(experiment)) == experiment
    link = from_query(to_query(experiment))
    assert (link.experiment, link.notices) == (experiment, ())
    with pytest.raises(OptionError, match=r"`length` is 4: .*Choose"):
        optimum(task, 4)


def test_a_length_beside_a_task_is_refused_where_it_is_another():
    given = {"generator": "cards", "hand": "3"}
    assert read_experiment(Experiment(), {**given, "length": "5"}).length == 5
    with pytest.raises(OptionError, match=r"`length` is 6: .*Choose 5"):
        read_experiment(Experiment(), {**given, "length": "6"})


SMALL_DECK = Experiment(
    generator=Cards(hand=3, suits=2, ranks=5),
    training=Training(loss="next", train_size=500, test_size=150),
)


@pytest.mark.slow
def test_no_source_of_training_is_tested():
    setup = prepare(SMALL_DECK)
    rows = [np.asarray(part)[:, :3] for part in (setup.source.sequences, setup.test, setup.probes)]
    assert [len(part) for part in rows] == [500, 150, PROBES]
    assert len({tuple(row) for part in rows for row in part.tolist()}) == 682
    assert setup.prompt_length == 3


@pytest.mark.slow
def test_too_few_sources_are_refused():
    # 10 · 9 · 8 = 720 hands.
    whole = dataclasses.replace(SMALL_DECK.training, test_size=188)
    assert len(prepare(dataclasses.replace(SMALL_DECK, training=whole)).test) == 188
    more = dataclasses.replace(whole, test_size=189)
    with pytest.raises(OptionError, match=r"`test_size` is 189: .*720.*at most 188"):
        dataclasses.replace(SMALL_DECK, training=more)
    with pytest.raises(OptionError, match=r"`test_size` is 600: .*fresh data"):
        dataclasses.replace(
            SMALL_DECK, training=Training(loss="next", train_size=650, test_size=600)
        )
    fresh = dataclasses.replace(more, data="fresh")
    dataclasses.replace(SMALL_DECK, training=fresh)


def test_the_share_of_sources_in_training():
    full = dataclasses.replace(SMALL_DECK.training, batch_mode="full")
    assert share_in_training(dataclasses.replace(SMALL_DECK, training=full)) == 500 / 720
    few = dataclasses.replace(SMALL_DECK.training, steps=10, batch=30)
    drawn = np.random.default_rng(1).integers(500, size=(400, 300))
    shares = np.array([len(set(row)) for row in drawn.tolist()]) / 720
    expected = share_in_training(dataclasses.replace(SMALL_DECK, training=few))
    assert abs(shares.mean() - expected) < SIGMAS * shares.std() / np.sqrt(len(shares))
    fresh = Training(data="fresh", steps=3, batch=100, test_size=150)
    expected = share_in_training(dataclasses.replace(SMALL_DECK, training=fresh))
    drawn = np.random.default_rng(0).integers(720, size=(400, 300))
    shares = np.array([len(set(row)) for row in drawn.tolist()]) / 720
    assert abs(shares.mean() - expected) < SIGMAS * shares.std() / np.sqrt(len(shares))
    with pytest.raises(OptionError, match=r"`generator` is 'markov'"):
        share_in_training(Experiment())


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"generator": Markov(), "model": EncoderDecoderOptions()}, "model"),
        ({"generator": Cards(), "model": LinearOptions()}, "model"),
        ({"generator": Cards(), "model": TransformerOptions(mask="none")}, "model"),
    ],
)
def test_models_that_cannot_write_a_target_are_refused(options, name):
    with pytest.raises(OptionError, match=rf"`{name}` is .*Choose"):
        Experiment(**options)


def test_options_that_make_no_task_are_refused():
    with pytest.raises(OptionError, match=r"`hand` is 5: the deck has 4 cards"):
        Cards(suits=2, ranks=2)
    with pytest.raises(OptionError, match=r"`places` is 4: .*at most 3"):
        Shift(source_length=4, places=4)


@pytest.mark.slow
def test_a_task_is_sampled_as_source_and_target(capsys):
    assert main(["sample", "reverse", "--source-length", "4", "--size", "3"]) == 0
    for line in capsys.readouterr().out.splitlines():
        source, target = line.split(" → ")
        assert target == source[::-1]


@pytest.mark.slow
def test_the_command_line_trains_on_a_task(capsys):
    arguments = ["train", "--task", "cards", "--hand", "2", "--model", "rnn-bottleneck"]
    sizes = ["--steps", "2", "--batch", "10", "--test-size", "100", "--json"]
    assert main([*arguments, *sizes]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["experiment"]["training"]["loss"] == "next"
    assert 0 <= report["exact_match"] <= report["token_accuracy"] == report["test_accuracy"]
    assert report["exact_match_stderr"] > 0
    assert [row["position"] for row in report["by_target_position"]] == [1, 2]
    nll = np.mean([row["nll"] for row in report["by_target_position"]])
    assert nll == pytest.approx(report["test_nll"], rel=1e-5)
    assert (report["floor"], report["sources"]) == (0, 52 * 51)
