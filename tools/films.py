"""Make the shipped films again: `python -m tools.films [--picture] [NAME ...]`.

Trains each preset, and writes `docs/live/NAME.html`, and for those that pages open with also
`attnlab/film/films/NAME.json`. With --picture, Chromium also takes the frames
of the first one for the moving picture of the README, `docs/film.webp`. All together take some ten
minutes on two cores.
"""

import argparse
import io
import json
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from attnlab import PRESETS, Run, run
from attnlab.film import Film, film_data, film_of, film_page, player_data, words_of
from attnlab.runs.history import current_versions, empty_history
from attnlab.training.loop import Progress
from tests.e2e.browser import find_browser, launch_browser

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "live"
ADDRESS = "http://localhost:8501"
NAMES = (
    "three-heads",
    "published-dotmod-attention",
    "solved-dotmod",
    "induction",
    "mess3-belief",
    "grokking",
    "cards-encoder-decoder",
)
# Those whose picture would wait for a compiler.
SHIPPED = ("three-heads", "mess3-belief", "induction", "cards-encoder-decoder")
_MILLISECONDS, _LAST_MILLISECONDS = 120, 3_000
_SIZE = {"width": 1180, "height": 680}


def main() -> None:
    """Make the films that the arguments name, by default all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, help="presets")
    parser.add_argument("--picture", action="store_true", help="make the README's picture, too")
    arguments = parser.parse_args()
    for folder in (FOLDER, player_data.SHIPPED):
        folder.mkdir(exist_ok=True)
    for name in arguments.names:
        film = film_of_preset(name)
        words = words_of(film, version=current_versions().attnlab, address=ADDRESS)
        page = film_page(film, words)
        (FOLDER / f"{name}.html").write_bytes(page)
        print(f"{name}: {len(page):,} bytes", flush=True)
        if name in SHIPPED:
            text = json.dumps(film_data(film), ensure_ascii=False, allow_nan=False)
            (player_data.SHIPPED / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    if arguments.picture:
        _take_picture(FOLDER / f"{NAMES[0]}.html", ROOT / "docs" / "film.webp")


def film_of_preset(name: str) -> Film:
    """Train a preset, and return the film of the run."""
    experiment, history = PRESETS[name].experiment, empty_history()
    state = None
    for event in run(experiment):
        history = history.after(event)
        if isinstance(event, Progress):
            state = event.state
    assert state is not None
    return film_of(Run(experiment, state, history))


def _take_picture(page: Path, file: Path) -> None:
    """Write the frames of a film as a moving picture."""
    executable = find_browser()
    if executable is None:
        raise SystemExit("films.py: there is no Chromium on the path.")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory():
        browser = launch_browser(playwright, executable)
        tab = browser.new_page(viewport=_SIZE, color_scheme="light")
        tab.goto(page.as_uri())
        slider, pictures = tab.get_by_role("slider"), []
        for frame in range(int(slider.get_attribute("max") or 0) + 1):
            slider.fill(str(frame))
            pictures.append(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"))
        browser.close()
    times = [_MILLISECONDS] * (len(pictures) - 1) + [_LAST_MILLISECONDS]
    first, *others = pictures
    first.save(file, save_all=True, append_images=others, duration=times, loop=0, quality=80)


if __name__ == "__main__":
    main()
