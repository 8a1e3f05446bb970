"""The charts of a run as pictures to keep: on white, in any font, saying what they show."""

from collections.abc import Sequence
from typing import Any

from attnlab.charts import as_picture
from attnlab.configuration.number_text import show_measured
from attnlab.generators.vocabulary import Vocabulary, in_any_font
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.train.inside_panel import MEAN, Choice, inside_drawing, inside_name, trace_shown
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


def inside_picture(snapshot: Snapshot, step: int | None, choice: Choice) -> dict[str, Any]:
    """What is inside the model, as `draw_inside` shows it."""
    latest, length = snapshot.latest, snapshot.experiment.length
    kept = dict(snapshot.history.checkpoints)
    # The step may be one of a run that was reset since.
    shown, model = (step, kept[step]) if step in kept else (latest.step, latest.model)
    trace = trace_shown(model, snapshot, choice.sequence)
    vocabulary = in_any_font(snapshot.experiment.generator.vocabulary)
    subject = _key(vocabulary)
    if choice.sequence == MEAN and snapshot.experiment.model.every_position:
        subject = [f"mean over {len(snapshot.probes)} sequences"]
    labels = min(length, _MOST_LABELS)
    return as_picture(
        inside_drawing(
            snapshot,
            trace,
            choice,
            dark=False,
            height=max(_HEIGHT, _DAY_HEIGHT * labels),
            vocabulary=vocabulary,
        ),
        title=f"{inside_name(trace, choice)}: {_settings(snapshot)}, step {shown:,}",
        subtitles=[_details(snapshot), *subject],
        width=max(_WIDTH, _DAY_WIDTH * labels),
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
