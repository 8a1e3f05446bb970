"""Why a head attends: the parts of its score, and what it reads from the heads below."""

from operator import attrgetter
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.attention import scale_factor
from attnlab.configuration.numerics import fixed_numerics
from attnlab.models.base import AbstractModel
from attnlab.models.parts import normalise_parts
from attnlab.models.transformer import Transformer
from attnlab.models.transformer_layer import attend_heads
from attnlab.positions import AbstractScorePosition

# The inputs of a head that a path can reach.
INPUTS = ("query", "key", "value")


class ScoreParts(NamedTuple):
    """The scaled score of a query and a key before the softmax, in its parts.

    Attributes:
        query: Names of the parts of the query's row: "token", "position", "layer 1, head 1", …,
            and "bias".
        key: Names of the parts of the key's row.
        scores: The score of each pair of parts.
        bias: What the positional encoding adds to the score. `bias` and all `scores` sum to the
            scaled score.
    """

    query: tuple[str, ...]
    key: tuple[str, ...]
    scores: Float[np.ndarray, "query_parts key_parts"]
    bias: float


@fixed_numerics()
def score_parts(
    model: AbstractModel,
    tokens: Int[Array | np.ndarray, " length"],
    *,
    layer: int,
    head: int,
    query: int,
    key: int,
) -> ScoreParts | None:
    """Return the parts of a score of a transformer; parts that are zero are left out.

    The score is bilinear in query and key, which are linear in their normalised rows. A
    normalisation divides all parts of a row by one number, its divisor on this sequence. So the sum
    is exact, but the divisor would change if a part were removed.

    Args:
        model: The model.
        tokens: The visible tokens.
        layer: Layer of the head, counted from 0.
        head: The head in that layer, counted from 0.
        query: Position of the query.
        key: Position of the key.

    Returns:
        The parts, or None for other families, for scores other than the dot product, and for layers
        whose outputs are not added to their input.

    References:
        Elhage et al. (2021), "A mathematical framework for transformer circuits", on composition.
    """
    if not isinstance(model, Transformer) or not model.logits_are_a_sum:
        return None
    options = model.options
    if options.score != "dot":
        return None
    # Only the layer decides which program is compiled.
    places = jnp.array([query, key])
    names, rows, bias = _parts(model, jnp.asarray(tokens), layer, jnp.int32(head), places)
    made = np.asarray(rows, np.float64)
    scale = scale_factor(options.scale, d_attn=options.d_attn, temperature=options.temperature)
    queries, keys = (np.flatnonzero(each.any(axis=1)) for each in made)
    scores = scale * made[0, queries] @ made[1, keys].T
    of_query, of_key = (tuple(names[at] for at in kept) for kept in (queries, keys))
    return ScoreParts(of_query, of_key, scores, float(bias))


@eqx.filter_jit
def _parts(model, tokens, layer, head, places):
    """Return the names of the parts, their query and key vectors, and the bias of the score."""
    found, options, made = model.layers[layer], model.options, []
    position = options.position
    turns = isinstance(position, AbstractScorePosition)
    names = ()
    for projection, place in zip((found.query, found.key), places, strict=True):
        parts = model.parts_of_row(tokens, place, layer)
        norm = found.normalisations and found.normalisations[0]
        read, shift = normalise_parts(norm, jnp.stack(list(parts.values())))
        weight, bias = (
            each.reshape(*each.shape[:-1], options.heads, -1)[..., head, :] for each in projection
        )
        rows = jnp.append(read @ weight, (shift @ weight + bias)[None], axis=0)
        made.append(position.turn(rows, jnp.full(len(rows), place)) if turns else rows)
        names = (*parts, "bias")
    if not turns:
        return names, jnp.stack(made), jnp.float32(0)
    at_query, at_key = places[:1], places[1:]
    bias = position.bias_of_head(at_query, at_key, head=head, heads=options.heads)
    return names, jnp.stack(made), bias[0, 0]


def logits_without_path(
    model: Transformer,
    tokens: Int[Array, " length"],
    *,
    layer: int,
    reader: int | Int[Array, ""],
    writer: int | Int[Array, ""],
    cut: Bool[Array, " inputs"],
) -> Float[Array, "length vocab"]:
    """Return the logits if a head does not read what one head of the layer below wrote.

    Its cut inputs are computed from the normalised residual stream minus the output of the writer.
    Everything else reads the whole stream: the other heads, the MLPs, and the logits.

    Args:
        model: A transformer whose `logits_are_a_sum`.
        tokens: The visible tokens.
        layer: Layer of the reader, counted from 0; at least 1.
        reader: The head that reads.
        writer: The head of the layer below.
        cut: Which of the reader's `INPUTS` are cut.

    References:
        Wang et al. (2022), "Interpretability in the wild", on path patching.
    """
    options, places = model.options, jnp.arange(len(tokens))
    below, above = model.layers[layer - 1 : layer + 1]
    before, rows = model.inputs_of_layers(tokens)[layer - 1 : layer + 1]
    written = jax.vmap(lambda place: below.contributions(before, place, options)[0][writer])(places)
    parts = above.project_qkv(rows, places, options)
    without = above.project_qkv(rows - written, places, options)
    is_reader = (jnp.arange(options.heads) == reader)[:, None, None]
    for name, is_cut in zip(INPUTS, cut, strict=True):
        of = attrgetter(name)
        chosen = jnp.where(is_reader & is_cut, of(without), of(parts))
        parts = eqx.tree_at(of, parts, chosen)
    rows = above.residual_out(rows, attend_heads(parts, options).output, options)
    for later in model.layers[layer + 1 :]:
        rows = later(rows, places, options)[0]
    return model.logits(rows)
