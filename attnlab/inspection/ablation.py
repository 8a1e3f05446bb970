"""The effect of each head on the predictions: its pattern is replaced, or a path into it is cut."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractTask, loss_mask_of
from attnlab.inspection.predictions import probs_by_query
from attnlab.inspection.strategies import References, expected_loss
from attnlab.models import AbstractModel, AttentionMap, Edit, TrueAlignment, edited
from attnlab.models.composition import INPUTS, logits_without_path
from attnlab.models.inside import heads_of, in_proportion, mean_trace, removed, uniform
from attnlab.models.transformer import Transformer
from attnlab.optimum.sequences import Estimate, mean_and_error
from attnlab.training.evaluation import (
    LossByPosition,
    evaluation_block,
    outcomes,
    safe_variance,
)

# Number of sequences for the mean pattern.
_SEQUENCES = 2_000
# The patterns that may replace the pattern of a head.
REMOVED, UNIFORM, MEAN, TRUTH, ALIGNMENT, FROZEN = (
    "removed",
    "uniform",
    "mean",
    "truth",
    "alignment",
    "frozen",
)

Pattern = Float[Array, "query key"] | TrueAlignment


class Effect(NamedTuple):
    """Loss and accuracy after edits, and their changes on the same test sequences.

    Changes are after minus before, with the standard error of the mean difference over sequences.
    For accuracy the error is at least that of half a changed sequence, since a larger test set may
    show a change where this one shows none. For loss it is 0 if no loss changed at all.
    """

    nll: float
    nll_change: Estimate
    accuracy: float
    accuracy_change: Estimate


class Ablation(NamedTuple):
    """The effect of replacing the pattern of one head by the one named `by`: see `replacements`.

    `layer` and `head` count from 0; `kind` is the kind of the head's `AttentionMap`.
    """

    layer: int
    head: int
    by: str
    effect: Effect
    kind: str = "self"

    @property
    def place(self) -> tuple[str, int, int]:
        """Kind, layer and head."""
        return self.kind, self.layer, self.head


def replacements(
    *, has_earlier: bool, is_task: bool = False, has_law: bool = True
) -> tuple[str, ...]:
    """Return the names of the patterns that may replace a head's, in the order of `ablations`.

    `removed` sets the head's output to 0, `uniform` is equal attention to all unmasked keys, and
    `mean` its mean pattern over the test sequences. `truth` is in proportion to the true
    dependence; a task has `alignment` instead, its true alignment, and a process without a law has
    neither. `frozen` is the mean pattern of an earlier model.
    """
    known = (REMOVED, UNIFORM, MEAN, ALIGNMENT if is_task else TRUTH)
    known = known if has_law else known[:-1]
    return (*known, FROZEN) if has_earlier else known


def removals(found: Iterable[Ablation]) -> dict[tuple[str, int, int], Effect]:
    """Return the effect of removing each head, by kind, layer and head; the most costly first."""
    removed = {each.place: each.effect for each in found if each.by == REMOVED}
    return dict(sorted(removed.items(), key=lambda item: item[1].nll_change.value, reverse=True))


@fixed_numerics()
def effect_of(
    model: AbstractModel,
    *edits: Edit,
    test: Int[np.ndarray, "size positions"],
    readout: str,
    prompt_length: int = 0,
    loss_mask: Bool[Array | np.ndarray, "size positions"] | None = None,
) -> Effect:
    """Return the effect of all edits together on predictions in the test sequences.

    These are the predictions of the final tokens, unless a `loss_mask` or a `prompt_length`
    selects several tokens, which are averaged.
    """
    if prompt_length:
        loss_mask = np.broadcast_to(np.arange(test.shape[1]) >= prompt_length, test.shape)
    sequences = jnp.asarray(test)
    before = outcomes(model, sequences, readout=readout, loss_mask=loss_mask)
    after = outcomes(edited(model, *edits), sequences, readout=readout, loss_mask=loss_mask)
    return _effect(before, after)


def ablations(
    model: AbstractModel,
    test: Int[np.ndarray, "size positions"],
    truth: Float[np.ndarray, "length length"] | None,
    readout: str,
    *,
    earlier: AbstractModel | None = None,
    task: AbstractTask | None = None,
    loss_mask: Bool[Array | np.ndarray, "size positions"] | None = None,
) -> Iterator[tuple[Ablation, ...]]:
    """Apply each of `replacements` to every head in turn; yield all results so far after each.

    `truth` is the true dependence by query and key, such as `Dependence.replacement`, or None; the
    mean pattern is over test sequences. `earlier` is the model at an earlier step: its mean
    patterns are the replacement `frozen`, which is otherwise left out. `loss_mask` is a mask of the
    tested tokens, by default the final ones. A `task` tests the tokens of its target; its true
    alignment, which differs for every sequence, replaces `truth` for heads that `can_align`.
    """
    trace = mean_trace(model, test[:_SEQUENCES, :-1])
    before_it = None if earlier is None else mean_trace(earlier, test[:_SEQUENCES, :-1])
    sequences, found = jnp.asarray(test), []
    loss_mask = loss_mask if task is None else loss_mask_of(task, test)
    before = outcomes(model, sequences, readout=readout, loss_mask=loss_mask)
    for place, head in heads_of(trace):
        attention = trace.attention[place]
        patterns = _patterns(attention, head)
        if truth is not None:
            patterns[TRUTH] = in_proportion(jnp.asarray(attention.mask), jnp.asarray(truth))
        elif task is not None and can_align(attention):
            patterns[ALIGNMENT] = TrueAlignment(task, jnp.asarray(attention.mask))
        if before_it is not None:
            patterns[FROZEN] = jnp.asarray(before_it.attention[place].pattern[head])
        for name, pattern in patterns.items():
            check_in()
            changed = edited(model, _edit(attention, head, pattern))
            after = outcomes(changed, sequences, readout=readout, loss_mask=loss_mask)
            effect = _effect(before, after)
            found.append(Ablation(attention.layer, head, name, effect, attention.kind))
            yield tuple(found)


def _patterns(attention: AttentionMap, head: int) -> dict[str, Pattern]:
    """Return the replacements that follow from the map of the head alone."""
    mask = jnp.asarray(attention.mask)
    mean = jnp.asarray(attention.pattern[head])
    return {REMOVED: removed(mask), UNIFORM: uniform(mask), MEAN: mean}


def _edit(attention: AttentionMap, head: int, pattern: Pattern) -> Edit:
    # As arrays, so that all heads share one compiled program.
    return Edit(
        jnp.int32(attention.layer),
        jnp.int32(head),
        pattern if callable(pattern) else jnp.asarray(pattern, jnp.float32),
        attention.kind,
    )


def can_align(attention: AttentionMap) -> bool:
    """Return whether a head's queries are target tokens, with source tokens among its keys."""
    return bool(attention.mask[-1, 0])


def _effect(before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]) -> Effect:
    (nll, right), changes = after, np.subtract(after, before)
    nll_change, (right_change, error) = map(mean_and_error, changes)
    least = float(np.sqrt(safe_variance(0.0, right.size) / right.size))
    return Effect(
        float(nll.mean()),
        nll_change,
        float(right.mean()),
        Estimate(right_change, max(error, least)),
    )


def ablated_loss(
    references: References,
    model: AbstractModel,
    heads: Collection[tuple[int, int]],
    by: str = REMOVED,
) -> LossByPosition:
    """Return the expected loss of a model after replacing the patterns of some heads together.

    Args:
        references: The sequences and their exact predictions.
        model: A model with self-attention.
        heads: Layer and head of each, counted from 0. Without any, nothing is replaced.
        by: `removed`, `uniform` or `mean`, as in `replacements`; the mean is over the same
            sequences.
    """
    visible = references.sequences[:, :-1]
    edits = [
        _edit(found, head, _patterns(found, head)[by])
        for found in mean_trace(model, visible).attention
        for head in range(len(found.pattern))
        if (found.layer, head) in heads
    ]
    return expected_loss(references, probs_by_query(edited(model, *edits), visible))


class PathCut(NamedTuple):
    """The change of the expected loss in nats after cutting one path.

    The path is from the head `writer` of the layer below, counted from 0, into the `query`, `key`
    or `value` of a head. The error is that of the mean difference over the same sequences.
    """

    writer: int
    into: str
    change: Estimate


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
        PathCut(writer, into, mean_and_error(losses(writer, np.array(INPUTS) == into) - whole))
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
