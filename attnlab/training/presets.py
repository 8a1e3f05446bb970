"""Named experiments: one to begin with, a blog post's rows as published, and corrected ones."""

import dataclasses
from types import MappingProxyType

from attnlab.generators import AbstractGenerator, DotMod, Markov, NDays, Recall
from attnlab.models import (
    AbstractModelOptions,
    AttentionOptions,
    LinearOptions,
    TransformerOptions,
)
from attnlab.positions import Scalar
from attnlab.training.experiment import Experiment
from attnlab.training.steps import Training


@dataclasses.dataclass(frozen=True)
class Preset:
    """An experiment and one line on what it shows."""

    description: str
    experiment: Experiment


FIRST_PRESET = "three-heads"
# Learns what can be learned in some ten seconds. Of six seeds the first one parts its heads most
# clearly: each of the three has most of its attention on a day of its own.
_FIRST = Preset(
    "A transformer with three heads on recall: each head finds one of the days that determine "
    "the next.",
    Experiment(
        generator=Recall(),
        model=TransformerOptions(layers=1, heads=3, d_model=24),
        training=Training(steps=2_000, data="fresh", batch=256),
    ),
)

# The code of the blog post "Understanding what self-attention is doing" (10 May 2023).
_PUBLISHED_PROCESSES = {
    "markov": (Markov(), 1_000),
    "recall": (Recall(variant="published"), 5_000),
    "ndays10": (NDays(n=10), 5_000),
    "ndays15": (NDays(n=15), 5_000),
    "dotmod": (DotMod(variant="published"), 5_000),
}
_PUBLISHED_ATTENTION = AttentionOptions(
    position=Scalar(), mask="published", initialisation="published"
)
_PUBLISHED_LINEAR = LinearOptions(initialisation="published", day_feature="with")

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


def _all_presets() -> dict[str, Preset]:
    presets = {FIRST_PRESET: _FIRST}
    presets |= {
        f"corrected-{name}": Preset(
            f"{name}: causal mask, last-day loss and readout, minibatches, learned positions.",
            experiment,
        )
        for name, experiment in _CORRECTED.items()
    }
    for name, (generator, size) in _PUBLISHED_PROCESSES.items():
        presets[f"published-{name}-attention"] = Preset(
            f"{name} with attention, exactly as in the code of the blog post “Understanding "
            "what self-attention is doing”.",
            _published(generator, size, _PUBLISHED_ATTENTION, "published", "first"),
        )
        presets[f"published-{name}-linear"] = Preset(
            f"{name} with the linear model, exactly as in the code of the blog post "
            "“Understanding what self-attention is doing”.",
            _published(generator, size, _PUBLISHED_LINEAR, "last", "last"),
        )
    return presets


PRESETS = MappingProxyType(_all_presets())
