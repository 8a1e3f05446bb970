"""What the player of films draws, as JSON has it."""

import base64
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import present
from attnlab.film.frames import Film, Frame, HeadMap, Scene
from attnlab.film.sequence import likely_tokens
from attnlab.film.subject import Subject
from attnlab.generators.display import OF_REFERENCE
from attnlab.optimum import Baseline, Best
from attnlab.runs.history import History, loss_curve
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.training.shares import HOPELESS, learned_share

# The most tokens whose probabilities are shown.
_MOST_LIKELY = 5
# A smaller probability is shown as < 1 %.
_SHOWN = 0.005
# A byte that is no percent.
_NO_CELL = 255
# Known losses in the words of the scale of what was learned.
_PLAIN = MappingProxyType({"uniform guess": "guessing", "floor": "best possible"})


# Films that come with attnlab: pages show them until a run of the same settings is started.
SHIPPED = Path(__file__).parent / "films"


@functools.cache
def shipped_films() -> Mapping[Experiment, Path]:
    """Return the file of each film that comes with attnlab, by the experiment of its preset."""
    return MappingProxyType(
        {PRESETS[file.stem].experiment: file for file in SHIPPED.glob("*.json")}
    )


def shipped_film(experiment: Experiment) -> dict[str, Any] | None:
    """Return what the player draws of the film with these settings, if it comes with attnlab."""
    file = shipped_films().get(experiment)
    return None if file is None else json.loads(file.read_text(encoding="utf-8"))


def film_data(film: Film) -> dict[str, Any]:
    """Return what the player draws, as JSON has it."""
    scene, tests = film.scene, dict(film.history.tests)
    floor, words = film.baselines[-1].best, scene.experiment.generator.best_words
    simple = _simple(film.baselines)
    share = _share_of(simple, floor, scene.experiment)
    levels = (
        ("uniform guess", film.baselines[0].best),
        *([(simple.name, simple.best)] if share is not None and 0.1 < share < 0.9 else []),
        (words.floor if floor.exact else f"{words.floor} (estimated)", floor),
    )
    data = scene_data(scene) | {
        "about": film.about,
        "frames": [
            frame_data(scene, each, test_of(tests, each.step), floor) for each in film.frames
        ],
        "curves": curves_of(film.history),
        "levels": [level_data(name, best) for name, best in levels],
        "end": max(tests),
        "scale": scale_in_words(scene.experiment, film.baselines),
        "lossSays": f"Test loss over {max(tests)} steps: {_caption(tests[max(tests)])}.",
    }
    if film.subject is not None:
        data |= subject_data(film.subject, film.measured)
    return data


def scene_data(scene: Scene) -> dict[str, Any]:
    """Return what all frames share."""
    process, sequence = scene.experiment.generator, scene.sequence
    symbols, word = process.vocabulary.symbols, process.position_word
    shown = [symbols[token] for token in sequence.tokens[: sequence.seen]]
    likely = _likely(scene)
    arcs = ""
    if scene.is_attention:
        arcs = "Arcs: where each head looks."
        if any(each.true is not None for each in scene.maps):
            arcs += " Frames: true sources."
    elif scene.maps:
        arcs = f"Arcs: how much each {word} changes the prediction, as total variation in %."
    return {
        "word": word,
        "symbols": shown,
        "marked": list(sequence.marked),
        "number": sequence.number,
        "arcs": arcs,
        "says": f"The sequence {' '.join(shown)}, and a {word} to predict.",
        "likely": [symbols[token] for token in likely],
        "truth": [] if scene.truth is None else _rounded(scene.truth[likely]),
        "maps": [_map(each, sequence.query, len(scene.maps)) for each in scene.maps],
        **({} if process.has_law else {"truthName": "reference"}),
    }


def subject_data(subject: Subject, measured: Mapping[int, Any]) -> dict[str, Any]:
    """Return what is shown beside the sequence: what all steps share, and what differs by step."""
    by_step = [{"step": step} | subject.draw(found) for step, found in sorted(measured.items())]
    return {"subject": {"name": subject.name} | subject.fixed, "measured": by_step}


def frame_data(
    scene: Scene, frame: Frame, test: Evaluation | None, floor: Best | None
) -> dict[str, Any]:
    """Return a frame, with the results of its test and the share learned of what `floor` allows."""
    likely = _likely(scene, frame.probs)
    rows: dict[str, Any] = {"probs": _rounded(frame.probs[likely])}
    if likely != _likely(scene):
        symbols, truth = scene.experiment.generator.vocabulary.symbols, present(scene.truth)
        rows |= {"likely": [symbols[token] for token in likely], "truth": _rounded(truth[likely])}
    return rows | {
        "step": frame.step,
        "maps": [
            _packed(each, pattern) for each, pattern in zip(scene.maps, frame.patterns, strict=True)
        ],
        "caption": "" if test is None else _caption(test),
        "learned": "" if test is None or floor is None else _learned(scene, test, floor),
    }


def test_of(tests: Mapping[int, Evaluation], step: int) -> Evaluation:
    """Return the last test up to a step; the first one if there is none."""
    return tests[max((each for each in tests if each <= step), default=min(tests))]


def curves_of(history: History) -> list[dict[str, Any]]:
    """Return training and test loss as curves of the loss chart; losses of a diverged run end."""
    training = zip(*(array.tolist() for array in loss_curve(history)), strict=True)
    tests = ((step, test.nll) for step, test in history.tests)
    return [
        curve_data("training", training, "var(--training)") | {"thin": True},
        curve_data("test", tests, "var(--learned)"),
    ]


def curve_data(name: str, points: Iterable[tuple[int, float]], colour: str) -> dict[str, Any]:
    """Return a curve of the loss chart, in nats by step; `colour` is one of CSS."""
    return {
        "name": name,
        "colour": colour,
        "points": [[step, round(nats, 5)] for step, nats in points if np.isfinite(nats)],
    }


def level_data(name: str, best: Best) -> list[Any]:
    """Return a line of the loss chart: its name, its loss in nats, and the loss in words."""
    for known, plain in _PLAIN.items():
        name = name.replace(known, plain)
    return [name, best.nll, show_estimate(best.nll, best.nll_stderr)]


def scale_in_words(experiment: Experiment, baselines: Sequence[Baseline] | None) -> str:
    """Return what shares learned mean, with that of the best simple predictor once it is known."""
    scale = "learned: 0\u00a0% is guessing, 100\u00a0% is optimal"
    if not experiment.generator.has_law:
        scale = "learned: 0\u00a0% is guessing, 100\u00a0% is the best reference"
    if baselines is None:
        return scale
    simple = _simple(baselines)
    share = _share_of(simple, baselines[-1].best, experiment)
    # As good as a guess, or as the optimum, it would say nothing.
    if share is None or not 0.005 <= share < 0.995:
        return scale
    return f"{scale}; the {simple.name} predictor reaches {100 * share:.0f}\u00a0%"


def _simple(baselines: Sequence[Baseline]) -> Baseline:
    """Return the hardest simple baseline: of reference predictors, that from the last token."""
    if baselines[-1].name == OF_REFERENCE.floor:
        return next((each for each in baselines if each.name == "order-1"), baselines[1])
    return baselines[-2]


def _share_of(baseline: Baseline, floor: Best, experiment: Experiment) -> float | None:
    """Return the share that a baseline has learned of what can be learned."""
    found = learned_share(baseline.best, floor, experiment.generator.vocabulary.size)
    return None if found is None else found.share


def _likely(scene: Scene, probs: Float[np.ndarray, " vocab"] | None = None) -> list[int]:
    """Return the tokens that are shown, which the truth or the model's `probs` make likely.

    Without the truth there are none.
    """
    if scene.truth is None:
        return []
    # If all fit, they have the same order for every sequence.
    if scene.truth.size <= _MOST_LIKELY:
        return sorted(likely_tokens(scene.truth, _MOST_LIKELY))
    if probs is None:
        return likely_tokens(scene.truth, _MOST_LIKELY)
    # The model of a diverged run has none.
    either = np.fmax(scene.truth, probs)
    return [token for token in likely_tokens(either, _MOST_LIKELY) if either[token] >= _SHOWN]


def _caption(test: Evaluation) -> str:
    return (
        f"test loss {show_estimate(test.nll, test.nll_stderr)} nats, accuracy "
        f"{show_estimate(test.accuracy, test.accuracy_stderr)}"
    )


def _learned(scene: Scene, test: Evaluation, floor: Best) -> str:
    found = learned_share(test, floor, scene.experiment.generator.vocabulary.size)
    if found is None:
        return ""
    if found.share < HOPELESS:
        return "worse than guessing"
    places = 1 if found.stderr < 0.005 else 0
    return f"{show_estimate(100 * found.share, 100 * found.stderr, most_places=places)} %"


def _trimmed(found: HeadMap) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the columns that have cells."""
    return np.flatnonzero(found.mask.any(axis=1)), np.flatnonzero(found.mask.any(axis=0))


def _map(found: HeadMap, query: int, count: int) -> dict[str, Any]:
    """Return a map without the rows and columns that have no cells."""
    rows, keys = _trimmed(found)
    queries = [found.rows[row] for row in rows]
    true = [] if found.true is None else np.argwhere((found.true & found.mask)[np.ix_(rows, keys)])
    return {
        "name": found.name if count > 1 or found.name == "influence" else "attention",
        "predicting": found.is_predicting,
        "rows": queries,
        "keys": keys.tolist(),
        "predicts": queries.index(query) if query in queries else len(queries) - 1,
        "trained": found.is_trained,
        "true": np.asarray(true).tolist(),
    }


def _packed(found: HeadMap, pattern: Float[np.ndarray, "row key"]) -> str:
    """Return a map in base 64: a byte for each cell, its whole percents or 255 for no cell."""
    percents = np.nan_to_num(100 * pattern).round().clip(0, 100)
    cells = np.where(found.mask, percents, _NO_CELL)[np.ix_(*_trimmed(found))]
    return base64.b64encode(cells.astype(np.uint8).tobytes()).decode()


def _rounded(values: np.ndarray) -> Any:
    """Return probabilities with five digits; None for those of a diverged model."""
    found = values.round(5).astype(object)
    found[~np.isfinite(values)] = None
    return found.tolist()
