"""The effect of each head on the predictions, measured by replacing its attention pattern."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractTask, loss_mask_of
from attnlab.generators.interruption import check_in
from attnlab.inspection.predictions import probs_by_query
from attnlab.inspection.strategies import References, expected_loss
from attnlab.models import AbstractModel, AttentionMap, Edit, TrueAlignment, edited
from attnlab.models.inside import heads_of, in_proportion, mean_trace, removed, uniform
from attnlab.training.evaluation import LossByPosition, outcomes, safe_variance

# Number of sequences for the mean pattern.
_SEQUENCES = 2_000

Pattern = Float[Array, "query key"] | TrueAlignment


class Effect(NamedTuple):
    """Loss and accuracy after edits, and their changes on the same test sequences.

    Changes are after minus before, with the standard error of the mean difference over sequences.
    For accuracy the error is at least that of half a changed sequence, since a larger test set may
    show a change where this one shows none. For loss it is 0 if no loss changed at all.
    """

    nll: float
    nll_change: float
    nll_change_stderr: float
    accuracy: float
    accuracy_change: float
    accuracy_change_stderr: float


class Ablation(NamedTuple):
    """The effect of replacing the pattern of one head by the one named `by` in `REPLACEMENTS`.

    `layer` and `head` count from 0; `kind` is the kind of the head's `AttentionMap`.
    """

    layer: int
    head: int
    by: str
    effect: Effect
    kind: str = "self"


class _Known(NamedTuple):
    mask: Bool[Array, "query key"]
    mean: Pattern
    truth: Pattern | None = None
    alignment: TrueAlignment | None = None
    earlier: Pattern | None = None


REMOVED, MEAN, TRUTH, ALIGNMENT, FROZEN = "removed", "mean", "truth", "alignment", "frozen"
# The patterns that may replace the pattern of a head.
REPLACEMENTS: Mapping[str, Callable[[_Known], Pattern]] = MappingProxyType(
    {
        REMOVED: lambda known: removed(known.mask),
        "uniform": lambda known: uniform(known.mask),
        MEAN: lambda known: known.mean,
        TRUTH: lambda known: in_proportion(known.mask, known.truth),
        ALIGNMENT: lambda known: known.alignment,
        FROZEN: lambda known: known.earlier,
    }
)


def replacements(*, has_earlier: bool, is_task: bool = False) -> tuple[str, ...]:
    """Return the names of the available `REPLACEMENTS`, with or without an earlier model.

    A task has `alignment` instead of `truth`.
    """
    left_out = {TRUTH if is_task else ALIGNMENT} | (set() if has_earlier else {FROZEN})
    return tuple(name for name in REPLACEMENTS if name not in left_out)


def removals(found: Iterable[Ablation]) -> dict[tuple[int, int], Effect]:
    """Return the effect of removing each head, by (layer, head), the most costly in loss first.

    `found` must contain heads of one kind only.
    """
    removed = {(each.layer, each.head): each.effect for each in found if each.by == REMOVED}
    return dict(sorted(removed.items(), key=lambda item: item[1].nll_change, reverse=True))


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
    """Apply each of `REPLACEMENTS` to every head in turn; yield all results so far after each.

    `truth` is the true dependence by query and key, such as `Dependence.replacement`; the mean
    pattern is over test sequences. `earlier` is the model at an earlier training step: its mean
    patterns are the replacement `frozen`, which is otherwise left out. `loss_mask` is a mask of the
    tested tokens, by default the final ones. A `task` tests the tokens of its target; its true
    alignment, which differs for every sequence, replaces `truth` for heads that `can_align`.
    """
    if task is None and truth is None:
        raise ValueError("`truth` is None, and there is no `task`. Give one of them.")
    trace = mean_trace(model, test[:_SEQUENCES, :-1])
    before_it = None if earlier is None else mean_trace(earlier, test[:_SEQUENCES, :-1])
    sequences, found = jnp.asarray(test), []
    loss_mask = loss_mask if task is None else loss_mask_of(task, test)
    before = outcomes(model, sequences, readout=readout, loss_mask=loss_mask)
    for place, head in heads_of(trace):
        attention = trace.attention[place]
        mask = jnp.asarray(attention.mask)
        known = _Known(
            mask,
            jnp.asarray(attention.pattern[head]),
            None if truth is None else jnp.asarray(truth),
            None if task is None else TrueAlignment(task, mask),
            None if before_it is None else jnp.asarray(before_it.attention[place].pattern[head]),
        )
        for name in replacements(has_earlier=earlier is not None, is_task=task is not None):
            if name == ALIGNMENT and not can_align(attention):
                continue
            check_in()
            pattern = REPLACEMENTS[name](known)
            edit = _edit(attention, head, pattern)
            after = outcomes(edited(model, edit), sequences, readout=readout, loss_mask=loss_mask)
            effect = _effect(before, after)
            found.append(Ablation(attention.layer, head, name, effect, attention.kind))
            yield tuple(found)


def _edit(attention: AttentionMap, head: int, pattern: Pattern) -> Edit:
    # As arrays, so that all heads share one compiled program.
    return Edit(
        jnp.int32(attention.layer),
        jnp.int32(head),
        pattern if callable(pattern) else jnp.asarray(pattern, jnp.float32),
        attention.kind,
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
        by: `removed` sets the head's output to 0. `mean` gives it its mean pattern over the same
            sequences, and `uniform` equal attention to all unmasked keys.
    """
    visible = references.sequences[:, :-1]
    attention = mean_trace(model, visible).attention
    edits = [
        _edit(found, head, REPLACEMENTS[by](_Known(found.mask, jnp.asarray(found.pattern[head]))))
        for found in attention
        for head in range(len(found.pattern))
        if (found.layer, head) in heads
    ]
    return expected_loss(references, probs_by_query(edited(model, *edits), visible))


def can_align(attention: AttentionMap) -> bool:
    """Return whether a head's queries are target tokens, with source tokens among its keys."""
    return bool(attention.mask[-1, 0])


def _effect(before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]) -> Effect:
    (nll, right), (nll_change, right_change) = after, np.subtract(after, before)
    least = np.sqrt(safe_variance(0.0, right.size) / right.size)
    return Effect(
        nll=float(nll.mean()),
        nll_change=float(nll_change.mean()),
        nll_change_stderr=_stderr(nll_change),
        accuracy=float(right.mean()),
        accuracy_change=float(right_change.mean()),
        accuracy_change_stderr=max(_stderr(right_change), float(least)),
    )


def _stderr(differences: Float[np.ndarray, " size"]) -> float:
    return float(differences.std(ddof=1) / np.sqrt(differences.size))
