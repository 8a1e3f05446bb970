"""The pages of the app, by the stems of their files, and the titles that they carry."""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "pages"
# Its file keeps the address that people have.
_RENAMED = {"words": "Glossary", "generators": "Processes"}

# Addresses that lead to another page.
_MOVED = {"a_published_question", "beliefs", "in_context", "inspect", "sequence_to_sequence"}

PAGES = tuple(sorted({path.stem for path in _FOLDER.glob("*.py")} - _MOVED))


def title_of(page: str) -> str:
    """What stands at the top of the page."""
    return _RENAMED.get(page, page.capitalize().replace("_", " "))
