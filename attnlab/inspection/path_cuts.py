"""The effect of what one head reads from a head below, measured by cutting that path."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError
from attnlab.inspection.strategies import References
from attnlab.models import AbstractModel
from attnlab.models.composition import INPUTS, logits_without_path
from attnlab.models.transformer import Transformer
from attnlab.optimum.sequences import mean_and_error
from attnlab.training.evaluation import evaluation_block


class PathCut(NamedTuple):
    """The change of the expected loss in nats after cutting one path, and its standard error.

    The path is from the head `writer` of the layer below, counted from 0, into the `query`, `key`
    or `value` of a head. The error is that of the mean difference over the same sequences.
    """

    writer: int
    into: str
    change: float
    change_stderr: float


@fixed_numerics()
def path_cuts(
    references: References, model: AbstractModel, *, layer: int, head: int
) -> tuple[PathCut, ...] | None:
    """Cut each path from a head of the layer below into one head.

    Args:
        references: The sequences and their exact predictions.
        model: The model.
        layer: Layer of the head that reads, counted from 0; the first layer reads no head.
        head: The head in that layer, counted from 0.

    Returns:
        The change of each writer and input, or None for other families, and for layers whose
        outputs are not added to their input.

    Raises:
        OptionError: If there is no layer below.
    """
    if not isinstance(model, Transformer) or not model.logits_are_a_sum:
        return None
    if not 0 < layer < len(model.layers):
        remedy = f"Choose a layer from 1 to {len(model.layers) - 1}, counted from 0"
        raise OptionError("layer", layer, "it has no layer of heads below", remedy)
    sequences, exact = jnp.asarray(references.sequences[:, :-1]), references.probs[-1]

    def losses(writer: int, cut: np.ndarray) -> np.ndarray:
        found = _log_probs(model, sequences, layer, jnp.int32(head), jnp.int32(writer), cut)
        each = -(exact * np.asarray(found, np.float64)).sum(axis=-1)
        return each.mean(axis=1, where=references.counted)

    whole = losses(0, np.zeros(len(INPUTS), bool))
    return tuple(
        PathCut(writer, into, *mean_and_error(losses(writer, np.array(INPUTS) == into) - whole))
        for writer in range(model.options.heads)
        for into in INPUTS
    )


@eqx.filter_jit
def _log_probs(model, sequences, layer, reader, writer, cut):
    cut = jnp.asarray(cut)
    of = partial(logits_without_path, model, layer=layer, reader=reader, writer=writer, cut=cut)
    return jax.lax.map(
        lambda tokens: jax.nn.log_softmax(of(tokens)),
        sequences,
        batch_size=evaluation_block(sequences.shape[1]),
    )
