"""The input of the views of a model's inside, and their common interface."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attnlab.charts import Drawing
from attnlab.configuration.options import present
from attnlab.models import AttentionMap, Trace
from attnlab.runs.snapshot import Snapshot

MEAN, ALL_HEADS, ALIGNMENT = "mean", "all heads", "alignment"


class Choice(NamedTuple):
    """The user's choice: sequence or `MEAN`, index of the map, its heads, and a key of `VIEWS`."""

    sequence: int | str = MEAN
    place: int = 0
    heads: tuple[int, ...] = (0,)
    view: str = "attention"

    def of(self, trace: Trace) -> tuple[AttentionMap, np.ndarray]:
        """Return the chosen map, and the pattern of its first chosen head, `(query, key)`.

        An index that the trace does not have is replaced by the last one.
        """
        found = trace.attention[min(self.place, len(trace.attention) - 1)]
        return found, found.pattern[min(self.heads[0], len(found.pattern) - 1)]


class Influence(NamedTuple):
    """Influence of each position on each prediction, as mean and standard error over sequences."""

    mean: np.ndarray
    stderr: np.ndarray
    sequences: int


class Inside(NamedTuple):
    """The trace of a model, and further results that the views need.

    `on_truth` is the share of cross-attention on the true alignment, `(layers, heads)`.
    """

    trace: Trace
    influence: Influence | None = None
    on_truth: np.ndarray | None = None


class Shown(NamedTuple):
    """The input of a view: a run's state, the inside of its model, and the user's choice.

    `informative` are the positions that matter, from 1. `at_rest` means that nothing is changing.
    Only then are there numbers in the text alternative, since each new text redraws the chart.
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
    def influence(self) -> Influence:
        """The influence of each position, for a model that has no attention."""
        return present(self.inside.influence)

    @property
    def influence_row(self) -> tuple[np.ndarray, np.ndarray]:
        """Influence of each position on the tested prediction: mean and standard error."""
        mean, stderr, _ = self.influence
        at = self.read if len(mean) == self.length else -1
        return mean[at], stderr[at]

    @property
    def word(self) -> str:
        """What the process calls a position."""
        return self.snapshot.experiment.generator.position_word

    @property
    def length(self) -> int:
        """The number of visible positions."""
        return self.snapshot.experiment.length

    @property
    def read(self) -> int:
        """The position, from 0, that makes the tested prediction; the last one in a task."""
        return self.snapshot.experiment.read_position

    @property
    def framed(self) -> str:
        """The end of the sentence “The framed row …”, which says what this row does."""
        process = self.snapshot.experiment.generator
        if not (prompt := process.prompt_length()):
            return f"makes the {'last ' if process.has_loss_mask() else ''}prediction"
        return f"predicts the last target token; each row from {self.word} {prompt} on predicts one"

    @property
    def symbols(self) -> tuple[str, ...] | None:
        """The symbols of the chosen sequence, or None for the mean."""
        if self.choice.sequence == MEAN:
            return None
        vocabulary = self.snapshot.experiment.generator.vocabulary
        tokens = present(self.snapshot.probes)[int(self.choice.sequence)]
        return tuple(vocabulary.symbols[token] for token in tokens)

    @property
    def is_untrained(self) -> bool:
        """Whether the map has rows of the last layer that do not enter the loss."""
        if self.snapshot.experiment.training.loss != "last":
            return False
        if self.choice.view == ALL_HEADS:
            return True
        attention = self.trace.attention
        return self.choice.view != "attention" or self.choice.of(self.trace)[0] is attention[-1]


class InsideView(NamedTuple):
    """A view: whether it applies, its title, its chart, how to read it, and its main numbers.

    The chart has a height in pixels.
    """

    applies: Callable[[Inside], bool]
    title: Callable[[Shown], str]
    chart: Callable[[Shown, int], Drawing]
    how: Callable[[Shown], str]
    numbers: Callable[[Shown], str] = lambda shown: ""

    def alternative(self, shown: Shown) -> str:
        """Return the chart's text alternative, with numbers only if nothing is changing."""
        numbers = self.numbers(shown) if shown.at_rest else ""
        return f"{self.title(shown)}, {shown.length} {shown.word}s. {numbers}".rstrip()
