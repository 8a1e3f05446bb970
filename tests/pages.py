"""The pages of the app, by the stems of their files, and the titles that they carry."""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "pages"
# Files keep the addresses that people have, or have shorter names.
_RENAMED = {
    "words": "Glossary",
    "generators": "Processes",
    "which_explanation": "Which explanation is right?",
}

# Former addresses, with the title of the page that each opens.
_FORMER = {
    "a_published_question": "Known results",
    "beliefs": "Look inside",
    "in_context": "Look inside",
    "inspect": "Look inside",
    "sequence_to_sequence": "Train",
}

ADDRESSES = tuple(sorted(path.stem for path in _FOLDER.glob("*.py")))
PAGES = tuple(name for name in ADDRESSES if name not in _FORMER)


def title_of(page: str) -> str:
    """What stands at the top of the page."""
    return (_RENAMED | _FORMER).get(page, page.capitalize().replace("_", " "))
