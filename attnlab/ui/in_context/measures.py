"""What the tab “Which algorithm” measures of a model, and its results over training."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from attnlab.inspection import (
    HeadScore,
    References,
    Strategies,
    expected_loss,
    head_scores,
    probs_by_query,
    references_of,
    strategies,
)
from attnlab.inspection.strategies import has_references
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import LossByPosition
from attnlab.training.experiment import Experiment
from attnlab.ui.core.figures import Pending, figure
from attnlab.ui.core.session import kept_result
from attnlab.ui.train import course
from attnlab.ui.train.course import result_shown
from attnlab.ui.train.cursor import Moment

_COURSE = "in_context_course"


class Measured(NamedTuple):
    """Results of one model: divergences from the references, expected loss, and its heads."""

    found: Strategies
    loss: LossByPosition
    heads: tuple[HeadScore, ...]


def references_for(experiment: Experiment) -> References:
    """Return the reference predictions of an experiment.

    Raises:
        Pending: If they are not known yet.
    """
    found = figure(references_of, experiment.generator, experiment.length, experiment.seed)
    if found is None:
        raise Pending("Computing the exact predictions …")
    return found


def measure(experiment: Experiment, references: References, model: AbstractModel) -> Measured:
    """Measure a model on the sequences of the references."""
    sequences = references.sequences
    probs = probs_by_query(model, sequences[:, :-1])
    heads = head_scores(experiment.generator, model, sequences) if model.has_heads else ()
    return Measured(strategies(references, probs), expected_loss(references, probs), heads)


class Course(NamedTuple):
    """Results over training. `steps` increase; the first is 0, the untrained model.

    `most` is the loss of a uniform guess above the floor, in nats.
    """

    steps: tuple[int, ...]
    results: tuple[Measured, ...]
    most: float

    def heads(self, place: int, measure: str) -> np.ndarray:
        """Return a share of one head, and its standard error, at every step."""
        scores = [each.heads[place] for each in self.results]
        rows = [(getattr(one, measure), getattr(one, f"{measure}_stderr")) for one in scores]
        return np.array(rows, np.float64).T

    def learned(self) -> np.ndarray:
        """Return the share learned at every step: 0 for a uniform guess, 1 for the optimum."""
        excess = np.array([each.found.divergence[-1] for each in self.results])
        return 1 - excess / self.most

    def divergences(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the divergences by step and reference, and their standard errors."""
        found = [each.found for each in self.results]
        return (
            np.stack([each.divergence for each in found]),
            np.stack([each.divergence_stderr for each in found]),
        )


def missing(snapshot: Snapshot) -> Sequence[tuple[int, AbstractModel]]:
    """Return the kept models that are not measured yet; none while the run trains."""
    if not has_references(snapshot.experiment.generator):
        return ()
    return course.Course(_COURSE, snapshot).missing()


def measured_at(
    snapshot: Snapshot, references: References, moment: Moment
) -> tuple[int, Measured, Course]:
    """Return the step and results of the shown model, and results over training so far."""
    known: course.Course[Measured] = course.Course(_COURSE, snapshot)
    of_model = partial(measure, snapshot.experiment, references)

    def of_shown(model: AbstractModel) -> Measured:
        return known.results.get(moment.model_step) or of_model(model)

    if snapshot.history.checkpoints and 0 not in known.results:
        first, model = snapshot.history.checkpoints[0]
        known.results[first] = of_model(model)
    shown = result_shown("in_context", references, snapshot, moment, of_shown)
    known.results[shown.step] = shown.result
    known.compute_some(lambda _, model: of_model(model))
    steps, found = zip(*known.curve(), strict=True)
    most = kept_result("most", references, None, lambda: uniform_excess(references))
    return shown.step, shown.result, Course(steps, found, most)


def uniform_excess(references: References) -> float:
    """Return KL(optimal ‖ uniform): the loss of a uniform guess above the floor, in nats."""
    return float(strategies(references, references.probs[0]).divergence[-1])
