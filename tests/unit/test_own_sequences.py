"""Own sequences: what is read and held out, and how good references and errors are."""

import itertools
import math
import time
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from attnlab import Experiment, evaluate, prepare, train
from attnlab.configuration.options import OptionError
from attnlab.generators import Custom, Even, GoldenMean, Markov, OwnSequences, sample
from attnlab.generators.context_tree import grow, weighted
from attnlab.generators.own_text import decode
from attnlab.inspection import in_words
from attnlab.inspection.what_happened import happened_in
from attnlab.models import TransformerOptions
from attnlab.models.generation import generate
from attnlab.models.inside import mean_trace
from attnlab.optimum import baselines_of, dependence, informative_of, optimum
from attnlab.optimum.sequences import mean_and_error
from attnlab.runs.links import from_query, to_query
from attnlab.runs.script import to_script
from attnlab.training.evaluation import exact_losses
from attnlab.training.experiment import from_json, to_json
from attnlab.training.shares import learned_share
from attnlab.training.steps import Training

TEXT = Path(__file__).parents[1] / "data" / "lighthouse.txt"
LETTERS = np.array([*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"])


def written(tokens) -> str:
    return "".join(LETTERS[np.asarray(tokens)])


# Of one kind for each reason that a text or a line can have; the words are those that are said.
BAD = {
    "empty": ("", "without any token"),
    "white space": (" \n\t\n ", "without any token"),
    "one symbol": ("aaaa\naa", "of one symbol, 'a'"),
    "a line of 5 MB": ("ab" * 2_500_000, "not a text of at most 1,000,000 characters"),
    "a million lines": ("a\n" * 1_000_000, "not a text of at most 1,000,000 characters"),
    "too many lines": ("a\nb\n" * 60_000, "of 120,001 lines, more than 100,000"),
    "NUL": ("ab\0ab", "not plain text, since it contains NUL characters"),
    "many symbols": ("".join(map(chr, range(0x4E00, 0x4E50))), "of 80 symbols, more than 64"),
    "many tokens": ("ab" * 200_000, "of 400,000 tokens, more than 300,000"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_refused_in_one_sentence_and_in_bounded_time(name):
    text, said = BAD[name]
    began = time.process_time()
    with pytest.raises(OptionError) as caught:
        OwnSequences(text=text)
    assert time.process_time() - began < 10
    message = str(caught.value)
    assert message.startswith("`text` is ")
    assert said in message
    assert len(message) < 300
    assert "\n" not in message


# Text, tokens, the sequences, and the lines that are not understood with a part of the reason.
READ = {
    "mixed line ends": ("ab\r\nba\rab\n\nb", "characters", ["ab", "ba", "ab", "b"], {}),
    "a byte-order mark": ("\ufeffab\nba", "characters", ["ab", "ba"], {}),
    "right to left": ("שלום\nאב\u200fא", "characters", ["שלום"], {2: "U+200F in it is invisible"}),
    "combining": ("e\u0301a\nq\u0301a\n\u0301a", "characters", ["éa", "q́a"], {3: "U+0301"}),
    "emoji": ("👍🏽👨‍👩‍👧☀️\n☀👍🏽", "characters", ["👍🏽 👨‍👩‍👧 ☀️", "☀️ 👍🏽"], {}),
    "white space": ("a  b\t\nb a", "characters", ["a␣b", "b␣a"], {}),
    "words": ("to be or\nnot to be", "words", ["to be or", "not to be"], {}),
    "numbers with commas": (
        '"1,5",2\n1,2',
        "commas",
        ["12"],
        {1: "'1,5' is a number with a comma"},
    ),
    "decimal commas": ("1,5;2\n1;2", "semicolons", ["12"], {1: "'1,5' is a number with a comma"}),
    "formula cells": ("=SUM(A1:A3),1\n1,0", "commas", ["10"], {1: "is a formula"}),
    "cells": ("a,b,,\na,,b\n", "commas", ["ab"], {2: "a cell is empty"}),
    "a long token": ("x" * 50 + ",y\ny,z", "commas", ["yz"], {1: "is longer than 40 characters"}),
}


@pytest.mark.parametrize("name", READ)
def test_every_line_is_understood_or_named(name):
    text, tokens, sequences, problems = READ[name]
    found = OwnSequences(text=text, tokens=tokens).understood
    parts = np.split(found.tokens, np.cumsum(found.lengths)[:-1])
    expected = [tuple(found.vocabulary.parse(each)) for each in sequences]
    assert [tuple(part.tolist()) for part in parts] == expected
    assert {each.line for each in found.problems} == set(problems)
    for problem in found.problems:
        assert problems[problem.line] in problem.reason
    assert f"{len(sequences)} sequence" in found.in_words()


def test_a_stream_joins_lines_and_is_cut_where_a_line_was_left_out():
    found = OwnSequences(text="ab\nba\na\u200bb\nbb", layout="stream").understood
    assert [*found.lengths] == [5, 2]
    assert found.vocabulary.render(found.tokens[:5]) == "ab␣ba"
    assert OwnSequences(text="Ab\naB", letters="lower case").vocabulary.symbols == ("a", "b")


def test_files_are_read_as_utf_8_or_16_and_nothing_else():
    assert decode("é\n".encode("utf-8-sig")) == decode("é\n".encode("utf-16")) == "é\n"
    with pytest.raises(OptionError, match="not text in UTF-8"):
        decode("é".encode("latin-1"))
    with pytest.raises(OptionError, match="longer than 4,000,000 bytes"):
        decode(b"a" * 4_000_001)


def brute_force(sequences, vocab, depth, context):
    """p(next token | context) as the mixture of all context trees, one after the other.

    The context has the most recent token first. Beyond the beginning of a sequence is one more
    symbol, which is a leaf.
    """

    def trees(level):
        yield ()
        if level < depth:
            yield from itertools.product([*trees(level + 1)], repeat=vocab)

    def prior(tree, level):
        if level == depth:
            return 1.0
        return 0.5 * math.prod(prior(part, level + 1) for part in tree)

    def leaf(tree, past):
        path = ()
        while tree:
            if len(path) >= len(past):
                return (*path, "start")
            path = (*path, past[len(path)])
            tree = tree[path[-1]]
        return path

    total = np.zeros(vocab)
    for tree in trees(0):
        counts, weight = {}, prior(tree, 0)
        for sequence in sequences:
            for place, token in enumerate(sequence):
                seen = counts.setdefault(leaf(tree, sequence[:place][::-1]), np.zeros(vocab))
                weight *= (seen[token] + 1 / vocab) / (seen.sum() + 1)
                seen[token] += 1
        seen = counts.get(leaf(tree, context), np.zeros(vocab))
        total += weight * (seen + 1 / vocab) / (seen.sum() + 1)
    return total / total.sum()


@pytest.mark.parametrize(("vocab", "depth", "size"), [(2, 3, 7), (3, 2, 9), (2, 2, 3)])
def test_context_tree_weighting_is_the_mixture_of_all_trees(vocab, depth, size):
    rng = np.random.default_rng(vocab + size)
    sequences = [tuple(rng.integers(vocab, size=size).tolist()) for _ in range(3)]
    since = np.tile(np.arange(size), 3)
    log_probs, after = weighted(grow(np.concatenate(sequences), since, vocab, depth))
    for context in itertools.product(range(vocab), repeat=depth):
        state = 0
        for token in context:
            state = after[state, token]
        expected = brute_force(sequences, vocab, depth, context[::-1])
        np.testing.assert_allclose(np.exp(log_probs[state]), expected, rtol=0, atol=1e-10)


TABLE = ((0.9, 0.1), (0.2, 0.8), (0.5, 0.5), (0.7, 0.3))
PROCESSES = (Markov(), Even(), GoldenMean(), Custom(symbols="a b", order=2, table=TABLE))


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_the_best_reference_comes_within_a_hundredth_of_the_floor(process):
    length = 10
    tokens = np.asarray(sample(process, key=jr.key(5), size=1, length=100_000))[0]
    own = OwnSequences(text=written(tokens)).at_length(length)
    held = own.held_out(length + 1)
    windows = held.sequences()[::3]
    # On the same windows, of which the loss itself has a larger error than 0.01.
    true = exact_losses(process.at_length(length), windows)
    assert abs((exact_losses(own, windows) - true).mean()) < 0.01
    best = optimum(own, length).final
    assert abs(best.nll - optimum(process, length).final.nll) < 4 * best.nll_stderr + 0.01
    assert baselines_of(own, length)[-1].name == "best reference"


# p(next | last) of a chain whose tokens depend on each other over some ten positions.
CHAIN = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.05, 0.25, 0.7]])


def chain_of(rng, size):
    up_to, state, tokens = CHAIN.cumsum(axis=1).tolist(), 0, []
    for uniform in rng.random(size + 100).tolist():
        state = sum(uniform >= share for share in up_to[state][:2])
        tokens.append(state)
    return np.array(tokens[100:])


@pytest.mark.slow
def test_the_interval_covers_the_expected_loss_of_the_reference():
    length, rng, covered = 8, np.random.default_rng(7), []
    stationary = np.linalg.matrix_power(CHAIN, 200)[0]
    floor = -(stationary[:, None] * CHAIN * np.log(CHAIN)).sum()
    other = chain_of(rng, 200_000)
    windows = np.lib.stride_tricks.sliding_window_view(other, length + 1)
    true = -np.log(CHAIN[windows[:, -2], windows[:, -1]])
    for _ in range(400):
        own = OwnSequences(text=written(chain_of(rng, 10_000))).at_length(length)
        best = optimum(own, length).final
        predictor, state = own.fitted().predictor, np.zeros(len(windows), int)
        for seen in range(length):
            state = predictor.after[state, windows[:, seen]]
        # Of other sequences, less the noise that the law has on them.
        expected = floor - (predictor.log_probs[state, windows[:, -1]] + true).mean()
        covered.append(abs(best.nll - expected) <= 1.96 * best.nll_stderr)
    assert 0.93 <= np.mean(covered) <= 0.97


def test_no_window_of_the_test_shares_tokens_with_training():
    # Of 64 symbols: six tokens in a row hardly occur twice.
    rng = np.random.default_rng(1)
    lines = [written(rng.integers(64, size=size)) for size in (4_000, 30, 700, 25, 3_000)]
    own = OwnSequences(text="\n".join(lines)).at_length(12)
    held = own.held_out(13)

    def sixes(rows):
        return {tuple(row[at : at + 6]) for row in rows.tolist() for at in range(8)}

    trained = np.asarray(sample(own, key=jr.key(0), size=40_000, length=13))
    tested = held.sequences()
    assert sixes(trained).isdisjoint(sixes(tested))
    all_of = {tuple(row) for line in lines for row in _windows(own, line)}
    # Every window of a block is one of a line, and most windows can be drawn.
    assert {*map(tuple, tested.tolist())} <= all_of
    assert len({*map(tuple, trained.tolist())}) > 0.6 * len(all_of)
    setup = prepare(Experiment(generator=own, length=12, training=Training(train_size=500)))
    assert len(setup.test) == held.begin.size == len({*map(tuple, np.asarray(setup.test).tolist())})


def _windows(own, line):
    tokens = tuple(map(own.vocabulary.symbols.index, line))
    return [tokens[at : at + 13] for at in range(len(tokens) - 12)]


def test_the_error_over_blocks_is_student_s():
    means = np.array([0.3, 0.5, 0.9, 0.4, 0.2])
    values, blocks = (
        np.repeat(means, 4) + np.tile([-0.1, 0.1, 0.05, -0.05], 5),
        np.repeat(range(5), 4),
    )
    found = mean_and_error(values, blocks)
    low, high = stats.t.interval(0.95, 4, loc=means.mean(), scale=stats.sem(means))
    assert found.value == pytest.approx(means.mean())
    assert 2 * stats.norm.ppf(0.975) * found.stderr == pytest.approx(high - low)


@pytest.fixture(scope="module")
def trained():
    """A run on a text with one letter that decides the next, and its words."""
    rng = np.random.default_rng(0)
    text = "".join("ab" * 2 if bit else "ccd" for bit in rng.random(1500) < 0.5)
    own = OwnSequences(text=text, layout="stream")
    training = Training(steps=600, train_size=2_000)
    experiment = Experiment(generator=own, length=8, training=training, model=TransformerOptions())
    setup = prepare(experiment)
    for event in train(experiment, setup):
        state = event.state
    tests = [
        (
            int(state.step),
            evaluate(
                state.model, setup.test, readout="last", exact=setup.exact, blocks=setup.blocks
            ),
        )
    ]
    return experiment, setup, state, tests


def test_a_run_is_compared_with_the_best_reference(trained):
    experiment, setup, state, tests = trained
    best = optimum(experiment.generator, experiment.length).final
    share = learned_share(tests[-1][1], best, experiment.generator.vocabulary.size)
    assert share is not None
    assert 0.9 < share.share < 1.1
    plain = evaluate(state.model, setup.test, readout="last", exact=setup.exact)
    assert plain.excess == pytest.approx(tests[-1][1].excess)
    names = [each.name for each in baselines_of(experiment.generator, experiment.length)]
    assert names[:3] == ["uniform", "unigram", "order-1"]
    assert "context tree weighting" in names
    assert "longest match" in names


def test_what_is_said_of_a_run_names_no_floor(trained):
    experiment, setup, state, tests = trained
    process, length = experiment.generator, experiment.length
    happened = happened_in(
        experiment,
        tests,
        baselines_of(process, length),
        informative=informative_of(process, length),
        trace=mean_trace(state.model, setup.probes),
        losses=(),
    )
    words = in_words(happened, experiment.model)
    assert "best reference" in words
    assert "floor" not in words
    assert "possible" not in words
    with pytest.raises(OptionError, match="No one knows the law of your own sequences"):
        dependence(process, length)


def test_a_short_text_is_in_a_link_and_a_long_one_is_said_to_be_missing():
    short = Experiment(generator=OwnSequences(text="ab,bab, a" * 100 + "\r\nb&b a"), length=3)
    link = from_query(to_query(short))
    assert link.experiment == short
    assert not link.notices
    long = Experiment(generator=OwnSequences(text="abbab" * 1_000), length=3)
    query = to_query(long)
    assert "abbab" not in str(query)
    link = from_query(query)
    assert link.experiment.generator.text == OwnSequences().text
    assert "does not contain its `text` (text of 5,000 characters" in link.notices[0]
    # A session that still has the text keeps it.
    assert from_query(query, {"sequences_text": long.generator.text}).experiment == long
    assert from_query(query, {"sequences_text": "abbab" * 999}).notices


def test_a_file_of_a_run_and_a_script_have_the_text(tmp_path, monkeypatch, capsys):
    long = Experiment(
        generator=OwnSequences(text="abbab" * 1_000),
        length=3,
        training=Training(steps=2, train_size=100),
    )
    assert from_json(to_json(long)) == long
    script = to_script(long)
    assert "abbab" not in script
    assert "as sequences.txt" in script
    (tmp_path / "sequences.txt").write_text(long.generator.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(script, "script", "exec"), names)
    assert names["experiment"] == long
    assert "test loss (nats)" in capsys.readouterr().out


def test_lengths_and_splits_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match=r"`length` is 100.* Choose at most 62"):
        Experiment(generator=OwnSequences(), length=100)
    with pytest.raises(OptionError, match="always tests on held-out blocks"):
        Experiment(generator=OwnSequences(), training=Training(split="distinct"))
    # The largest that is proposed is accepted.
    assert Experiment(generator=OwnSequences(), length=62).training.test_size >= 100


@pytest.mark.slow
def test_a_real_text_trains_and_continues_sensibly():
    own = OwnSequences.from_file(TEXT, layout="stream", letters="lower case")
    training = Training(
        steps=800, loss="next", data="fresh", batch=32, learning_rate=0.005, test_size=500
    )
    model = TransformerOptions(d_model=32, heads=4, layers=2, mlp_width=64)
    experiment = Experiment(generator=own, length=32, training=training, model=model)
    setup = prepare(experiment)
    for event in train(experiment, setup):
        state = event.state
    test = evaluate(state.model, setup.test, readout="last", blocks=setup.blocks)
    known = {each.name: each.best.nll for each in baselines_of(own, 32)}
    assert test.nll + 2 * test.nll_stderr < known["order-1"]
    # Most of the words that it writes are words of the text.
    start = np.asarray(setup.probes[:8])
    tokens = [
        generate(state.model, row, readout="last", days=80, temperature=0.7, key=jr.key(n))
        for n, row in enumerate(start)
    ]
    written_words = [w for row in tokens for w in own.vocabulary.render(row).split("␣")[1:-1]]
    words = {*TEXT.read_text(encoding="utf-8").lower().split()}
    assert np.mean([word in words for word in written_words]) > 0.6
