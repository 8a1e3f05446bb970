"""Text of symbols and of sources, and back."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.configuration.options import OptionError
from attnlab.generators import TASKS, Cards, Copy, read_source, write_source
from attnlab.generators.vocabulary import WEATHER, Vocabulary

CARDS = Vocabulary(symbols=("1", "10", "J"), names=("one", "ten", "jack"))


@hypothesis.given(tokens=st.lists(st.integers(0, 2)))
def test_parsing_undoes_rendering(tokens):
    assert WEATHER.parse(WEATHER.render(tokens)) == tuple(tokens)


@hypothesis.given(tokens=st.lists(st.integers(0, 2)), gap=st.sampled_from([" ", ", ", "\n", "\t"]))
def test_gaps_between_symbols_do_not_count(tokens, gap):
    text = gap.join(WEATHER.symbols[token] for token in tokens)
    assert WEATHER.parse(f" {text} ") == tuple(tokens)


@hypothesis.given(text=st.text(max_size=8))
def test_any_text_is_parsed_or_refused(text):
    try:
        tokens = WEATHER.parse(text)
    except ValueError as error:
        message = str(error)
        assert message.startswith("`text` has ")
        assert WEATHER.symbols[0] in message
    else:
        assert WEATHER.parse(WEATHER.render(tokens)) == tokens


@pytest.mark.parametrize("text", ["🌧☁☀", "🌧️☁️☀️", "🌧️☁☀️", "🌧, ☁️ ☀"])
def test_the_mark_of_the_emoji_form_may_be_left_out(text):
    assert WEATHER.parse(text) == (0, 1, 2)


def test_an_unknown_symbol_is_named_with_its_place_and_the_remedy():
    with pytest.raises(ValueError, match=r"snowman.* after 2 symbols.*Use '🌧️ ☁️ ☀️'\."):
        WEATHER.parse("☀️☀️⛄☀️".replace("⛄", "☃"))


def test_a_symbol_that_begins_like_another_is_not_cut_short():
    assert CARDS.parse("10 1 J 110") == (1, 0, 2, 0, 1)


@pytest.mark.parametrize(
    ("symbols", "names", "message"),
    [
        (("a", "a"), ("x", "y"), "`symbols`.*different"),
        (("☁", "☁️"), ("x", "y"), "`symbols`.*different"),
        (("a", " "), ("x", "y"), "`symbols`.*visible"),
        (("a", "b"), ("x",), "`names` has 1 entries for 2 symbols"),
    ],
)
def test_alphabets_that_cannot_be_read_back_are_refused(symbols, names, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(symbols=symbols, names=names)


# What joins, pairs up, colours or composes what is beside it.
PIECES = [
    "a", "b", "ab", "é", "1", "10", ",", "👍", "🏽", "👩", "👩‍🚀",
    "🇩", "🇪", "🇫🇷", "🏴", "ᄀ", "ᅡ", "☀️",
]  # fmt: skip


def vocabulary_of(*symbols):
    return Vocabulary(symbols=symbols, names=symbols)


@hypothesis.given(data=st.data())
def test_any_rendered_text_is_read_back(data):
    word = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)
    symbols = data.draw(st.lists(word, min_size=2, max_size=5))
    try:
        vocabulary = vocabulary_of(*symbols)
    except ValueError:
        return
    tokens = tuple(data.draw(st.lists(st.integers(0, vocabulary.size - 1), max_size=6)))
    assert vocabulary.parse(vocabulary.render(tokens)) == tokens


@pytest.mark.parametrize(
    "symbols",
    ["a ab b", "1 10 0", "a ab bc c", "🇩 🇪 🇩🇪", "🇩 x", "👍 🏽", "ᄀ ᅡ", "a b ab", "high low"],
)
def test_symbols_that_could_be_misread_have_spaces_between_them(symbols):
    vocabulary = vocabulary_of(*symbols.split())
    assert vocabulary.render(range(vocabulary.size)) == symbols


@pytest.mark.parametrize(
    "symbols",
    ["a b c", "a ab", "🇫🇷 🇩🇪", "👍🏽 👍", "👩 👩‍🚀", "1️⃣ 2️⃣ 3", "1 10 J", "🏴 🏳️‍🌈"],
)
def test_other_symbols_are_joined(symbols):
    vocabulary = vocabulary_of(*symbols.split())
    assert vocabulary.render(range(vocabulary.size)) == symbols.replace(" ", "")


@pytest.mark.parametrize("twice", ["é e\u0301", "Å \u212b", "Ω \u2126", "K \u212a", "가 가", "❤ ❤️"])
def test_symbols_that_look_equal_are_equal(twice):
    with pytest.raises(ValueError, match="different from the others"):
        vocabulary_of(*twice.split(), "x")
    one, other = twice.split()
    assert vocabulary_of(one, "x").parse(f"{other}x") == (0, 1)


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
    ("text", "message"),
    [
        ("7♠ 1♥ K♥ 2♦", r"`hand` is '1♥': not a card .*Use a rank \(2, 3, .*, K, A\) and a suit"),
        ("7♠ K♥ 2♦ joker", r"`hand` is 'joker': not a card"),
        ("7♠ K 2♦ 3♦", r"`hand` is 'K': not a card"),
        ("7♠ ♥K 2♦ 3♦", r"`hand` is '♥K': not a card"),
        ("7♠ K♥ 7S 2♦", r"`hand` is '7♠ K♥ 7S 2♦': 7♠ occurs 2 times.*Choose another card"),
        ("7♠ K♥ 2♦ 3♦ 4♦", r"`hand` is '.*': 5 cards, but a source has 4. Remove 1."),
        ("7♠", r"`hand` is '7♠': 1 card, but a source has 4. Add 3."),
        ("", r"`hand` is '': 0 cards, but a source has 4. Add 4."),
    ],
)
def test_hands_that_cannot_come_are_refused(text, message):
    with pytest.raises(OptionError, match=message):
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
