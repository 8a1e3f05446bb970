"""Attends, depends, truth: three maps of one experiment on the same axes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.inspection.predictions import final_probs, probs_by_query
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import mean_trace
from attnlab.models.readout import readout_position
from attnlab.optimum import influence, possible_pasts
from attnlab.training.experiment import Experiment


class Comparison(NamedTuple):
    """Rows are queries and columns days; each map is a mean over the same sequences.

    `attention`: the patterns of every layer and head; none for a model without. `depends`: how far
    the model's prediction at a query moves, in total variation, when a day is drawn anew. `truth`:
    the same of the true prediction. A model that reads the whole sequence at once has the last row
    only; so has a model that is not read out at the last position.
    """

    attention: tuple[AttentionMap, ...]
    depends: Float[np.ndarray, "query day"]
    depends_stderr: Float[np.ndarray, "query day"]
    truth: Float[np.ndarray, "query day"]

    @property
    def attends(self) -> Float[np.ndarray, "query day"] | None:
        """The mean over the heads of the last layer, or None for a model without attention."""
        return self.attention[-1].pattern.mean(axis=0) if self.attention else None


def compare(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    truth: Float[np.ndarray, "length length"],
    marginals: Float[np.ndarray, "length vocab"],
) -> Comparison:
    """What the model attends to, what its predictions depend on, and what the truth depends on.

    Both dependences leave out the same days: replacements that the process cannot produce.
    `truth` is the map of the process, such as `Dependence.replacement`; `marginals` are
    those of the days.
    """
    attention, readout = mean_trace(model, sequences).attention, experiment.training.readout
    possible = possible_pasts(experiment.generator)
    if experiment.model.every_position and readout == "last":
        depends, stderr = influence(
            lambda days: probs_by_query(model, days), sequences, marginals, possible
        )
        return Comparison(attention, depends, stderr, truth)
    read = readout_position(readout, sequences.shape[1])
    alone = tuple(_row(found, read) for found in attention)
    depends, stderr = influence(
        lambda days: final_probs(model, days, readout)[:, None], sequences, marginals, possible
    )
    return Comparison(alone, depends, stderr, truth[-1:])


def _row(found: AttentionMap, query: int) -> AttentionMap:
    row = slice(query, query + 1)
    return AttentionMap(found.pattern[:, row], found.mask[row], found.layer, found.kind)
