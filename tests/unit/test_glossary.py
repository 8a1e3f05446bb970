"""The Glossary: in order, in short sentences, and without links that lead nowhere."""

import re

import pytest

from attnlab.ui.core.glossary import TERMS, link_to
from tests.pages import PAGES, title_of

_MOST_WORDS = 22
_BY_NAME = {term.name: term for term in TERMS}


def test_the_terms_are_in_alphabetical_order_and_each_has_an_anchor_of_its_own():
    names = [term.name.casefold() for term in TERMS]
    assert names == sorted(names)
    assert len({term.anchor for term in TERMS}) == len(TERMS)
    assert link_to("KL divergence", "KL") == "[KL](words#kl-divergence)"


def test_it_has_the_terms_that_every_page_uses():
    known = {"nat", "entropy", "KL divergence", "softmax", "logit", "head", "residual connection"}
    assert known | {"seed", "standard error", "floor", "query", "token"} <= _BY_NAME.keys()


@pytest.mark.parametrize("name", _BY_NAME)
def test_a_definition_is_at_most_two_short_sentences_and_names_what_exists(name):
    term = _BY_NAME[name]
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z])", term.text)
    assert term.text.endswith(".")
    assert len(sentences) <= 2
    assert max(len(sentence.split()) for sentence in sentences) <= _MOST_WORDS
    assert {*term.see} <= _BY_NAME.keys() - {name}
    assert {*term.on.split(", ")} <= {title_of(page) for page in PAGES} - {"Glossary"}
    assert re.fullmatch(r"[a-z_]+(-[a-z_]+)*", term.anchor)
