"""Sources as text: what is typed, what is shown, and what is refused."""

import itertools

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import TASKS, Cards, Copy, read_source, write_source

DECK = Cards(hand=4)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_shown_is_read_back(name):
    task = TASKS[name]()
    tokens = np.random.default_rng(0).permutation(task.vocabulary.size)[: task.source_length]
    tokens = np.resize(tokens, task.source_length)
    found = read_source(task, write_source(task, tokens))
    assert found.dtype == np.int32
    assert found.tolist() == tokens.tolist()
    assert read_source(task, task.vocabulary.render(tokens)).tolist() == tokens.tolist()


@pytest.mark.parametrize(
    "text", ["10♦ K♠ 2♥ a♣", "10d,kS 2h AC", "TD K\u2660\ufe0f, 2♡  A♧", " 10♦K♠2♥A♣ ", "tdks2hac"]
)
def test_cards_are_read_however_they_are_typed(text):
    ranks = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]
    deck = [f"{rank}{suit}" for suit, rank in itertools.product("♣♦♥♠", ranks)]
    assert [deck[card] for card in read_source(DECK, text)] == ["10♦", "K♠", "2♥", "A♣"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("7♠ 1♥ K♥ 2♦", r"`hand` is '1♥': not a card .*Use a rank \(2, 3, .*, K, A\) and a suit"),
        ("7♠ K♥ 2♦ joker", r"`hand` is 'joker': not a card"),
        ("7♠ K 2♦ 3♦", r"`hand` is 'K': not a card"),
        ("7♠ ♥K 2♦ 3♦", r"`hand` is '♥K': not a card"),
        ("7♠ K♥ 7S 2♦", r"`hand` is '7♠ K♥ 7S 2♦': 7♠ is in it 2 times.*Choose another card"),
        ("7♠ K♥ 2♦ 3♦ 4♦", r"`hand` is '.*': 5 cards, but a source has 4. Remove 1."),
        ("7♠", r"`hand` is '7♠': 1 card, but a source has 4. Add 3."),
        ("", r"`hand` is '': 0 cards, but a source has 4. Add 4."),
    ],
)
def test_hands_that_cannot_come_are_refused(text, told):
    with pytest.raises(OptionError, match=told):
        read_source(DECK, text)


def test_a_smaller_deck_knows_its_own_cards_alone():
    small = Cards(hand=2, suits=2, ranks=3)
    assert read_source(small, "AD QC").tolist() == [5, 0]
    with pytest.raises(OptionError, match=r"'J♦': .*\(Q, K, A\) .*\(♣ or C, ♦ or D\)"):
        read_source(small, "AD J♦")
    with pytest.raises(OptionError, match=r"`hand` is 'A♠'"):
        read_source(small, "AD A♠")


def test_letters_are_read_with_and_without_spaces():
    task = Copy(source_length=4, letters=3)
    for text in ("abca", "A B C A", "a,b,c,a", "Ab cA"):
        assert read_source(task, text).tolist() == [0, 1, 2, 0]
    with pytest.raises(OptionError, match=r"`source` is 'abda': not a letter .*letters a to c"):
        read_source(task, "abda")
    with pytest.raises(OptionError, match=r"`source` is 'abc': 3 letters, .* 4. Add 1."):
        read_source(task, "abc")
