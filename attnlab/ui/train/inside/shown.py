"""What a view of a model's inside draws from, and what a view is."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.charts import Drawing
from attnlab.models import AttentionMap, Trace
from attnlab.runs.snapshot import Snapshot

MEAN, ALL_HEADS, ALIGNMENT = "mean", "all heads", "alignment"


class Choice(NamedTuple):
    """Which part of a trace is drawn: of which sequence, the place of its map and heads, the view.

    `view` is one of `VIEWS`.
    """

    sequence: int | str = MEAN
    place: int = 0
    heads: tuple[int, ...] = (0,)
    view: str = "attention"

    def of(self, trace: Trace) -> tuple[AttentionMap, np.ndarray]:
        """The map and the pattern of the first of the heads, or of the last there is."""
        found = trace.attention[min(self.place, len(trace.attention) - 1)]
        return found, found.pattern[min(self.heads[0], len(found.pattern) - 1)]


class Influence(NamedTuple):
    """What predictions depend on: mean and standard error over a number of sequences."""

    mean: np.ndarray
    stderr: np.ndarray
    sequences: int


class Inside(NamedTuple):
    """The trace of a model, and what the page computes beside it.

    `on_truth` is the share of cross-attention on the true alignment, by layer and head.
    """

    trace: Trace
    influence: Influence | None = None
    on_truth: np.ndarray | None = None


class Shown(NamedTuple):
    """What a view draws from: a run, the inside of its model, and what is chosen of it.

    `informative` are positions from 1. `at_rest` is whether nothing moves: a text alternative that
    changes makes the browser draw the chart again, so it has numbers only then.
    """

    snapshot: Snapshot
    inside: Inside
    choice: Choice
    informative: Sequence[int] = ()
    at_rest: bool = False
    dark: bool = False

    @property
    def trace(self) -> Trace:
        """The trace of the model."""
        return self.inside.trace

    @property
    def word(self) -> str:
        """What the process calls a position."""
        return self.snapshot.experiment.generator.position_word

    @property
    def length(self) -> int:
        """How many positions are visible."""
        return self.snapshot.experiment.length

    @property
    def read(self) -> int:
        """The place of the query that makes the prediction; the last of those of a task."""
        return self.snapshot.experiment.read_position

    @property
    def framed(self) -> str:
        """What the framed row is, that of this query, in words that go on from “the framed one”."""
        given = self.snapshot.experiment.generator.given()
        if not given:
            return "makes the prediction"
        return (
            f"predicts the last target token, as those from {self.word} {given} on predict one each"
        )

    @property
    def symbols(self) -> tuple[str, ...] | None:
        """Those of the chosen sequence, or None of a mean."""
        if self.choice.sequence == MEAN:
            return None
        vocabulary = self.snapshot.experiment.generator.vocabulary
        return tuple(
            vocabulary.symbols[token] for token in self.snapshot.probes[self.choice.sequence]
        )

    @property
    def is_untrained(self) -> bool:
        """Whether maps that are shown have rows without a part in the loss.

        They are those of the last layer beside the one that predicts.
        """
        if self.snapshot.experiment.training.loss != "last":
            return False
        if self.choice.view == ALL_HEADS:
            return True
        attention = self.trace.attention
        return self.choice.view != "attention" or self.choice.of(self.trace)[0] is attention[-1]


class InsideView(NamedTuple):
    """Whether an inside has it, its title, its chart, its text alternative, and how to read it."""

    holds: Callable[[Inside], bool]
    title: Callable[[Shown], str]
    drawing: Callable[..., Drawing]
    alternative: Callable[[Shown], str]
    how: Callable[[Shown], str]
