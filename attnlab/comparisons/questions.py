"""Named comparisons: each answers one question."""

import dataclasses
from types import MappingProxyType

from attnlab.comparisons.grid import PRESET, Grid
from attnlab.generators import Custom, DotMod, InContextMarkov, Recall
from attnlab.models import AttentionOptions, TransformerOptions
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training


@dataclasses.dataclass(frozen=True)
class ComparisonPreset:
    """A comparison, its question as a title, and one line on what is compared."""

    title: str
    description: str
    grid: Grid


def _presets_named(*beginnings: str) -> tuple[str, ...]:
    return tuple(name for start in beginnings for name in PRESETS if name.startswith(start))


def _switches(process: str) -> Grid:
    names = (f"published-{process}-attention", *_presets_named(f"{process}-"))
    return Grid(((PRESET, names),), seeds=3)


_FRESH = Training(steps=1_000, data="fresh")
FIRST_COMPARISON = "attention-or-linear"

COMPARISONS = MappingProxyType(
    {
        FIRST_COMPARISON: ComparisonPreset(
            "Does attention beat a linear model?",
            "Linear model, attention head and transformer learn the sidebar's process.",
            Grid((("model", ("linear", "attention", "transformer")),), seeds=5),
        ),
        "published-table": ComparisonPreset(
            "The published table",
            "Attention and the linear model are trained on five processes. Settings are those of "
            "the code of the blog post “Understanding what self-attention is doing”.",
            Grid(((PRESET, _presets_named("published-")),), seeds=5),
        ),
        "switches-recall": ComparisonPreset(
            "One change at a time: recall",
            "The first row is the published head, the last a transformer that learns recall. Each "
            "row makes one change to the row above.",
            _switches("recall"),
        ),
        "switches-dotmod": ComparisonPreset(
            "One change at a time: dotmod",
            "The first row is the published head, the last a transformer that learns dotmod. Each "
            "row makes one change to the row above.",
            _switches("dotmod"),
        ),
        "which-model": ComparisonPreset(
            "Which model for which process",
            "Six models are trained on four processes, all in the same way, on fresh sequences.",
            Grid(
                (
                    ("generator", ("markov", "recall", "ndays", "dotmod")),
                    ("model", ("linear", "mlp", "attention", "transformer", "conv", "gru")),
                ),
                seeds=3,
                base=Experiment(training=_FRESH),
            ),
        ),
        "scale": ComparisonPreset(
            "Does 1/√d matter?",
            "An attention head learns recall, with and without dividing its scores by √d. Its "
            "width grows from 4 to 64.",
            Grid(
                (("d_attn", ("4", "16", "64")), ("scale", ("1/sqrt(d)", "none"))),
                seeds=5,
                base=Experiment(generator=Recall(), model=AttentionOptions(), training=_FRESH),
            ),
        ),
        "memory": ComparisonPreset(
            "How long can the memory be?",
            "In longer sequences, the days to recall are further back. Attention reaches them in "
            "one step; a recurrent network needs one step per day.",
            Grid(
                (
                    ("model", ("transformer", "rnn", "gru", "ssm")),
                    ("length", ("10", "16", "24", "32")),
                ),
                seeds=3,
                base=Experiment(
                    generator=Recall(), model=TransformerOptions(), training=_FRESH
                ),
            ),
        ),
        "belief-families": ComparisonPreset(
            "Which family carries the belief?",
            "Three families learn `mess3` and `rrxor`. Compare R² of the belief with that before "
            "training: only what is above it was learned.",
            Grid(
                (
                    ("generator", ("mess3", "rrxor")),
                    ("model", ("gru", "ssm", "transformer")),
                ),
                seeds=3,
                base=PRESETS["mess3-belief"].experiment,
                metrics=("belief_r2", "untrained_belief_r2"),
            ),
        ),
        "extrapolation": ComparisonPreset(
            "Which position encoding extrapolates?",
            "A transformer learns `mess3` from ten tokens, with each encoding. Then it predicts "
            "sequences of twenty.",
            Grid(
                (("position", ("alibi", "rotary", "sinusoidal", "none")),),
                seeds=3,
                base=PRESETS["mess3-belief"].experiment,
                metrics=("excess_at_double_length",),
            ),
        ),
        "extrapolation-in-context": ComparisonPreset(
            "Which encoding extrapolates in context?",
            "Two layers learn `in-context-markov` from 32 tokens, with each encoding. Then they "
            "predict sequences of 64 and of 128.",
            Grid(
                (("position", ("alibi", "rotary", "sinusoidal", "none")),),
                seeds=3,
                base=dataclasses.replace(PRESETS["icl-markov"].experiment, length=32),
                metrics=("excess_at_double_length", "excess_at_fourfold_length"),
            ),
        ),
        "data": ComparisonPreset(
            "How much data?",
            "Training sets have 500 to 20,000 sequences. The larger models memorise 500.",
            Grid(
                (
                    ("model", ("linear", "attention", "transformer")),
                    ("train_size", ("500", "2000", "5000", "20000")),
                ),
                seeds=3,
                base=Experiment(
                    generator=DotMod(),
                    model=TransformerOptions(),
                    training=Training(steps=1_000),
                ),
            ),
        ),
        "recall-pairs": ComparisonPreset(
            "Who recalls how many pairs?",
            "Keys and values come first, then the keys again. Attention looks a key up; other "
            "models must keep all pairs in their state.",
            Grid(
                (
                    ("model", ("transformer", "gru", "ssm", "conv")),
                    ("pairs", ("2", "4", "7")),
                ),
                seeds=3,
                base=PRESETS["recall-pairs"].experiment,
            ),
        ),
        "state-size": ComparisonPreset(
            "How large a state recalls four pairs?",
            "Recurrent and state-space models keep four pairs in a state of 16 to 64 numbers.",
            Grid(
                (("model", ("gru", "ssm")), ("hidden_size", ("16", "32", "64"))),
                seeds=3,
                base=PRESETS["recall-pairs"].experiment,
            ),
        ),
        "table-count": ComparisonPreset(
            "Retrieve a known table, or infer a new one?",
            "Models train on 2, 8 or 64 tables, and are tested on new ones. KL from retrieval is "
            "small if a model knows its tables by heart, KL from inference if it reads a new one.",
            Grid(
                (("table_count", ("2", "8", "64")), ("steps", ("250", "1000", "2000"))),
                seeds=3,
                metrics=("retrieval_kl", "inference_kl"),
                base=dataclasses.replace(
                    PRESETS["icl-markov"].experiment,
                    generator=InContextMarkov(prior="known-tables"),
                ),
            ),
        ),
        "tied-unembedding": ComparisonPreset(
            "Does a tied unembedding get stuck?",
            "On a binary chain, one layer with a tied unembedding reportedly often ends at the "
            "unigram loss, 0.6663 nats. The best possible loss is 0.6190.",
            Grid(
                (("unembedding", ("tied", "own")), ("layers", ("1", "2"))),
                seeds=5,
                base=Experiment(
                    generator=Custom(symbols="a b", table=((0.5, 0.5), (0.8, 0.2))),
                    length=63,
                    model=TransformerOptions(heads=1, d_model=8, mlp_width=32),
                    training=Training(
                        loss="next",
                        data="fresh",
                        learning_rate=0.001,
                        batch=32,
                        steps=1_500,
                        test_size=1_000,
                    ),
                ),
            ),
        ),
    }
)  # fmt: skip
