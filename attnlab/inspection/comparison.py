"""Attends, depends, truth: three maps of one experiment on the same axes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.inspection.predictions import final_probs, probs_by_query
from attnlab.models import AbstractModel, AttentionMap
from attnlab.models.inside import mean_trace
from attnlab.optimum import influence, possible_pasts
from attnlab.training.experiment import Experiment


class Comparison(NamedTuple):
    """Rows are queries and columns keys; each map is a mean over the same sequences.

    `attention`: the patterns of every layer and head; none for a model without. `depends`: how far
    the model's prediction at a query moves, in total variation, when a token is drawn anew.
    `truth`: the same of the true prediction. A model that reads the whole sequence at once has the
    last row only; so has a model that is not read out at the last position.
    """

    attention: tuple[AttentionMap, ...]
    depends: Float[np.ndarray, "query key"]
    depends_stderr: Float[np.ndarray, "query key"]
    truth: Float[np.ndarray, "query key"]

    @property
    def attends(self) -> Float[np.ndarray, "query key"] | None:
        """The mean over the heads of the last layer, or None for a model without attention."""
        return self.attention[-1].pattern.mean(axis=0) if self.attention else None


@fixed_numerics()
def compare(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    truth: Float[np.ndarray, "length length"],
    marginals: Float[np.ndarray, "length vocab"],
) -> Comparison:
    """What the model attends to, what its predictions depend on, and what the truth depends on.

    Both dependences leave out the same tokens: replacements that the process cannot produce.
    `truth` is the map of the process, such as `Dependence.replacement`; `marginals` are
    those of the tokens.
    """
    attention = mean_trace(model, sequences).attention
    depends, stderr = depends_on(experiment, model, sequences, marginals)
    if len(depends) < experiment.length:
        read = experiment.read_position
        attention, truth = tuple(_row(found, read) for found in attention), truth[-1:]
    return Comparison(attention, depends, stderr, truth)


@fixed_numerics()
def depends_on(
    experiment: Experiment,
    model: AbstractModel,
    sequences: Int[np.ndarray, "sequences length"],
    marginals: Float[np.ndarray, "length vocab"],
) -> tuple[Float[np.ndarray, "query key"], Float[np.ndarray, "query key"]]:
    """`Comparison.depends` and its standard error."""
    readout, possible = experiment.training.readout, possible_pasts(experiment.generator)

    def by_query(tokens):
        return probs_by_query(model, tokens)

    def of_last(tokens):
        return final_probs(model, tokens, readout)[:, None]

    predict = by_query if experiment.model.every_position and readout == "last" else of_last
    return influence(predict, sequences, marginals, possible)


def _row(found: AttentionMap, query: int) -> AttentionMap:
    row = slice(query, query + 1)
    return AttentionMap(found.pattern[:, row], found.mask[row], found.layer, found.kind)
