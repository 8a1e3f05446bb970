"""The next change to try after a run that fell short of what can be learned."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from attnlab.configuration.options import default_of, options_of, present
from attnlab.inspection.strategies import has_references
from attnlab.inspection.what_happened import (
    DIVERGES,
    LEARNED,
    OVERFITS,
    STILL_FALLING,
    WhatHappened,
    adds_up,
    is_like_linear,
)
from attnlab.models import AbstractModelOptions, LinearOptions, TransformerOptions
from attnlab.positions import Learned, Scalar
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training

# Times as many steps, a fraction of the learning rate (at most the default rate), and the least
# batch instead of a full one.
_LONGER, _SLOWER, _BATCH = 4, 0.1, 256
# From this share on that the best linear predictor learns, an MLP has hardly anything to add.
_NEARLY_LINEAR = 0.97
# If a model that only adds up learned a share this near to that, its start does not hold it back.
_NEAR = 0.1
# A share of attention below which more heads may help, and the most heads that are proposed. Where
# less than this share is learned, the attention has not begun to tell.
_SCATTERED, _MOST_HEADS, _BEGUN = 0.8, 8, 0.1
# Sizes that are smaller in other families than in a transformer.
_SIZES = ("d_attn", "d_model")
_ALL_WINDOWS = "Fresh ones are windows of all of the text, not of a part."


class Advice(NamedTuple):
    """A change of settings.

    Attributes:
        name: A short name of the change.
        action: What to do.
        reason: Why.
        experiment: The experiment with the change.
    """

    name: str
    action: str
    reason: str
    experiment: Experiment


def advice_for(experiment: Experiment, happened: WhatHappened) -> Advice | None:
    """Return the next change to try, or None if the run is not at its end or learned enough.

    Without a diagnosis there is no advice. A diagnosis comes from the settings, the losses and the
    attention of the run. The most costly ones are tried first.

    Args:
        experiment: The settings of the run.
        happened: The results of the run at its last step.
    """
    learned, steps = happened.learned, experiment.training.steps
    if learned is None or learned >= LEARNED or happened.at_floor or happened.step < steps:
        return None
    # At the bound of an option its remedy changes nothing.
    found = (each for each in _diagnoses(experiment, happened) if each.experiment != experiment)
    return next(found, None)


def _diagnoses(experiment: Experiment, happened: WhatHappened) -> Iterator[Advice]:
    training, model, word = (
        experiment.training,
        experiment.model,
        experiment.generator.position_word,
    )
    start, slow = {}, []
    if getattr(model, "initialisation", "") == "published":
        start["initialisation"] = "scaled"
        slow.append("large initial weights")
    if isinstance(getattr(model, "position", None), Scalar):
        start["position"] = Learned()
        slow.append("scalar positions")
    reason = f"{' and '.join(slow).capitalize()} slow learning."
    what = "learned positions" if "position" in start else "scaled initial weights"
    only_adds = adds_up(model) or isinstance(model, LinearOptions)
    linear = math.inf if happened.linear is None else happened.linear
    most = int(options_of(training)["steps"].bounds[1])
    falls = happened.problem == STILL_FALLING and training.steps < most
    has_other = falls or linear < _NEARLY_LINEAR
    last: dict[str, Any] = {}
    other = f"Only the prediction of the last {word} is tested, but this loss also trains others."
    if not experiment.generator.has_loss_mask() and _trains_something_else(experiment):
        last = {"loss": "last", "readout": "last"}
        if getattr(model, "mask", "") == "published":
            start["mask"] = "causal"
    # Without an MLP a better start alone may gain nothing.
    falls_short = linear < _NEARLY_LINEAR and not (last or falls)
    is_near = has_other and abs(present(happened.learned) - linear) < _NEAR
    is_limited = only_adds and (falls_short or is_near)
    if last and not is_limited:
        yield Advice(
            f"last {word} only",
            f"Train the last {word} only" + f", with {what}" * bool(slow),
            other + f" {reason}" * bool(slow),
            _changed(experiment, start, **last),
        )
    if happened.problem == DIVERGES:
        rate = min(_SLOWER * training.learning_rate, default_of(Training, "learning_rate"))
        rate = max(rate, options_of(training)["learning_rate"].bounds[0])
        yield Advice(
            f"learning rate {rate:.2g}",
            f"Train with learning rate {rate:.2g}",
            "Training made the loss worse: its steps are too large.",
            _changed(experiment, learning_rate=float(f"{rate:.2g}")),
        )
    if slow and not is_limited:
        yield Advice(what, f"Train with {what}", reason, _changed(experiment, start))
    if training.data == "fixed" and happened.problem == OVERFITS:
        yield Advice(
            "fresh sequences",
            "Train on fresh sequences",
            "The model memorises its training sequences. "
            + ("Fresh ones never repeat." if experiment.generator.has_law else _ALL_WINDOWS),
            _changed(experiment, **_fresh(training)),
        )
    is_transformer = isinstance(model, TransformerOptions)
    if has_references(experiment.generator) and (
        only_adds or (is_transformer and model.layers == 1)
    ):
        yield _transformer(
            experiment,
            "two layers",
            "Each sequence has its own rule. A second layer can look up what the first one found.",
            layers=2,
        )
    if falls and not (only_adds and is_like_linear(happened)):
        steps = min(_LONGER * training.steps, most)
        options, why = _for_steps(training, steps)
        yield Advice(
            f"{steps:,} steps",
            f"Train for {steps:,} steps",
            f"The loss was still falling at the end.{why}",
            _changed(experiment, **options),
        )
    if only_adds and (happened.linear is None or happened.linear < _NEARLY_LINEAR):
        part, why = "an MLP", "An MLP can combine several tokens."
        # Transformers have a single way to draw initial weights.
        start.pop("initialisation", None)
        start["position"] = Learned()
        if getattr(model, "position", Learned()) != Learned():
            part = f"{part} and learned positions"
            why = f"{why} Learned positions give each {word} its own weight."
        advice = _transformer(
            _changed(experiment, **last),
            part,
            f"This model adds up what each token says. {why}" + f" {other}" * bool(last),
            mlp_width=default_of(TransformerOptions, "mlp_width"),
            **start,
        )
        yield advice._replace(action=advice.action + f", on the last {word} only" * bool(last))
    wanted = len(happened.informative)
    scattered = happened.attended is not None and happened.attended < _SCATTERED
    scattered &= present(happened.learned) >= _BEGUN
    if isinstance(model, TransformerOptions) and scattered and model.heads < wanted <= _MOST_HEADS:
        yield Advice(
            f"{wanted} heads",
            f"Train with {wanted} heads",
            f"The prediction depends on {wanted} tokens. One head for each is easiest to learn.",
            _changed(experiment, {"heads": wanted}),
        )


def _transformer(experiment: Experiment, part: str, reason: str, **changes: Any) -> Advice:
    """Return the advice to train a transformer, at least for its usual steps."""
    before, model = experiment.training.steps, _as_transformer(experiment.model, **changes)
    steps = max(before, TransformerOptions.usual_training["steps"])
    options, why = _for_steps(experiment.training, steps)
    return Advice(
        "transformer" if "an MLP" in part else part,
        f"Train a transformer with {part}" + f" for {steps:,} steps" * (steps > before),
        reason + why,
        _changed(dataclasses.replace(experiment, model=model), **options),
    )


def _for_steps(training: Training, steps: int) -> tuple[dict[str, Any], str]:
    """Return the options that train for this many steps, and the reason for fresh sequences."""
    if training.data != "fixed" or training.split != "independent":
        return {"steps": steps}, ""
    return {"steps": steps, **_fresh(training)}, " Fresh sequences make memorising harder."


def _fresh(training: Training) -> dict[str, Any]:
    """Return the options that replace a fixed training set by fresh sequences."""
    if training.batch_mode != "full":
        return {"data": "fresh", "split": "independent"}
    batch = max(_BATCH, training.batch)
    return {"data": "fresh", "split": "independent", "batch_mode": "minibatch", "batch": batch}


def _trains_something_else(experiment: Experiment) -> bool:
    """Return whether the model is trained to predict other tokens than the tested one."""
    training = experiment.training
    return (
        training.loss == "published"
        or training.readout == "first"
        or getattr(experiment.model, "mask", "") == "published"
    )


def _changed(
    experiment: Experiment, model: dict[str, Any] | None = None, **training: Any
) -> Experiment:
    """Return the experiment with changed options of its model and of its training."""
    options: Any = experiment.model
    return dataclasses.replace(
        experiment,
        model=dataclasses.replace(options, **(model or {})),
        training=dataclasses.replace(experiment.training, **training),
    )


def _as_transformer(model: AbstractModelOptions, **changes: Any) -> TransformerOptions:
    """Return a transformer with changed options.

    Its other options are the model's own, except the sizes of other families, which are smaller.
    """
    if isinstance(model, TransformerOptions):
        return dataclasses.replace(model, **changes)
    shared = (options_of(TransformerOptions).keys() & options_of(model).keys()) - {*_SIZES}
    return TransformerOptions(**({name: getattr(model, name) for name in shared} | changes))
