"""The picture of a card for a slide: sentence, chart, numbers, settings, versions and link."""

import html
import math
import re
import textwrap
from collections.abc import Iterator

import vl_convert

from attnlab.charts import (
    HUES,
    INK,
    Drawing,
    as_picture,
    losses_chart,
    measured_chart,
    result_chart,
    to_svg,
)
from attnlab.comparisons.intervals import LEVEL
from attnlab.comparisons.uncertainty import known_text
from attnlab.configuration.number_text import show_positions, show_range
from attnlab.known_results import KNOWN_RESULTS, number_label
from attnlab.result_card.card import KNOWN, RUN, CardMeasure, CardSetting, ResultCard
from attnlab.runs.links import to_query

WIDTH, HEIGHT = 1280, 720
_MARGIN, _RIGHT, _DOTS = 48, 740, 2
# Type sizes in pixels: of the sentence, of the numbers at most and at least, and of the foot.
_TITLE, _LARGE, _SMALL, _FOOT = 28, 19, 13, 14
# Height of a line, and width of usual and of wide letters, as shares of the type size.
_LINE, _LETTER, _WIDE = 1.35, 0.56, 0.95
_MOST_SETTINGS = 8


def card_svg(card: ResultCard) -> str:
    """Return the picture of a card as an SVG document of 1280 × 720 pixels, on white."""
    whole = WIDTH - 2 * _MARGIN
    title = _wrapped(card.sentence.replace("`", ""), whole, _TITLE, 4)
    texts = (_settings_text(card), 5), (_made_text(card), 1), (card.link, 4)
    foot = [line for text, most in texts for line in _wrapped(text, whole, _FOOT, most)]
    top = _MARGIN + len(title) * _TITLE * _LINE
    bottom = HEIGHT - _MARGIN / 2 - len(foot) * _FOOT * _LINE
    for size in range(_LARGE, _SMALL - 1, -1):
        room = int((bottom - top) / (size * _LINE)) - 1
        lines = [
            line
            for text in _numbers(card)
            for line in _wrapped(text, WIDTH - _RIGHT - _MARGIN, size, room)
        ]
        if len(lines) <= room:
            break
    if len(lines) > room:
        lines = [*lines[: room - 1], "… more in the JSON file"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="{INK}">',
        f"<title>{html.escape(card.sentence)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_text(title, _MARGIN, _MARGIN, _TITLE, weight="bold"),
        _placed(_chart(card), _RIGHT - 2 * _MARGIN, bottom - top - _MARGIN / 2, top),
        *_text(lines, _RIGHT, top + size, size),
        *_text(foot, _MARGIN, bottom + _FOOT, _FOOT, fill=HUES.truth),
        "</svg>",
    ]
    return "\n".join(parts)


def card_png(card: ResultCard) -> bytes:
    """Return the picture of a card as a PNG file of 2560 × 1440 pixels."""
    return vl_convert.svg_to_png(card_svg(card), scale=_DOTS)


def _wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    wide = sum(letter in "mwMW%@" or ord(letter) > 0x2000 for letter in text) / max(1, len(text))
    capitals = sum(map(str.isupper, text)) / max(1, len(text))
    mean = _LETTER + (_WIDE - _LETTER) * (wide + capitals / 3)
    letters = int(width / (size * mean))
    lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][:-2]} …"]


def _text(lines: list[str], x: float, y: float, size: float, **style: str) -> Iterator[str]:
    more = "".join(f' font-{n}="{v}"' if n == "weight" else f' {n}="{v}"' for n, v in style.items())
    for number, line in enumerate(lines):
        place = f'x="{x}" y="{y + number * size * _LINE:.1f}" font-size="{size}"'
        yield f"<text {place}{more}>{html.escape(line)}</text>"


def _placed(drawing: Drawing, width: float, height: float, top: float) -> str:
    """Return a chart as an SVG element that fits into a box."""
    picture = as_picture(drawing, title="", width=int(width) - 160)
    picture["height"] = picture.get("height", int(height) - 90)
    svg = to_svg(picture)
    box = f'x="{_MARGIN - 16}" y="{top - 8:.0f}" width="{width:.0f}" height="{height:.0f}"'
    own = 'preserveAspectRatio="xMinYMin meet"'
    return re.sub(
        r'<svg([^>]*?) width="[^"]*" height="[^"]*"', rf"<svg\1 {box} {own}", svg, count=1
    )


def _chart(card: ResultCard) -> Drawing:
    if card.kind == RUN:
        (setting,) = card.settings
        floor, symbols = setting.floor, setting.experiment.generator.vocabulary.size
        known = {"uniform guess": math.log(symbols)}
        words = setting.experiment.generator.best_words
        known |= {} if floor is None else {words.floor: floor.nll}
        curve = [(step, loss, 0.0) for step, loss in setting.curve]
        return losses_chart({"test loss": curve}, known)
    numbers = {
        setting.label: {each.name: _by_seed(setting, each) for each in setting.measures}
        for setting in card.settings
    }
    if card.kind == KNOWN:
        return result_chart(KNOWN_RESULTS[card.name], numbers)
    figure, shown = card.figure, card.settings[:_MOST_SETTINGS]
    means = {setting.label: _named(setting, figure) for setting in shown}
    best = {
        setting.label: getattr(setting.floor, figure)
        for setting in shown
        if setting.floor is not None and figure in ("nll", "accuracy")
    }
    return measured_chart(
        {setting.label: numbers[setting.label][figure] for setting in shown},
        {label: (each.value, each.low, each.high) for label, each in means.items()},
        best,
        figure,
        reference=card.settings[0].experiment.generator.best_words.best,
    )


def _by_seed(setting: CardSetting, measure: CardMeasure) -> dict[int, float]:
    pairs = zip(setting.seeds, measure.by_seed, strict=True)
    return {seed: value for seed, value in pairs if value is not None}


def _named(setting: CardSetting, name: str) -> CardMeasure:
    return next(each for each in setting.measures if each.name == name)


def _numbers(card: ResultCard) -> Iterator[str]:
    """Yield a line for every number in the picture."""
    if card.kind == RUN:
        (setting,) = card.settings
        yield from (f"{number_label(each.name)} {_shown(each)}" for each in setting.measures)
        size = setting.experiment.training.test_size
        yield f"In parentheses: {LEVEL:.0%} interval over the {size:,} test sequences of one seed"
    elif card.kind == KNOWN:
        numbers = {
            setting.label: {each.name: _by_seed(setting, each) for each in setting.measures}
            for setting in card.settings
        }
        for verdict in KNOWN_RESULTS[card.name].verdicts(numbers):
            claim = verdict.check.claim.replace("`", "")
            yield f"• {claim} {verdict.says.capitalize()}. {verdict.in_words()}"
        return
    else:
        for setting in card.settings:
            measure = _named(setting, card.figure)
            yield f"{setting.label}: {_shown(measure)}, {measure.n} of {len(setting.seeds)} seeds"
        shown = (
            f"{number_label(card.figure).capitalize()}; in parentheses: {LEVEL:.0%} interval over "
            "seeds"
        )
        words = card.settings[0].experiment.generator.best_words
        yield f"{shown}{f'; dashes: {words.best}' * (card.figure in ('nll', 'accuracy'))}"
    floors = {setting.floor for setting in card.settings}
    if len(floors) == 1 and (best := floors.pop()) is not None:
        loss, accuracy = (known_text(best, name) for name in ("nll", "accuracy"))
        words = card.settings[0].experiment.generator.best_words
        yield f"{words.best.capitalize()}: loss {loss} nats, accuracy {accuracy}"


def _shown(measure: CardMeasure) -> str:
    if measure.low is None or measure.high is None:
        return f"{measure.value:.4f}"
    return f"{measure.value:.4f} ({show_range(measure.low, measure.high, places=4)})"


def _settings_text(card: ResultCard) -> str:
    """Return the settings that all runs share and that are not the defaults, and the seeds."""
    queries = [to_query(setting.experiment) for setting in card.settings]
    first, seeds = card.settings[0], {seed for each in card.settings for seed in each.seeds}
    shared = {
        name: text
        for name, text in queries[0].items()
        if name not in ("v", "seed") and all(query.get(name) == text for query in queries)
    }
    experiment, is_one = first.experiment, len(queries) == 1
    if is_one:
        shared |= {"generator": experiment.generator.name, "model": experiment.model.name}
    training = experiment.training
    shared |= {"length": f"{experiment.length}", "steps": f"{training.steps}"} if is_one else {}
    listed = ", ".join(f"{name} {text}" for name, text in sorted(shared.items()))
    seed = show_positions(seeds, "seed")
    if is_one:
        return f"{listed}, {seed}. All else is default."
    return f"All {len(queries)} settings: {listed}, {seed}. The JSON file has each setting."


def _made_text(card: ResultCard) -> str:
    made = card.versions
    parts = [f"{n} {v}" for n, v in (("attnlab", made.attnlab), ("JAX", made.jax)) if v]
    where = ", ".join(filter(None, (made.platform, card.machine)))
    return f"Made with {' and '.join(parts) or 'unknown versions'}{f' on {where}' * bool(where)}."
