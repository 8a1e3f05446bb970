"""The rule of a process in one sentence, against computed values, and the picture of the task."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
from attnlab.ui.train.task import Picture, picture_html, picture_of, true_probs

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
def test_a_picture_has_the_tokens_before_the_question_and_both_distributions():
    experiment = Experiment(generator=Markov(), model=TransformerOptions(), length=4)
    setup = prepare(experiment)
    tokens = np.asarray(setup.probes[0])
    picture = picture_of(
        experiment, tokens, {4}, setup.state.model, true_probs(Markov(), tuple(tokens.tolist()))
    )
    symbols = Markov.vocabulary.symbols
    assert picture.symbols == tuple(symbols[token] for token in tokens)
    assert (picture.marked, picture.number, picture.goes_on) == ({4}, 5, False)
    true = [each for *_, each in picture.chances]
    assert true == sorted(true, reverse=True)
    assert sum(true) == pytest.approx(1, abs=1e-6)
    assert sum(model for _, model, _ in picture.chances) == pytest.approx(1, abs=1e-6)


def test_the_picture_of_a_task_asks_for_its_first_target_token():
    process = Reverse(source_length=7)
    experiment = Experiment(
        generator=process, model=TransformerOptions(), length=13, training=Training(loss="next")
    )
    tokens = np.array([0, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1])
    true = true_probs(process, tuple(tokens.tolist()))
    picture = picture_of(experiment, tokens, set(), None, true)
    assert picture.symbols == tuple("abcdefg")
    assert (picture.marked, picture.number, picture.goes_on) == ({7}, 1, True)
    assert picture.chances == [("g", None, 1.0)]


def test_the_marks_are_those_of_the_sequence_where_each_has_sources_of_its_own():
    process = Induction(letters=4, repeats="pairs")
    experiment = Experiment(generator=process, model=TransformerOptions(), length=5)
    # The last letter also stands at position 2, or at 1; the answer is copied from the next one.
    for tokens, source in (([0, 3, 1, 2, 3], 3), ([3, 0, 1, 2, 3], 2)):
        assert picture_of(experiment, np.array(tokens), {1, 4}, None, None).marked == {source}


@pytest.mark.slow
def test_the_picture_asks_for_the_last_answer_not_for_what_is_not_tested():
    process = RecallPairs(pairs=2).at_length(15)
    experiment = Experiment(
        generator=process, model=TransformerOptions(), length=15, training=Training(loss="next")
    )
    for tokens in np.asarray(sample(process, key=jax.random.key(3), size=8, length=16)):
        true = true_probs(process, tuple(tokens[:-1].tolist()))
        picture = picture_of(experiment, tokens[:-1], set(), None, true)
        ((answer, _, chance),) = picture.chances
        (source,) = picture.marked
        assert (chance, answer) == (1.0, picture.symbols[source - 1])
        assert source <= 4
        # The key before the answer is the key before its source.
        assert picture.symbols[-1] == picture.symbols[source - 2]


def test_a_long_sequence_is_cut_but_keeps_what_is_marked():
    picture = Picture(("a",) * 40, {17, 30}, 41, goes_on=False, chances=())
    shown = re.findall(r'class="place">(\d+)<', picture_html(picture, word="day", dark=False))
    assert {"17", "30", "41", "40", "1"} <= set(shown)
    assert len(shown) <= 12


def test_symbols_of_the_user_are_text_in_the_picture():
    symbol = "<img src=x onerror=alert(1)>"
    picture = Picture((symbol,), {1}, 2, goes_on=False, chances=((symbol, 0.5, 0.5),))
    made = picture_html(picture, word="day", dark=True)
    assert "<img" not in made
    assert "&lt;img" in made
