"""Words from outside on the screen: shown letter by letter, never as layout, link or picture.

A link, a file, a control or a lesson may hold any words, and nearly all that Streamlit draws is
Markdown. What may hold such words goes through a function of this file.
"""

import re

import streamlit as st

# What Markdown acts upon, with its tables and its formulas.
_MARKS = re.compile(r"[\\`*_{}\[\]<>#+\-=$|~^&]")
# What is still taken for more than letters when the backslashes are gone: beginnings of addresses
# and of numbered lists, names of icons, emoji and colours, arrows made of signs.
_BEGINNINGS = re.compile(r":(?=\S)|www(?=\.)|\S(?=@)|[-<>~](?=[-=>])|^ ?\d+(?=[.)])", re.IGNORECASE)
# Takes no room, and breaks no line.
_JOINER = "\N{WORD JOINER}"
_SPACES = re.compile(r"\s+")
_CODE = re.compile(r"`([^`:\n]+)`")


def as_text(words: str) -> str:
    """Markdown that shows exactly these words, on one line, wherever Streamlit takes Markdown.

    Letters stay as they are; what could be more than a letter gets a backslash or, where Streamlit
    looks at the words once more behind Markdown, a character that nobody sees.
    """
    line = _SPACES.sub(" ", words)
    return _MARKS.sub(r"\\\g<0>", _BEGINNINGS.sub(rf"\g<0>{_JOINER}", line))


def as_message(words: str) -> str:
    """Markdown of a message of ours: names between backticks are code, all else is text.

    Values from outside stand in it by `quoted` of the options, which leaves no backtick.
    """
    parts = _CODE.split(words)
    return "".join(f"`{part}`" if i % 2 else as_text(part) for i, part in enumerate(parts))


def draw_error(words: str, *, icon: str = ":material/error:") -> None:
    """An error, in words of ours that may quote others."""
    st.error(as_message(words), icon=icon)


def draw_warning(words: str, *points: str, icon: str) -> None:
    """A warning, in words of ours that may quote others; each of the points is a line below it."""
    st.warning("\n- ".join(map(as_message, (words, *points))), icon=icon)


def draw_toast(words: str) -> None:
    """An error that goes away by itself, in words of ours that may quote others."""
    st.toast(as_message(words), icon=":material/error:")


def draw_lesson_words(title: str, text: str, *, key: str) -> None:
    """The words of a lesson, with emphasis, lists, code and line breaks, and nothing to click.

    They stand in a container of that `key`.
    """
    # Most visitors come without a lesson, and this takes a tenth of a second.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable(
        ["backticks", "emphasis", "escape", "list", "newline"]
    )
    heading = f"<h2>{parser.renderInline(title)}</h2>" if title else ""
    with st.container(key=key):
        st.html(heading + parser.render(text))
