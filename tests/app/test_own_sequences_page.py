"""Own sequences on the pages: pasted, uploaded, bad ones, and what is said without a law."""

import pytest


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
