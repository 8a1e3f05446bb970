"""Presets on hidden Markov processes, whose beliefs a model's activations contain."""

import dataclasses

from attnlab.generators import Mess3, RandomRandomXor
from attnlab.models import TransformerOptions
from attnlab.training.experiment import Experiment
from attnlab.training.presets.preset import Preset
from attnlab.training.steps import Training

_BELIEVING = Training(loss="next", data="fresh", batch=128, schedule="warm-up-cosine")
BELIEFS = {
    "mess3-belief": Preset(
        "Beliefs",
        "mess3: a fractal of beliefs",
        "A small transformer predicts letters. Can its beliefs be read from its activations?",
        Experiment(
            generator=Mess3(),
            model=TransformerOptions(layers=2, heads=1, d_model=64),
            training=dataclasses.replace(_BELIEVING, steps=600),
        ),
    ),
    "mess3-attention": Preset(
        "Beliefs",
        "mess3: attention fades with distance",
        "One layer of attention alone. Theory predicts how its attention falls with distance.",
        Experiment(
            generator=Mess3(a=0.5),
            model=TransformerOptions(layers=1, heads=1, d_model=64, mlp_width=0),
            training=dataclasses.replace(_BELIEVING, steps=1_500),
        ),
    ),
    "rrxor-belief": Preset(
        "Beliefs",
        "rrxor: beliefs spread over layers",
        "The next-token distribution says little about the belief. A linear probe recovers it "
        "better in each later layer.",
        Experiment(
            generator=RandomRandomXor(),
            model=TransformerOptions(layers=4, heads=1, d_model=64),
            training=dataclasses.replace(_BELIEVING, steps=2_000),
        ),
    ),
}
