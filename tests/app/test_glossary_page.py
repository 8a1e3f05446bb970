"""The Glossary draws all terms, and finds those that contain some words."""

import pytest

from attnlab.ui.core.glossary import TERMS


@pytest.fixture
def page(app):
    return app.switch_page("pages/words.py").run()


def _texts(page) -> str:
    return "\n".join(drawn.value for drawn in page.markdown)


def test_all_terms_are_drawn_with_their_anchors(page):
    drawn = [(heading.value, heading.anchor) for heading in page.subheader]
    assert drawn == [(term.name, term.anchor) for term in TERMS]
    assert all(term.text in _texts(page) for term in TERMS)
    for name in ("Pause", "recall", "cards", "gru", "alibi", "causal"):
        assert f"**{name}** · " in _texts(page)


def test_the_field_finds_terms_by_name_and_definition(page):
    page.text_input(key="glossary_find").set_value(" ENTROPY ").run()
    names = [heading.value for heading in page.subheader]
    assert {"entropy", "effective keys", "floor"} <= {*names}
    assert "mask" not in names
    assert "[floor](#floor)" in _texts(page)
    # Terms that are not shown have nothing to link to.
    page.text_input(key="glossary_find").set_value("turns real numbers").run()
    assert [heading.value for heading in page.subheader] == ["softmax"]
    assert "](#" not in _texts(page)
    page.text_input(key="glossary_find").set_value("gated").run()
    assert not page.subheader
    assert "**gru** · " in _texts(page)
    assert "**rnn** · " not in _texts(page)


def test_words_that_occur_nowhere(page):
    page.text_input(key="glossary_find").set_value("teapot").run()
    assert not page.subheader
    assert "No term contains these words" in page.info[0].value
    page.text_input(key="glossary_find").set_value("").run()
    assert len(page.subheader) == len(TERMS)


def test_a_term_that_a_page_introduces_is_a_link(app):
    app.switch_page("pages/compare.py").run()
    assert "[seeds](words#seed)" in _texts(app)
