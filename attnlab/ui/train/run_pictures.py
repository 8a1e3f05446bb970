"""The charts of a run as pictures to keep: on white, in any font, saying what they show."""

from collections.abc import Sequence
from typing import Any

from attnlab.charts import (
    as_picture,
    weight_chart,
    weight_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.generators.vocabulary import Vocabulary, in_any_font
from attnlab.models.picture import take_picture
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.train.inside_panel import MEAN, pattern_drawing
from attnlab.ui.train.loss_panel import loss_drawing

_WIDTH, _HEIGHT = 640, 400
# Room for the longest label of a day.
_DAY_WIDTH, _DAY_HEIGHT, _MOST_LABELS = 44, 22, 20


def loss_picture(snapshot: Snapshot, rungs: Sequence[str]) -> dict[str, Any]:
    """The loss chart, with the reference predictors `rungs`."""
    latest, test = snapshot.latest, snapshot.latest.evaluation
    figures = (
        f"after step {latest.step:,}: test loss {show_measured(test.nll, test.nll_stderr)} nats, "
        f"test accuracy {show_measured(test.accuracy, test.accuracy_stderr)}"
    )
    return as_picture(
        loss_drawing(snapshot, rungs, dark=False, height=_HEIGHT),
        title=f"Loss: {_settings(snapshot)}",
        subtitles=[_details(snapshot), figures],
        width=_WIDTH,
    )


def inside_picture(snapshot: Snapshot, step: int | None, sequence: int | str) -> dict[str, Any]:
    """The attention pattern, or the weights of a model without, as `draw_inside` shows it."""
    latest, length = snapshot.latest, snapshot.experiment.length
    kept = dict(snapshot.history.checkpoints)
    # The step may be one of a run that was reset since.
    shown, model = (step, kept[step]) if step in kept else (latest.step, latest.model)
    inside = take_picture(model, snapshot.probes)
    vocabulary = in_any_font(snapshot.experiment.generator.vocabulary)
    of_what = f"{_settings(snapshot)}, step {shown:,}"
    if not snapshot.experiment.model.attends:
        return as_picture(
            weight_chart(
                weight_table(inside.weights, vocabulary),
                length=length,
                vocabulary=vocabulary,
                dark=False,
                height=_HEIGHT,
            ),
            title=f"Weights: {of_what}",
            subtitles=[_details(snapshot), *_key(vocabulary)],
            width=_WIDTH,
        )
    is_mean = sequence == MEAN
    subject = [f"mean over {len(snapshot.probes)} sequences"] if is_mean else _key(vocabulary)
    labels = min(length, _MOST_LABELS)
    height = max(_HEIGHT, _DAY_HEIGHT * labels)
    return as_picture(
        pattern_drawing(
            snapshot, inside, sequence, dark=False, height=height, vocabulary=vocabulary
        ),
        title=f"Attention pattern: {of_what}",
        subtitles=[_details(snapshot), *subject],
        width=max(_HEIGHT, _DAY_WIDTH * labels),
    )


def _settings(snapshot: Snapshot) -> str:
    experiment = snapshot.experiment
    return f"{experiment.model.name} on {experiment.generator.name}"


def _details(snapshot: Snapshot) -> str:
    experiment, training = snapshot.experiment, snapshot.experiment.training
    return (
        f"{experiment.length} days, {snapshot.parameters:,} parameters, "
        f"learning rate {training.learning_rate:g}, seed {experiment.seed}"
    )


def _key(vocabulary: Vocabulary) -> list[str]:
    """What letters stand for, unless the labels are names already."""
    if vocabulary.symbols == vocabulary.names:
        return []
    pairs = zip(vocabulary.symbols, vocabulary.names, strict=True)
    return [", ".join(f"{letter} = {name}" for letter, name in pairs)]
