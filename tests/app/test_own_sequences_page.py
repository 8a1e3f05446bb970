"""Own sequences on the pages: pasted, uploaded, bad ones, and what is said without a law."""

import pytest

from attnlab.ui.controls.own_text import MOST_TYPED_TEXT
from tests.unit.test_own_sequences import BAD


@pytest.fixture
def own(app):
    app.selectbox(key="generator").select("sequences").run()
    assert not app.exception
    return app


def words_of(app):
    return " ".join(
        str(each.value).replace("\\", "")
        for each in (*app.markdown, *app.caption, *app.error, *app.info)
    )


def test_what_was_understood_is_shown(own):
    own.text_area(key="sequences_text").set_value("ab" * 500 + "\na\u200fb\n").run()
    words = words_of(own)
    assert not own.exception
    assert "1 sequence of 1,000 tokens, 1,000 tokens in all. 2 symbols: a b." in words
    assert "1 line was not understood and left out" in words
    assert "U+200F in it is invisible" in words
    assert "floor" not in words.lower()
    assert "ceiling" not in words.lower()


# Texts that the box takes; longer ones are refused by the library in the same way.
TYPED = [name for name, (text, _) in BAD.items() if len(text) <= MOST_TYPED_TEXT]


def test_a_bad_text_is_refused_on_the_page_in_one_sentence(own):
    for name in TYPED:
        text, said = BAD[name]
        own.text_area(key="sequences_text").set_value(text).run()
        assert not own.exception, name
        assert said in words_of(own), name
    own.text_area(key="sequences_text").set_value("=1+1,b\nb,a\n" * 200).run()
    own.selectbox(key="sequences_tokens").select("commas").run()
    assert "200 lines were not understood" in words_of(own)
    assert "Line 1: '=1+1' is a formula; export values instead" in words_of(own)
