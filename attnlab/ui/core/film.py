"""The film of the session's run, as a file."""

from attnlab.configuration.options import present
from attnlab.film import film_of, film_page, words_of
from attnlab.live.live_run import LiveRun
from attnlab.runs.history import current_versions
from attnlab.ui.core.display import draw_download
from attnlab.ui.core.web import page_address


def draw_film_download(run: LiveRun, key: str) -> None:
    """Draw the button of a run's film. It is made when the button is pressed."""
    experiment = run.experiment
    draw_download(
        "Interactive page, HTML",
        f"attnlab-{experiment.generator.name}-{experiment.model.name}-seed{experiment.seed}.html",
        "text/html",
        lambda: _page_of(run),
        key=key,
    )


def _page_of(run: LiveRun) -> bytes:
    stored, kept = present(run.stored()), run.autosave.kept
    film = film_of(stored)
    words = words_of(
        film,
        name=kept.name if kept else run.autosave.name,
        note=kept.note if kept else "",
        date=f"{kept.date:%Y-%m-%d}" if kept else "",
        version=(stored.history.versions or current_versions()).attnlab,
        address=page_address(""),
    )
    return film_page(film, words)
