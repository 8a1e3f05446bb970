"""Presets on sorted hands, reversed letters, sums, and hidden Markov processes."""

import dataclasses

from attnlab.generators import (
    Cards,
    Mess3,
    ModularAddition,
    OwnSequences,
    RandomRandomXor,
    Reverse,
)
from attnlab.models import (
    EncoderDecoderOptions,
    RNNAttentionOptions,
    RNNBottleneckOptions,
    TransformerOptions,
)
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import AdamW
from attnlab.training.presets.preset import Preset
from attnlab.training.steps import Training

_WRITING = Training(loss="next", steps=2_000, data="fresh", batch=256, schedule="warm-up-cosine")
_SEQUENCES = "Sequences"
TASKS = {
    "cards-encoder-decoder": Preset(
        _SEQUENCES,
        "Sort a hand: encoder-decoder",
        "A transformer encoder reads a hand of five cards; a decoder writes them in order.",
        Experiment(
            generator=Cards(),
            model=EncoderDecoderOptions(),
            training=dataclasses.replace(_WRITING, steps=1_000),
        ),
    ),
    "cards-rnn-attention": Preset(
        _SEQUENCES,
        "Sort a hand: RNN with attention",
        "A recurrent decoder writes five cards in order. It attends to all encoder states.",
        Experiment(generator=Cards(), model=RNNAttentionOptions(hidden_size=64), training=_WRITING),
    ),
    "cards-bottleneck": Preset(
        _SEQUENCES,
        "Sort a hand: RNN, last state only",
        "Width and steps are as with attention, but the decoder gets only the last state.",
        Experiment(
            generator=Cards(), model=RNNBottleneckOptions(hidden_size=64), training=_WRITING
        ),
    ),
    "reverse-rnn-attention": Preset(
        _SEQUENCES,
        "Reverse letters: RNN with attention",
        "A recurrent network writes ten letters backwards. The true alignment is a diagonal.",
        Experiment(generator=Reverse(), model=RNNAttentionOptions(), training=_WRITING),
    ),
    # Longer training would learn the sample by heart.
    "own-text": Preset(
        _SEQUENCES,
        "The letters of a text",
        "A small transformer learns to continue a text. Replace the sample by your own text.",
        Experiment(
            generator=OwnSequences(),
            model=TransformerOptions(layers=1, heads=1, d_attn=8, d_model=16, mlp_width=32),
            length=12,
            training=Training(loss="next", steps=400, data="fresh", batch=64, learning_rate=0.005),
        ),
    ),
}


# Four tenths of the 37² pairs are the test.
GROKKING = {
    "grokking": Preset(
        "Generalisation",
        "Grokking: memorise first, add later",
        "A transformer memorises sums modulo 37. Long after that, weight decay makes it add.",
        Experiment(
            generator=ModularAddition(),
            model=TransformerOptions(
                heads=4,
                d_attn=16,
                d_model=64,
                mlp_width=128,
                normalisation="none",
            ),
            training=Training(
                optimiser=AdamW(weight_decay=1.0),
                batch_mode="full",
                steps=5_000,
                split="distinct",
                train_size=821,
                test_size=548,
            ),
        ),
    ),
}


# A model's activations contain the beliefs about these processes.
_BELIEVING = Training(loss="next", data="fresh", batch=128, schedule="warm-up-cosine")
BELIEFS = {
    "mess3-belief": Preset(
        "Beliefs",
        "mess3: a fractal of beliefs",
        "A small transformer predicts letters. Can its beliefs be read from its activations? "
        "Under more, the options x and a shape the fractal.",
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
