"""Named comparisons: questions that many runs answer."""

import dataclasses
from types import MappingProxyType

from attnlab.comparisons.grid import PRESET, Grid
from attnlab.generators import DotMod, Recall
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

COMPARISONS = MappingProxyType(
    {
        "published-table": ComparisonPreset(
            "The published table",
            "Attention and the linear model on five processes, exactly as in the code of the blog "
            "post “Understanding what self-attention is doing”.",
            Grid(((PRESET, _presets_named("published-")),), seeds=5),
        ),
        "switches-recall": ComparisonPreset(
            "One switch at a time: recall",
            "From the published head to a transformer that learns recall: each row changes one "
            "thing of the row before it.",
            _switches("recall"),
        ),
        "switches-dotmod": ComparisonPreset(
            "One switch at a time: dotmod",
            "From the published head to a transformer that learns dotmod: each row changes one "
            "thing of the row before it.",
            _switches("dotmod"),
        ),
        "which-model": ComparisonPreset(
            "Which model for which process",
            "Six families on four processes, each trained alike on fresh sequences.",
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
            "One head on recall, with and without the division of its scores by √d, from narrow "
            "to wide.",
            Grid(
                (("d_attn", ("4", "16", "64")), ("scale", ("1/sqrt(d)", "none"))),
                seeds=5,
                base=Experiment(generator=Recall(), model=AttentionOptions(), training=_FRESH),
            ),
        ),
        "memory": ComparisonPreset(
            "How long can the memory be?",
            "Recall asks for days 1, 4 and 8, ever longer ago: whether the path from there to the "
            "prediction is one step of attention, or one for every day.",
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
        "data": ComparisonPreset(
            "How much data?",
            "Training sets from 500 to 20,000 sequences; the larger models learn 500 by heart.",
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
    }
)  # fmt: skip
