"""The picture of a card for a slide: sentence, chart, numbers, settings, versions and link."""

import html
import math
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import vl_convert

from attnlab.charts import (
    HUES,
    INK,
    Drawing,
    as_picture,
    dots_chart,
    losses_chart,
    result_chart,
    to_svg,
)
from attnlab.comparisons.grid import Setting
from attnlab.comparisons.intervals import LEVEL, Interval
from attnlab.comparisons.summary import References, Row
from attnlab.comparisons.uncertainty import known_text
from attnlab.configuration.number_text import show_positions, show_range
from attnlab.configuration.options import present
from attnlab.known_results import KNOWN_RESULTS, Numbers, number_label
from attnlab.optimum import Best
from attnlab.result_card.card import COMPARISON, KNOWN, RUN, CardMeasure, CardSetting, ResultCard
from attnlab.runs.links import to_query
from attnlab.runs.run_summary import FIGURES, RunSummary

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
    lines, room, size = [""], 0, _LARGE + 1
    while len(lines) > room and size > _SMALL:
        size -= 1
        room, width = int((bottom - top) / (size * _LINE)) - 1, WIDTH - _RIGHT - _MARGIN
        lines = [line for text in _numbers(card) for line in _wrapped(text, width, size, room)]
    if len(lines) > room:
        lines = [*lines[: room - 1], "… more in the JSON file"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="{INK}">',
        f"<title>{html.escape(card.sentence)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_text(title, _MARGIN, _MARGIN, _TITLE, 'font-weight="bold"'),
        _placed(_chart(card), _RIGHT - 2 * _MARGIN, bottom - top - _MARGIN / 2, top),
        *_text(lines, _RIGHT, top + size, size),
        *_text(foot, _MARGIN, bottom + _FOOT, _FOOT, f'fill="{HUES.truth}"'),
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


def _text(lines: list[str], x: float, y: float, size: float, style: str = "") -> Iterator[str]:
    for number, line in enumerate(lines):
        place = f'x="{x}" y="{y + number * size * _LINE:.1f}" font-size="{size}"'
        yield f"<text {place} {style}>{html.escape(line)}</text>"


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
    if card.kind == KNOWN:
        return result_chart(KNOWN_RESULTS[card.name], _by_seed(card))
    if card.kind == COMPARISON:
        shown = card.settings[:_MOST_SETTINGS]
        rows = [_row(setting, card.figure) for setting in shown]
        return dots_chart(rows, [setting.label for setting in shown], card.figure)
    (setting,) = card.settings
    process, floor = setting.experiment.generator, present(setting.floor)
    known = {
        "uniform guess": math.log(process.vocabulary.size),
        process.best_words.floor: floor.nll,
    }
    return losses_chart({"test loss": [(step, loss, 0.0) for step, loss in setting.curve]}, known)


def _by_seed(card: ResultCard) -> Numbers:
    return {
        setting.label: {
            name: {seed: value for seed, value in zip(setting.seeds, each.by_seed, strict=True)
                   if value is not None}
            for name, each in setting.by_name.items()
        }
        for setting in card.settings
    }  # fmt: skip


def _row(setting: CardSetting, figure: str) -> Row:
    """Return a setting as a row of a comparison, with one of its measures."""
    measure, symbols = setting.by_name[figure], setting.experiment.generator.vocabulary.size
    runs = tuple(
        RunSummary(each, "done", metrics={figure: ((0, value),)})
        for each, value in zip(setting.experiments, measure.by_seed, strict=True)
        if value is not None
    )
    mean = Interval(measure.value, measure.low, measure.high, measure.n)
    known = References(present(setting.floor), Best(math.log(symbols), 1 / symbols))
    found: Any = {figure: mean} if figure in FIGURES else {"metrics": {figure: mean}}
    return Row(Setting((), setting.experiment), runs, known, **found)


def _numbers(card: ResultCard) -> Iterator[str]:
    """Yield a line for every number in the picture."""
    if card.kind == KNOWN:
        for verdict in KNOWN_RESULTS[card.name].verdicts(_by_seed(card)):
            claim = verdict.check.claim.replace("`", "")
            yield f"• {claim} {verdict.says.capitalize()}. {verdict.in_words()}"
        return
    experiment = card.settings[0].experiment
    over = "seeds"
    if card.kind == RUN:
        yield from (f"{number_label(m.name)} {_shown(m)}" for m in card.settings[0].measures)
        over = f"the {experiment.training.test_size:,} test sequences of one seed"
    else:
        yield f"{number_label(card.figure).capitalize()}:"
        for setting in card.settings:
            measure = setting.by_name[card.figure]
            yield f"{setting.label}: {_shown(measure)}, {measure.n} of {len(setting.seeds)} seeds"
    yield f"In parentheses: {LEVEL:.0%} interval over {over}"
    floors = {setting.floor for setting in card.settings}
    if len(floors) == 1:
        (floor,) = floors
        loss, accuracy = (known_text(floor, name) for name in ("nll", "accuracy"))
        best = experiment.generator.best_words.best.capitalize()
        yield f"{best}: loss {loss} nats, accuracy {accuracy}"


def _shown(measure: CardMeasure) -> str:
    if measure.low is None or measure.high is None:
        return f"{measure.value:.4f}"
    return f"{measure.value:.4f} ({show_range(measure.low, measure.high, places=4)})"


def _settings_text(card: ResultCard) -> str:
    """Return the settings that all runs share and that are not the defaults, and the seeds."""
    shared = set.intersection(*({*to_query(each.experiment).items()} for each in card.settings))
    count, of = len(card.settings), card.settings[0].experiment
    if count == 1:
        shared |= {("generator", of.generator.name), ("model", of.model.name)}
        shared |= {("length", f"{of.length}"), ("steps", f"{of.training.steps}")}
    listed = [f"{name} {text}" for name, text in sorted(shared) if name not in ("v", "seed")]
    listed.append(show_positions({seed for each in card.settings for seed in each.seeds}, "seed"))
    if count == 1:
        return f"{', '.join(listed)}. All else is default."
    return f"All {count} settings: {', '.join(listed)}. The JSON file has each setting."


def _made_text(card: ResultCard) -> str:
    made = card.versions
    parts = [f"{n} {v}" for n, v in (("attnlab", made.attnlab), ("JAX", made.jax)) if v]
    where = ", ".join(filter(None, (made.platform, card.machine)))
    return f"Made with {' and '.join(parts) or 'unknown versions'}{f' on {where}' * bool(where)}."
