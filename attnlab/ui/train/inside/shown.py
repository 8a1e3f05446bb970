"""What a view of a model's inside draws from, and what a view is."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.charts import Drawing
from attnlab.models import AttentionMap, Trace
from attnlab.runs.snapshot import Snapshot

MEAN, ALL_HEADS, ALIGNMENT = "mean", "all heads", "alignment"
# Of a trace's values, those that the page adds: what predictions depend on, its standard error, and
# the number of sequences that it is the mean of; how much attention is on the true alignment.
INFLUENCE, INFLUENCE_STDERR, INFLUENCE_OF = (
    "influence", "standard error of the influence", "sequences of the influence",
)  # fmt: skip
ON_TRUTH = "attention on the true alignment"


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


class Shown(NamedTuple):
    """What a view draws from: a run, a trace of its model, and what is chosen of it.

    `informative` are days from 1. `at_rest` where nothing moves: a text alternative that changes
    would draw the chart anew, and so names figures only then.
    """

    snapshot: Snapshot
    trace: Trace
    choice: Choice
    informative: Sequence[int] = ()
    at_rest: bool = False

    @property
    def length(self) -> int:
        """How many days are visible."""
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
        return f"predicts the last target token, as those from day {given} on predict one each"

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
    """Whether a trace has it, its title, its chart, its text alternative, and how to read it."""

    holds: Callable[[Trace], bool]
    title: Callable[[Shown], str]
    drawing: Callable[..., Drawing]
    alternative: Callable[[Shown], str]
    how: Callable[[Shown], str]
