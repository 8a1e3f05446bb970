"""A blog post that compares attention with a linear model, and the studies that reproduce it."""

import dataclasses
import math
from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

from attnlab.comparisons.grid import Setting, Study
from attnlab.configuration.options import OptionError, choose_one_of, present
from attnlab.known_results.entry import Check, KnownResult
from attnlab.models import MODELS
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS, switches_of
from attnlab.training.steps import Training

POST = (
    "“Understanding what self-attention is doing”, a blog post (English, 10 May 2023; Japanese, "
    "9 May 2023)"
)
# Each accuracy comes from one run, tested on this many sequences.
TEST_SEQUENCES = 1_000


class Published(NamedTuple):
    """Test accuracies of one row in the English and the Japanese post, or None."""

    english: float | None = None
    japanese: float | None = None

    @property
    def figures(self) -> tuple[float, ...]:
        """The accuracies that are not None."""
        return tuple(figure for figure in self if figure is not None)


# By process and model, as in the post.
PUBLISHED = MappingProxyType(
    {
        ("markov", "attention"): Published(0.498, 0.498),
        ("markov", "linear"): Published(),
        ("recall", "attention"): Published(0.402, 0.389),
        ("recall", "linear"): Published(0.442, 0.423),
        ("ndays10", "attention"): Published(0.363, 0.332),
        ("ndays10", "linear"): Published(0.416, 0.376),
        ("ndays15", "attention"): Published(0.356, 0.314),
        ("ndays15", "linear"): Published(0.342, 0.369),
        ("dotmod", "attention"): Published(0.435, 0.448),
        ("dotmod", "linear"): Published(0.744, 0.699),
    }
)


def standard_error(accuracy: float) -> float:
    """Return the standard error of a published accuracy: √(p (1 - p) / 1,000).

    >>> round(standard_error(0.5), 4)
    0.0158
    """
    return math.sqrt(accuracy * (1 - accuracy) / TEST_SEQUENCES)


PROCESSES = tuple(dict.fromkeys(process for process, _ in PUBLISHED))
# The processes on which the post's head falls far short.
SWITCHED = ("recall", "dotmod")
# Not all of `MODELS`, so that a new model changes no existing result.
FAMILIES = (
    "linear", "mlp", "conv", "rnn", "gru", "lstm", "ssm", "attention", "transformer",
)  # fmt: skip
# The same for every model. The decaying learning rate helps all of them.
_ZOO_TRAINING = Training(
    steps=1_500,
    data="fresh",
    batch=128,
    learning_rate=0.01,
    schedule="warm-up-cosine",
    clip=1.0,
)


def _study(name: str, *settings: tuple[str, str, Experiment]) -> Study:
    found = tuple(
        Setting((("process", process), ("model", model)), experiment)
        for process, model, experiment in settings
    )
    return Study(found, seeds=8, name=name)


def _published(process: str, model: str) -> Experiment:
    return PRESETS[f"published-{process}-{model}"].experiment


# Comparisons of which each setting has the options `process` and `model`: the post's table; one
# change after another, where `model` names a preset; and all models on the post's processes.
PARTS = MappingProxyType(
    {
        "table": _study("table", *((*row, _published(*row)) for row in PUBLISHED)),
        "ladder": _study(
            "ladder",
            *(
                (process, preset, PRESETS[preset].experiment)
                for process in SWITCHED
                for preset in switches_of(process)
            ),
        ),
        "zoo": _study(
            "zoo",
            *(
                (
                    process,
                    family,
                    Experiment(
                        generator=_published(process, "linear").generator,
                        model=MODELS[family](),
                        training=_ZOO_TRAINING,
                    ),
                )
                for process in PROCESSES
                for family in FAMILIES
            ),
        ),
    }
)


def part_named(name: str, processes: Iterable[str] = PROCESSES) -> Study:
    """Return the part of that name, with its settings on the given processes only.

    Raises:
        OptionError: If the name is not one of `PARTS`.

    """
    if name not in PARTS:
        raise OptionError("part", name, "not a part", choose_one_of(PARTS, name))
    part, wanted = PARTS[name], set(processes)
    kept = tuple(each for each in part.settings if dict(each.options)["process"] in wanted)
    return dataclasses.replace(part, settings=kept)


def _check(process: str) -> Check:
    attention, linear = (PUBLISHED[process, model].english for model in ("attention", "linear"))
    return Check(
        f"On `{process}` the linear model is more accurate.",
        f"{process}, linear",
        "accuracy",
        least=0.0,
        minus=f"{process}, attention",
        published=round(present(linear) - present(attention), 3),
    )


BLOG_POST = KnownResult(
    name="blog-post",
    title="Attention or a linear model?",
    claim="A linear model beats one attention head on weather sequences.",
    found="The linear model is {2:.2f} more accurate on `dotmod` and {0:.2f} on `recall`.",
    source=POST,
    papers=MappingProxyType({"A blog post of May 2023": ""}),
    study=PARTS["table"],
    checks=tuple(map(_check, ("recall", "ndays10", "dotmod"))),
    published=MappingProxyType(
        {
            f"{process}, {model}": each.english
            for (process, model), each in PUBLISHED.items()
            if each.english is not None
        }
    ),
)
