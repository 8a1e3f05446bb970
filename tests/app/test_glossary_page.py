"""The Glossary draws all terms, and finds those that contain some words."""

import pytest

from attnlab.ui.core.glossary import TERMS
from tests.app.lessons import texts


@pytest.fixture
def page(app):
    return app.switch_page("pages/words.py").run()


def test_all_terms_are_drawn_with_their_anchors(page):
    drawn = [(heading.value, heading.anchor) for heading in page.subheader]
    assert drawn == [(term.name, term.anchor) for term in TERMS]
    assert all(term.text in texts(page) for term in TERMS)
    for name in ("Pause", "recall", "cards", "gru", "alibi", "causal"):
        assert f"**{name}** · " in texts(page)


def test_the_field_finds_terms_by_name_and_definition(page):
    def find(words):
        page.text_input(key="glossary_find").set_value(words).run()

    find(" ENTROPY ")
    names = [heading.value for heading in page.subheader]
    assert {"entropy", "effective keys", "floor"} <= {*names}
    assert "mask" not in names
    assert names[0] == "entropy"
    assert "[floor](#floor)" in texts(page)
    # Terms that are not shown have nothing to link to.
    find("turns real numbers")
    assert [heading.value for heading in page.subheader] == ["softmax"]
    assert "](#" not in texts(page)
    find("gated")
    assert not page.subheader
    assert "**gru** · " in texts(page)
    assert "**rnn** · " not in texts(page)
    find("teapot")
    assert not page.subheader
    assert "No term contains these words" in page.info[0].value
    find("")
    assert len(page.subheader) == len(TERMS)


def test_a_term_that_a_page_introduces_is_a_link(app):
    app.switch_page("pages/known_results.py").run()
    assert any("[accuracy](words#accuracy)" in words.value for words in app.caption)
