"""Untrusted text on the screen: always shown as plain text, never as layout, link or image.

A link, a file, a control or a lesson may contain any text, and nearly everything that Streamlit
draws is Markdown. All such text passes through a function of this module.
"""

import re

import streamlit as st

# Characters with a meaning in Markdown, including its tables and formulas.
_MARKS = re.compile(r"[\\`*_{}\[\]<>#+\-=$|~^&]")
# Text that Streamlit still interprets after unescaping: the start of an address or a numbered list,
# names of icons, emoji and colours, and arrows such as ->.
_BEGINNINGS = re.compile(r":(?=\S)|www(?=\.)|\S(?=@)|[-<>~](?=[-=>])|^ ?\d+(?=[.)])", re.IGNORECASE)
# A character of zero width that does not break the line.
_JOINER = "\N{WORD JOINER}"
_SPACES = re.compile(r"\s+")
FAULT = "This is a fault of attnlab. Please report it with the server log."
_CODE = re.compile(r"`([^`:\n]+)`")


def as_text(words: str) -> str:
    """Return Markdown that shows exactly this text on one line.

    Letters are kept. Other characters get a backslash or, where Streamlit interprets the unescaped
    text a second time, an invisible character.
    """
    line = _SPACES.sub(" ", words)
    return _MARKS.sub(r"\\\g<0>", _BEGINNINGS.sub(rf"\g<0>{_JOINER}", line))


def as_message(words: str) -> str:
    """Return Markdown of a message of attnlab: text in backticks is code, the rest is plain text.

    Untrusted values in the message contain no backticks: `options.quoted` removes them.
    """
    parts = _CODE.split(words)
    return "".join(f"`{part}`" if i % 2 else as_text(part) for i, part in enumerate(parts))


def draw_error(words: str, *, icon: str = ":material/error:") -> None:
    """Draw an error message, which may quote untrusted text."""
    st.error(as_message(words), icon=icon)


def draw_warning(words: str, *points: str, icon: str) -> None:
    """Draw a warning, with each point on a line below it; both may quote untrusted text."""
    st.warning("\n- ".join(map(as_message, (words, *points))), icon=icon)


def draw_toast(words: str) -> None:
    """Draw an error that disappears after a few seconds and may quote untrusted text."""
    st.toast(as_message(words), icon=":material/error:")


def draw_lesson_words(title: str, text: str, *, key: str) -> None:
    """Draw a lesson's text in a container with that `key`.

    Emphasis, lists, code and line breaks are shown; links, images and HTML appear as plain text.
    """
    # Most pages have no lesson, and this import takes 0.1 s.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable(
        ["backticks", "emphasis", "escape", "list", "newline"]
    )
    heading = f"<h2>{parser.renderInline(title)}</h2>" if title else ""
    with st.container(key=key):
        st.html(heading + parser.render(text))
