"""Untrusted text on the screen: always shown as plain text, never as layout, link or image.

A link, a file, a control or a lesson may contain any text, and nearly everything that Streamlit
draws is Markdown. All such text passes through a function of this module.
"""

import re

import streamlit as st

# Characters with a meaning in Markdown, tables and formulas included.
_MARKS = re.compile(r"[\\`*_{}\[\]<>#+\-=$|~^&]")
# What Streamlit still interprets after unescaping: beginnings of addresses and numbered lists,
# names of icons, emoji and colours, and arrows made of signs.
_BEGINNINGS = re.compile(r":(?=\S)|www(?=\.)|\S(?=@)|[-<>~](?=[-=>])|^ ?\d+(?=[.)])", re.IGNORECASE)
# A character of zero width that does not break the line.
_JOINER = "\N{WORD JOINER}"
_SPACES = re.compile(r"\s+")
_CODE = re.compile(r"`([^`:\n]+)`")


def as_text(words: str) -> str:
    """Return Markdown that shows exactly this text on one line.

    Letters stay as they are. Other characters get a backslash or, where Streamlit interprets the
    result once more, an invisible character.
    """
    line = _SPACES.sub(" ", words)
    return _MARKS.sub(r"\\\g<0>", _BEGINNINGS.sub(rf"\g<0>{_JOINER}", line))


def as_message(words: str) -> str:
    """Return Markdown of a message of attnlab: names in backticks are code, the rest is plain text.

    Untrusted values in it are quoted by `options.quoted`, which removes backticks.
    """
    parts = _CODE.split(words)
    return "".join(f"`{part}`" if i % 2 else as_text(part) for i, part in enumerate(parts))


def draw_error(words: str, *, icon: str = ":material/error:") -> None:
    """Draw an error message, which may quote untrusted text."""
    st.error(as_message(words), icon=icon)


def draw_warning(words: str, *points: str, icon: str) -> None:
    """Draw a warning, which may quote untrusted text, with each point on a line below it."""
    st.warning("\n- ".join(map(as_message, (words, *points))), icon=icon)


def draw_toast(words: str) -> None:
    """Draw an error that disappears after a while, which may quote untrusted text."""
    st.toast(as_message(words), icon=":material/error:")


def draw_lesson_words(title: str, text: str, *, key: str) -> None:
    """Draw a lesson's text with emphasis, lists, code and line breaks, but nothing to click.

    It is in a container with that `key`.
    """
    # Most pages have no lesson, and this import takes 0.1 s.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable(
        ["backticks", "emphasis", "escape", "list", "newline"]
    )
    heading = f"<h2>{parser.renderInline(title)}</h2>" if title else ""
    with st.container(key=key):
        st.html(heading + parser.render(text))
