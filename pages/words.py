"""Glossary: the terms used on the other pages."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import streamlit as st

from attnlab.attention import MASKS
from attnlab.generators import GENERATORS, TASKS
from attnlab.models import ALL_MODELS
from attnlab.models.base import READOUTS
from attnlab.positions import POSITIONS
from attnlab.training.losses import LOSSES
from attnlab.ui.core.display import TRAIN_PAGE
from attnlab.ui.core.glossary import TERMS, Term, contains
from attnlab.ui.lessons.kit import beside
from attnlab.ui.shell import GROUPS, ensure_shell

ensure_shell()
_BUTTONS = {
    "Start": "(key S) trains to the last step. After a pause it is called Continue.",
    "Pause": "(P) stops within a tenth of a second, or after the current step if it takes longer. "
    "It keeps everything.",
    "Step": "(N) pauses, then trains for exactly one step.",
    "Reset": "(B) applies changed settings and returns to step 0. Without changes, data and "
    "initial weights stay the same.",
    "New seed": "(D) draws another seed and resets.",
}
_GROUPS = {
    "Buttons of a run": _BUTTONS,
    "Generators": {name: kind.summary for name, kind in GENERATORS.items()},
    "Tasks": {
        name: kind.summary.removeprefix("Task: ").capitalize() for name, kind in TASKS.items()
    },
    "Models": {name: kind.summary for name, kind in ALL_MODELS.items()},
    "Positional encodings": {name: kind.summary for name, kind in POSITIONS.items()},
    "Masks": {name: mask.__doc__ for name, mask in MASKS.items()},
    "Losses": {name: f"{text[0].upper()}{text[1:]}." for name, text in LOSSES.items()},
    "Readouts": {name: f"{text[0].upper()}{text[1:]}." for name, text in READOUTS.items()},
}
_ADDRESSES = {
    title: "./" if file == TRAIN_PAGE else Path(file).stem
    for pages in GROUPS.values()
    for file, title, _ in pages
}


def _links(terms: Iterable[Term]) -> str:
    return ", ".join(f"[{term.name}](#{term.anchor})" for term in terms)


def _entry(term: Term, linked: Iterable[Term]) -> str:
    formula = f" ${term.formula}$" if term.formula else ""
    see = _links(each for each in linked if each.name in term.see)
    on = ", ".join(f"[{page}]({_ADDRESSES[page]})" for page in term.on.split(", "))
    return f"{term.text}{formula}  \n:small[On {on}.{see and f' See {see}.'}]"


text, right = beside(
    "What the words of the other pages mean, and at the end buttons and options.", title="Glossary"
)
words = text.text_input(
    "Find", key="glossary_find", placeholder="for example: entropy", max_chars=40
).strip()
terms = [term for term in TERMS if contains(words, term.name, term.text)]
if len(terms) > 1:
    letters = groupby(terms, key=lambda term: term.name[0].upper())
    text.markdown("\n\n".join(f"**{letter}** {_links(each)}" for letter, each in letters))
with right.container(key="glossary", gap="xsmall"):
    if terms:
        st.header("Terms", anchor=False)
    # The first half beside the second.
    half, sought = -(-len(terms) // 2), words.casefold()
    # The term itself before those that only contain it.
    best = sorted(terms, key=lambda term: term.name.casefold() != sought)
    for column, of in zip(st.columns(2, gap="large"), (best[:half], best[half:]), strict=True):
        with column:
            for term in of:
                st.subheader(term.name, anchor=term.anchor)
                st.markdown(_entry(term, terms))
    found = bool(terms)
    for title, entries in _GROUPS.items():
        lines = [
            f"**{name}** · {text}" for name, text in entries.items() if contains(words, name, text)
        ]
        if lines:
            with st.expander(title, expanded=bool(words)):
                st.markdown("\n\n".join(lines))
            found = True
    if not found:
        st.info("No term contains these words. Empty the field to see all terms.")

# Terms and formulas that are drawn late move the others, so the term of the address stays in view
# until the reader scrolls.
st.html(
    """<script>
{
  const show = () => document.getElementById(location.hash.slice(1))?.scrollIntoView();
  const drawn = new ResizeObserver(show);
  drawn.observe(document.querySelector('[data-testid="stMainBlockContainer"]'));
  for (const name of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(name, () => drawn.disconnect(), { once: true });
}
</script>""",
    unsafe_allow_javascript=True,
)
