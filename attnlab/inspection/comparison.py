"""Attends, depends, truth: three maps of one experiment on the same axes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnlab.inspection.predictions import final_probs, probs_by_query
from attnlab.models import AbstractModel
from attnlab.models.picture import take_picture
from attnlab.models.readout import readout_position
from attnlab.optimum import Dependence, influence
from attnlab.training.experiment import Experiment

# A day that carries less than this share of what the most informative day does is not counted.
_INFORMATIVE = 0.05


class Comparison(NamedTuple):
    """Rows are queries and columns days; each map is a mean over the same sequences.

    `attends`: the attention pattern, or None for a model without. `depends`: how far the model's
    prediction at a query moves, in total variation, when a day is drawn anew. `truth`: the same
    of the true prediction. A model that reads the whole sequence at once has the last row only;
    so has a model that is not read out at the last position.
    """

    attends: Float[np.ndarray, "query day"] | None
    depends: Float[np.ndarray, "query day"]
    depends_stderr: Float[np.ndarray, "query day"]
    truth: Float[np.ndarray, "query day"]


def compare(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    truth: Float[np.ndarray, "length length"],
    laws: Float[np.ndarray, "length vocab"],
) -> Comparison:
    """What the model attends to, what its predictions depend on, and what the truth depends on.

    `truth` is the map of the process, such as `Dependence.replacement`; `laws` those of the days.
    """
    attends = None
    by_position = experiment.model.attends and experiment.training.readout == "last"
    if experiment.model.attends:
        attends = take_picture(model, sequences).patterns[:, 0, 0].mean(axis=0, dtype=np.float64)
    if by_position:
        depends, stderr = influence(lambda days: probs_by_query(model, days), sequences, laws)
        return Comparison(attends, depends, stderr, truth)
    readout = experiment.training.readout
    if attends is not None:
        read = readout_position(readout, sequences.shape[1])
        attends = attends[read : read + 1]
    depends, stderr = influence(
        lambda days: final_probs(model, days, readout)[:, None], sequences, laws
    )
    return Comparison(attends, depends, stderr, truth[-1:])


def informative_days(true: Dependence) -> Bool[np.ndarray, " day"]:
    """The days that the final one truly depends on, given the others."""
    information = true.information[-1]
    return information > _INFORMATIVE * information.max()
