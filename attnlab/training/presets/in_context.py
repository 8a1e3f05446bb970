"""Presets on processes in which each sequence has its own rule."""

import dataclasses

from attnlab.generators import InContextMarkov, Induction, RecallPairs
from attnlab.models import TransformerOptions
from attnlab.positions import Alibi, Rotary
from attnlab.training.experiment import Experiment
from attnlab.training.presets.preset import Preset
from attnlab.training.steps import Training

# Each of some hundred tests is of every token, so more sequences would take longer than training.
_READING = Training(loss="next", data="fresh", batch=64, test_size=1_000)
_TWO_LAYERS = TransformerOptions(layers=2, heads=1, d_attn=16, d_model=16, mlp_width=0)
_TWO_HEADS = dataclasses.replace(_TWO_LAYERS, heads=2, d_model=32)
_INDUCTION = Experiment(
    generator=Induction(),
    length=31,
    model=dataclasses.replace(_TWO_HEADS, position=Rotary()),
    training=dataclasses.replace(
        _READING, steps=1_000, learning_rate=0.01, schedule="warm-up-cosine"
    ),
)
_MARKOV = Experiment(
    generator=InContextMarkov(),
    length=64,
    model=_TWO_LAYERS,
    training=dataclasses.replace(_READING, steps=2_000),
)
_RECALL = Experiment(
    generator=RecallPairs(pairs=4),
    length=31,
    model=_TWO_HEADS,
    training=dataclasses.replace(_READING, steps=1_000),
)
_GROUP = "In context"
# Descriptions report runs with seed 0, or with seeds 0 and 1.
IN_CONTEXT = {
    "induction": Preset(
        _GROUP,
        "Induction: copy what followed before",
        "Two attention layers read repeated letters. A head in the first looks one letter back; "
        "one in the second copies what came next.",
        _INDUCTION,
    ),
    "induction-pairs": Preset(
        _GROUP,
        "Induction: pairs that repeat",
        "Letters are random, but a letter is usually followed by what followed it before. Heads of "
        "the second layer attend to that token.",
        dataclasses.replace(_INDUCTION, generator=Induction(repeats="pairs")),
    ),
    "icl-markov": Preset(
        _GROUP,
        "Each sequence has its own table",
        "Two layers learn to count, in each sequence, which token follows which.",
        _MARKOV,
    ),
    "icl-markov-one-layer": Preset(
        _GROUP,
        "Own tables: one layer",
        "One layer alone stays near the in-context unigram: it counts tokens, not pairs.",
        dataclasses.replace(_MARKOV, model=dataclasses.replace(_TWO_LAYERS, layers=1)),
    ),
    "icl-markov-alibi": Preset(
        _GROUP,
        "Own tables: ALiBi gets stuck",
        "With ALiBi the same two layers stay 0.03 to 0.05 nats above the best loss.",
        dataclasses.replace(_MARKOV, model=dataclasses.replace(_TWO_LAYERS, position=Alibi())),
    ),
    "icl-markov-high-rate": Preset(
        _GROUP,
        "Own tables: a high learning rate",
        "With a learning rate of 0.1 instead of 0.005, predictions stay between uniform and the "
        "unigram.",
        dataclasses.replace(
            _MARKOV, training=dataclasses.replace(_MARKOV.training, learning_rate=0.1)
        ),
    ),
    "icl-markov-doubly": Preset(
        _GROUP,
        "Own tables: doubly stochastic",
        "Token counts are useless in these tables, so there is no plateau at the unigram.",
        dataclasses.replace(_MARKOV, generator=InContextMarkov(prior="doubly-stochastic")),
    ),
    "icl-markov-known": Preset(
        _GROUP,
        "Two known tables: retrieval",
        "The model learns two tables by heart, and infers which of them made the sequence.",
        dataclasses.replace(
            _MARKOV, generator=InContextMarkov(prior="known-tables", table_count=2)
        ),
    ),
    "recall-pairs": Preset(
        _GROUP,
        "Recall the value of a key",
        "Four pairs of keys and values come first. Two layers find the value of each key later.",
        _RECALL,
    ),
    "recall-pairs-all-tokens": Preset(
        _GROUP,
        "Recall with all tokens in the loss",
        "Every token is in the loss, not only the answers. Learning to recall then takes two to "
        "five times as many steps.",
        dataclasses.replace(
            _RECALL, training=dataclasses.replace(_RECALL.training, loss_tokens="all")
        ),
    ),
}
