"""The rule of a process in one sentence, against computed values, and the shown sequence."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.film.sequence import likely_tokens, shown_sequence, true_probs
from attnlab.generators import (
    PROCESSES,
    Cards,
    Copy,
    Custom,
    DotMod,
    Induction,
    Markov,
    NDays,
    Recall,
    RecallPairs,
    Reverse,
    Shift,
    log_predictives,
    sample,
)
from attnlab.models import TransformerOptions
from attnlab.optimum import dependence, informative_positions
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.steps import Training

_MOST_WORDS = 22


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("length", [1, 7, 10])
def test_the_rule_of_every_process_is_one_or_two_short_sentences(name, length):
    words = PROCESSES[name]().rule_in_words(length)
    assert words.endswith(".")
    sentences = words[:-1].split(". ")
    assert len(sentences) <= 2
    for sentence in sentences:
        assert sentence[0].isupper()
        assert len(sentence.split()) <= _MOST_WORDS


@pytest.mark.parametrize("days", [(1, 4, 8), (2, 5), (3,)])
@pytest.mark.parametrize("length", [8, 10, 12])
def test_the_days_that_recall_names_are_those_that_matter(days, length):
    recall = Recall(days=days)
    found = informative_positions(dependence(recall, length))
    words = recall.rule_in_words(length)
    at, named = re.fullmatch(r"Day (\d+) depends on days? (.+), and on chance\.", words).groups()
    assert int(at) == length + 1
    assert [int(day) for day in re.findall(r"\d+", named)] == (np.flatnonzero(found) + 1).tolist()


def test_recall_counts_its_days_from_the_first_visible_one():
    assert Recall().rule_in_words(5) == (
        "Day 6 depends on days 1 and 5 and on a day before the visible ones, and on chance."
    )
    assert Recall(days=(1, 2)).rule_in_words(1) == (
        "Day 2 depends on day 1 and on a day before the visible ones, and on chance."
    )


@pytest.mark.parametrize(
    ("process", "back"),
    [(Markov(), 1), (Custom(), 1), (Custom(order=2, table=9 * ((0.2, 0.3, 0.5),)), 2)],
)
def test_only_the_last_tokens_matter_where_the_sentence_says_so(process, back):
    found = np.flatnonzero(informative_positions(dependence(process, 6))) + 1
    assert set(found) <= set(range(7 - back, 7))
    assert "only" in process.rule_in_words(6)


@pytest.mark.parametrize(("variant", "others"), [("described", (0, 2)), ("published", (1, 2))])
def test_only_the_weather_that_dotmod_names_counts(variant, others):
    process = DotMod(n=4, variant=variant)
    tokens = sample(process, key=jax.random.key(0), size=8, length=9)
    one, other = others
    swapped = jnp.where(tokens == one, other, jnp.where(tokens == other, one, tokens))
    for row, changed in zip(tokens, swapped, strict=True):
        np.testing.assert_allclose(
            log_predictives(process, row)[-1], log_predictives(process, changed)[-1], atol=1e-5
        )
    counts = {"cloudy": 1, "rainy": 0}
    named = next(word for word in counts if word in process.rule_in_words(9))
    assert counts[named] not in others


def test_frequent_weathers_are_less_likely_with_ndays():
    process = NDays(n=5)
    tokens = jnp.array([0, 0, 0, 1, 1, 2])
    probs = np.exp(log_predictives(process, tokens)[-1])
    assert probs[0] < probs[1] < probs[2]


def test_the_sentences_of_tasks_agree_with_their_targets():
    source = jnp.array([3, 1, 4, 1, 5])
    assert Copy(source_length=5).target_of(source).tolist() == source.tolist()
    assert Reverse(source_length=5).target_of(source).tolist() == source.tolist()[::-1]
    shift = Shift(source_length=5, places=2)
    assert shift.target_of(source).tolist() == [1, 5, 3, 1, 4]
    assert shift.rule_in_words(9) == "Write the 5 letters again, but the last 2 come first."
    # Token 14 is the three of diamonds, token 0 the two of clubs.
    hand = jnp.array([14, 0])
    assert Cards(hand=2).target_of(hand).tolist() == [0, 14]
    assert "lowest rank first" in Cards(hand=2).rule_in_words(3)


def test_the_truth_beside_the_picture_is_the_row_of_the_table():
    process = Markov()
    probs = true_probs(process, (0, 2, 1))
    np.testing.assert_allclose(probs[3], process.transition[1], atol=1e-6)
    np.testing.assert_allclose(probs[0], process.initial, atol=1e-6)


@pytest.mark.slow
def test_both_distributions_are_of_the_token_after_the_sequence():
    experiment = Experiment(generator=Markov(), model=TransformerOptions(), length=4)
    setup = prepare(experiment)
    tokens = np.asarray(setup.probes[0])
    shown = shown_sequence(experiment, tokens, {4})
    assert (shown.seen, shown.marked, shown.number, shown.query) == (4, (4,), 5, 3)
    learned = shown.probs(experiment, setup.state.model)
    logits, _ = setup.state.model(jnp.asarray(tokens), jnp.array([3]))
    np.testing.assert_allclose(learned, jax.nn.softmax(logits[0]), atol=1e-6)
    true = true_probs(Markov(), tuple(tokens.tolist()))[shown.seen]
    likely = [true[token] for token in likely_tokens(true, 3)]
    assert likely == sorted(likely, reverse=True)


def test_a_task_asks_for_its_first_target_token():
    process = Reverse(source_length=7)
    experiment = Experiment(
        generator=process, model=TransformerOptions(), length=13, training=Training(loss="next")
    )
    tokens = np.array([0, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1])
    shown = shown_sequence(experiment, tokens, set())
    assert (shown.seen, shown.marked, shown.number) == (7, (7,), 1)
    true = true_probs(process, tuple(tokens.tolist()))[shown.seen]
    assert likely_tokens(true, 5) == [6]
    assert true[6] == 1


def test_the_marks_are_those_of_the_sequence_where_each_has_sources_of_its_own():
    process = Induction(letters=4, repeats="pairs")
    experiment = Experiment(generator=process, model=TransformerOptions(), length=5)
    # The last letter also stands at position 2, or at 1; the answer is copied from the next one.
    for tokens, source in (([0, 3, 1, 2, 3], 3), ([3, 0, 1, 2, 3], 2)):
        assert shown_sequence(experiment, np.array(tokens), {1, 4}).marked == (source,)


@pytest.mark.slow
def test_the_last_answer_is_asked_for_not_what_is_not_tested():
    process = RecallPairs(pairs=2).at_length(15)
    experiment = Experiment(
        generator=process, model=TransformerOptions(), length=15, training=Training(loss="next")
    )
    for tokens in np.asarray(sample(process, key=jax.random.key(3), size=8, length=16)):
        true = true_probs(process, tuple(tokens[:-1].tolist()))
        shown = shown_sequence(experiment, tokens[:-1], set())
        (answer,) = likely_tokens(true[shown.seen], 5)
        (source,) = shown.marked
        assert (true[shown.seen][answer], answer) == (1.0, tokens[source - 1])
        assert source <= 4
        # The key before the answer is the key before its source.
        assert tokens[shown.seen - 1] == tokens[source - 2]
