"""The next change to try after a run that fell short of what can be learned."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from attnlab.configuration.options import default_of, options_of
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

# Times as many steps, a fraction of the learning rate, and the least batch instead of a full one.
_LONGER, _SLOWER, _BATCH = 4, 0.1, 256
# From this share on that the best linear predictor learns, an MLP has hardly anything to add.
_NEARLY_LINEAR = 0.97
# A share of attention below which more heads may help, and the most heads that are proposed.
_SCATTERED, _MOST_HEADS = 0.8, 8


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
    if not experiment.generator.has_loss_mask() and _trains_something_else(experiment):
        mask = {"mask": "causal"} if getattr(model, "mask", "") == "published" else {}
        yield Advice(
            f"last {word} only",
            f"Train the last {word} only",
            f"Only the prediction of the last {word} is tested, but this loss also trains others.",
            _changed(experiment, mask, loss="last", readout="last"),
        )
    if happened.problem == DIVERGES:
        rate = max(
            _SLOWER * training.learning_rate, options_of(training)["learning_rate"].bounds[0]
        )
        yield Advice(
            f"learning rate {rate:.2g}",
            f"Train with learning rate {rate:.2g}",
            "Training made the loss worse: its steps are too large.",
            _changed(experiment, learning_rate=float(f"{rate:.2g}")),
        )
    start, reasons = {}, []
    if getattr(model, "initialisation", "") == "published":
        start["initialisation"] = "scaled"
        reasons.append("Large initial weights take many steps to unlearn.")
    if isinstance(getattr(model, "position", None), Scalar):
        start["position"] = Learned()
        reasons.append("A single number hardly distinguishes positions.")
    if start:
        what = "learned positions" if "position" in start else "scaled initial weights"
        yield Advice(what, f"Train with {what}", " ".join(reasons), _changed(experiment, start))
    if training.data == "fixed" and (happened.problem == OVERFITS or training.batch_mode == "full"):
        memorises = "The model memorises its training sequences. Fresh ones never repeat."
        whole = "Every step uses the same sequences. Fresh ones show more of the rule."
        batches: dict[str, Any] = {}
        if training.batch_mode == "full":
            batches = {"batch_mode": "minibatch", "batch": max(_BATCH, training.batch)}
        yield Advice(
            "fresh sequences",
            "Train on fresh sequences",
            memorises if happened.problem == OVERFITS else whole,
            _changed(experiment, data="fresh", split="independent", **batches),
        )
    only_adds = adds_up(model) or isinstance(model, LinearOptions)
    is_transformer = isinstance(model, TransformerOptions)
    if has_references(experiment.generator) and (
        only_adds or (is_transformer and model.layers == 1)
    ):
        yield Advice(
            "two layers",
            "Train a transformer with two layers",
            "Each sequence has its own rule. A second layer can look up what the first one found.",
            dataclasses.replace(experiment, model=_as_transformer(model, layers=2)),
        )
    if happened.problem == STILL_FALLING and not (only_adds and is_like_linear(happened)):
        most = int(options_of(training)["steps"].bounds[1])
        steps = min(_LONGER * training.steps, most)
        yield Advice(
            f"{steps:,} steps",
            f"Train for {steps:,} steps",
            "The loss was still falling at the end.",
            _changed(experiment, steps=steps),
        )
    if only_adds and (happened.linear is None or happened.linear < _NEARLY_LINEAR):
        yield Advice(
            "transformer",
            "Train a transformer with an MLP",
            "This model adds up what each token says. An MLP can combine several tokens.",
            dataclasses.replace(
                experiment,
                model=_as_transformer(model, mlp_width=default_of(TransformerOptions, "mlp_width")),
            ),
        )
    wanted = len(happened.informative)
    scattered = happened.attended is not None and happened.attended < _SCATTERED
    if isinstance(model, TransformerOptions) and scattered and model.heads < wanted <= _MOST_HEADS:
        yield Advice(
            f"{wanted} heads",
            f"Train with {wanted} heads",
            f"The prediction depends on {wanted} tokens. One head for each is easiest to learn.",
            _changed(experiment, {"heads": wanted}),
        )


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
    """Return a transformer with changed options, and the model's own values of all others."""
    if isinstance(model, TransformerOptions):
        return dataclasses.replace(model, **changes)
    offered = options_of(TransformerOptions)
    own = {name: getattr(model, name) for name in options_of(model) if name in offered}
    if "d_attn" in own:
        own["d_attn"] = min(own["d_attn"], int(offered["d_attn"].bounds[1]))
    return TransformerOptions(**{"heads": 1, "mlp_width": 0, **own, **changes})
