"""A film as HTML: a page that opens from a file and fetches nothing."""

import html
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from attnlab.film.frames import Film
from attnlab.film.player_data import film_data
from attnlab.runs.links import to_query
from attnlab.training.presets import PRESETS

_FOLDER = Path(__file__).parent
_START = """createFilm(document.querySelector(".film"))(
    JSON.parse(document.querySelector("script[type='application/json']").textContent))"""
# Nothing is fetched, whatever a text contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Words(NamedTuple):
    """Words around a film, all as plain text.

    `footer` are paragraphs below it, `made` says what made the run, and `link` is an address that
    opens the run in attnlab. Each may be empty.
    """

    title: str = ""
    footer: tuple[str, ...] = ()
    made: str = ""
    link: str = ""


_NO_WORDS = Words()


def film_page(film: Film, words: Words = _NO_WORDS) -> bytes:
    """Return a film as a whole page that fetches nothing, the same bytes every time."""
    return page_of(film_data(film) | words._asdict(), words.title)


def page_of(film: dict[str, Any], title: str) -> bytes:
    """Return a page that plays what `film_data` returned."""
    data = json.dumps(film, ensure_ascii=False, allow_nan=False)
    # Closing tags within the data would end the script.
    data = data.replace("<", "\\u003c")
    style, script = player()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{html.escape(title)}</title><style>{style}</style></head>"
        f'<body><main class="film"></main><script type="application/json">{data}</script>'
        f"<script>{script}\n{_START}</script></body></html>\n"
    ).encode()


def player() -> tuple[str, str]:
    """Return the style sheet and the script of the player, which defines `createFilm`."""
    files = ("player.css", "player.js", "picture.js")
    style, *scripts = ((_FOLDER / name).read_text("utf-8") for name in files)
    return style, "".join(scripts)


def words_of(
    film: Film, *, name: str = "", note: str = "", date: str = "", version: str, address: str
) -> Words:
    """Return the words around the film of a run.

    Args:
        film: The film.
        name: The user's name for the run.
        note: The user's note.
        date: When the run was kept, or "".
        version: The version of attnlab that made the run.
        address: Where attnlab runs, such as "http://localhost:8501", or "" for no link.
    """
    experiment = film.scene.experiment
    process, model = experiment.generator, experiment.model
    preset = next((each for each in PRESETS.values() if each.matches(experiment)), None)
    settings = (
        f"Process {process.name}, {experiment.length} {process.position_word}s; model "
        f"{model.name}; {experiment.training.steps:,} steps, seed {experiment.seed}. "
        f"Trained with attnlab {version}{f' on {date}' if date else ''}. ± is one standard error "
        f"over the test sequences. {film.left_out}"
    )
    query = urlencode(to_query(experiment))
    return Words(
        title=preset.title if preset else f"{model.name} on {process.name}",
        footer=tuple(filter(None, (name, note))),
        made=f"{settings.rstrip()} ",
        link=f"{address.rstrip('/')}/?{query}" if address else "",
    )
