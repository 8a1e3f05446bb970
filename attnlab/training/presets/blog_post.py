"""One preset to start with, a blog post's experiments as published, and improved ones."""

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from attnlab.generators import AbstractGenerator, DotMod, HiddenMarkov, Markov, NDays, Recall
from attnlab.models import AbstractModelOptions, AttentionOptions, LinearOptions, TransformerOptions
from attnlab.positions import Learned, Scalar
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import WarmUpCosine
from attnlab.training.presets.preset import Preset
from attnlab.training.steps import Training

FIRST_PRESET = "three-heads"
# Learns what can be learned in some ten seconds. Among six seeds, the first separates its heads
# best: each of the three has most of its attention on a different position.
_FIRST = Preset(
    "Start here",
    "Heads find the days that matter",
    "Each head of this transformer finds one of the three days that set the odds of the next day.",
    Experiment(
        generator=Recall(),
        model=TransformerOptions(layers=1, heads=3, d_model=24),
        training=Training(steps=2_000, data="fresh", batch=256),
    ),
    short="three heads",
)

# The code of the blog post "Understanding what self-attention is doing" (10 May 2023).
_PUBLISHED_PROCESSES = {
    "markov": (Markov(), 1_000),
    "recall": (Recall(variant="published"), 5_000),
    "ndays10": (NDays(n=10), 5_000),
    "ndays15": (NDays(n=15), 5_000),
    "dotmod": (DotMod(variant="published"), 5_000),
}
# Model options, loss and readout.
_PUBLISHED_MODELS = {
    "attention": (
        AttentionOptions(position=Scalar(), mask="published", initialisation="published"),
        "published",
        "first",
    ),
    "linear": (LinearOptions(initialisation="published", day_feature="with"), "last", "last"),
}

_CORRECTED = {
    "markov": Experiment(generator=Markov()),
    "recall": Experiment(
        generator=Recall(),
        training=Training(learning_rate=0.01, steps=2_000, data="fresh", batch=256),
    ),
    "ndays": Experiment(generator=NDays(), training=Training(steps=2_000, data="fresh")),
    "dotmod": Experiment(
        generator=DotMod(),
        model=AttentionOptions(d_attn=16, d_model=16),
        training=Training(learning_rate=0.01, steps=5_000, data="fresh", batch=256),
    ),
}


_SOLVING = Training(
    steps=2_000, data="fresh", batch=256, learning_rate=0.01, schedule="warm-up-cosine"
)
# Results over seeds, and with 5,000 fixed instead of fresh sequences, are in `docs/solved.md`.
_SOLVED = {
    "markov": Experiment(generator=Markov(), model=TransformerOptions(), training=_SOLVING),
    "recall": Experiment(generator=Recall(), model=TransformerOptions(), training=_SOLVING),
    "ndays-10": Experiment(generator=NDays(n=10), model=TransformerOptions(), training=_SOLVING),
    "ndays-15": Experiment(
        generator=NDays(n=15), length=15, model=TransformerOptions(), training=_SOLVING
    ),
    # Six days decide: with fewer heads some seeds miss one of them.
    "dotmod": Experiment(generator=DotMod(), model=TransformerOptions(heads=6), training=_SOLVING),
    "hmm": Experiment(generator=HiddenMarkov(), model=TransformerOptions(), training=_SOLVING),
}


class _Switch(NamedTuple):
    """A change of options of the model or of the training, and the accuracies after it.

    There is one accuracy for each process of `_SWITCHED`, in the same order.
    """

    name: str
    says: str
    accuracy: tuple[float, float]
    model: Mapping[str, Any] = MappingProxyType({})
    training: Mapping[str, Any] = MappingProxyType({})


# Accuracies are means over the seeds of the shipped result, on 10,000 test sequences: `python -m
# attnlab reproduce --shipped --part ladder`.
_SWITCHES = (
    _Switch("mask", "causal mask", (0.423, 0.409), model={"mask": "causal"}),
    _Switch("readout", "predict at the last day", (0.402, 0.449), training={"readout": "last"}),
    _Switch("loss", "train the last day only", (0.387, 0.497), training={"loss": "last"}),
    _Switch(
        "minibatch",
        "256 sequences a step",
        (0.385, 0.471),
        training={"batch_mode": "minibatch", "batch": 256},
    ),
    _Switch(
        "sequences",
        "2,000 fresh batches, LR decay",
        (0.399, 0.503),
        training={"data": "fresh", "steps": 2_000, "schedule": WarmUpCosine()},
    ),
    _Switch(
        "initialisation",
        "small initial weights",
        (0.409, 0.553),
        model={"initialisation": "scaled"},
    ),
    _Switch("positions", "learned positions", (0.458, 0.744), model={"position": Learned()}),
    _Switch(
        "mlp",
        "transformer: residuals and MLP",
        (0.505, 0.942),
        model={"family": TransformerOptions(heads=1)},
    ),
    _Switch("heads", "six heads", (0.545, 0.959), model={"heads": 6}),
    _Switch("depth", "two layers", (0.546, 0.961), model={"layers": 2}),
)
_SWITCHED = {"recall": 0.375, "dotmod": 0.452}


def switches_of(process: str) -> dict[str, str]:
    """Return the presets from the published head to a model that learns `process`, in order.

    Each has one line on the setting that changes there; the changes before it are kept.

    >>> list(switches_of("recall").items())[:2]
    [('published-recall-attention', 'the published head'), ('recall-1-mask', 'causal mask')]
    """
    names = {f"{process}-{n}-{switch.name}": switch.says for n, switch in enumerate(_SWITCHES, 1)}
    return {f"published-{process}-attention": "the published head", **names}


def _switched(process: str) -> Iterator[tuple[_Switch, Experiment]]:
    """Yield each change with the experiment after it: the published head and all changes so far."""
    experiment = _published(*_PUBLISHED_PROCESSES[process], *_PUBLISHED_MODELS["attention"])
    for switch in _SWITCHES:
        changes = dict(switch.model)
        model = changes.pop("family", experiment.model)
        experiment = dataclasses.replace(
            experiment,
            model=dataclasses.replace(model, **changes),
            training=dataclasses.replace(experiment.training, **switch.training),
        )
        yield switch, experiment


def _published(
    generator: AbstractGenerator, size: int, model: AbstractModelOptions, loss: str, readout: str
) -> Experiment:
    training = Training(
        loss=loss,
        readout=readout,
        learning_rate=0.01,
        batch_mode="full",
        train_size=size,
        steps=500,
    )
    return Experiment(generator=generator, model=model, training=training)


def _weather_presets() -> dict[str, Preset]:
    presets = {FIRST_PRESET: _FIRST}
    for name, (generator, size) in _PUBLISHED_PROCESSES.items():
        for model, settings in _PUBLISHED_MODELS.items():
            presets[f"published-{name}-{model}"] = Preset(
                "Published",
                f"{name}: {model}",
                "As in the code of the blog post “Understanding what self-attention is doing”.",
                _published(generator, size, *settings),
                of_post=True,
                short=f"published {model}",
            )
    for place, (process, before) in enumerate(_SWITCHED.items()):
        for number, (switch, experiment) in enumerate(_switched(process), 1):
            accuracy = switch.accuracy[place]
            presets[f"{process}-{number}-{switch.name}"] = Preset(
                "Changes",
                f"{process} {number}: {switch.says}",
                f"Change {number} of {len(_SWITCHES)} from published to solved. Mean accuracy over "
                f"seeds: {before:.3f} without it, {accuracy:.3f} with it.",
                experiment,
                of_post=True,
            )
            before = accuracy
    for name, experiment in _CORRECTED.items():
        presets[f"corrected-{name}"] = Preset(
            "Corrected",
            f"{name}: attention head",
            "The post's head with a causal mask, last-day loss, minibatches and learned positions. "
            "It learns only part of recall and dotmod.",
            experiment,
        )
    for name, experiment in _SOLVED.items():
        presets[f"solved-{name}"] = Preset(
            "Solved",
            f"{name.replace('-', '')}: transformer",
            "A one-layer transformer reaches the best possible loss on fresh sequences. It would "
            "memorise 5,000 fixed ones.",
            experiment,
        )
    return presets


WEATHER = MappingProxyType(_weather_presets())
