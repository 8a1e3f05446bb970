"""Words from outside as Markdown: the same letters, and nothing that Streamlit makes more of."""

import re

import hypothesis
import pytest
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnlab.configuration.options import OptionError, quoted
from attnlab.ui.core.outside import as_message, as_text

UNSEEN = "\N{WORD JOINER}"
# What Streamlit's front end looks for in the text that Markdown leaves.
MADE_MORE_OF = (
    r"https?://|www\.",
    r"[-.\w+]@[-\w]",
    r":\+1:|:-1:|:[\w-]+:",
    r":material_\w+:|:streamlit:",
    r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
)
# And before, in the Markdown itself, besides what the standard has.
MARKS_OF_ITS_OWN = r"(?<!\\)(?:\\\\)*[$~|\[]|:material/|:\w"
PIECES = st.sampled_from(
    ["http://", "https:", "//", "www", "WWW.", ".", "@", "a", "b.co", ":", "material/", "home",
     "smile", "+1", "-", ">", "<", "=", "~", "$", "`", "\\", "*", "_", "[", "]", "(", ")", "!", "#",
     "|", "1.", "12)", "&", "amp;", "&#58;", " ", "\n", "\n\n", "    ", "\t", "<br>", "{", "}",
     "^", "é", "🌧️"]
)  # fmt: skip


def shown(markdown: str) -> str:
    """What the standard's Markdown shows, if it is one paragraph of text alone."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    assert [token.type for token in tokens] in (
        [], ["paragraph_open", "inline", "paragraph_close"]
    )  # fmt: skip
    parts = tokens[1].children if tokens else []
    assert {part.type for part in parts} <= {"text", "text_special"}
    return "".join(part.content for part in parts)


@hypothesis.given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@hypothesis.example("_www.evil.example")
@hypothesis.example("a -> b <- c <-> d -- e >= f <= g ~= h")
def test_words_keep_their_letters_and_mean_nothing_else(words):
    # Markdown knows no character 0, and other lines than spaces are none of its matter.
    hypothesis.assume("\0" not in words)
    markdown = as_text(words)
    text = shown(markdown)
    assert text.replace(UNSEEN, "").split() == words.replace(UNSEEN, "").split()
    for pattern in MADE_MORE_OF:
        assert not re.search(pattern, text, re.ASCII | re.IGNORECASE), pattern
    assert not re.search(MARKS_OF_ITS_OWN, markdown, re.ASCII)
    assert "\n" not in markdown


def test_names_of_ours_are_code_in_a_message_and_values_are_not():
    error = OptionError("d_attn", "`x` www.b.co **y**", "wrong", "Choose `1` or less")
    message = as_message(str(error))
    assert re.findall("`(.*?)`", message) == ["d_attn", "1"]
    assert UNSEEN in message
    assert r"\*\*y\*\*" in message


@pytest.mark.parametrize("name", ["`x` :material/home:", "a" * 10_000, "http://b.co"])
def test_a_name_from_outside_is_quoted_too(name):
    message = str(OptionError(name, 1, "unknown", "Leave it out"))
    assert len(message) < 120
    assert message.count("`") == 2
    assert "http://" not in as_message(message)


@hypothesis.given(st.text())
def test_what_is_quoted_is_short_and_has_no_backtick(words):
    assert len(quoted(words)) <= 60
    assert "`" not in quoted(words)
