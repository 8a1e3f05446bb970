"""Maps of query against key: attention, influence, and the kernels of convolutions."""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from attnlab.charts import Drawing, MapWords, heads_chart, heads_table, informative_table
from attnlab.models import KERNELS
from attnlab.models.inside import map_name
from attnlab.ui.train.inside.shown import (
    INFLUENCE,
    INFLUENCE_OF,
    INFLUENCE_STDERR,
    InsideView,
    Shown,
)


def _maps(
    shown: Shown,
    patterns: np.ndarray,
    mask: np.ndarray,
    words: MapWords,
    *,
    heads: Sequence[int],
    marked: bool = True,
    trained: bool | None = None,
    **look: object,
) -> Drawing:
    trained = not shown.is_untrained if trained is None else trained
    rows = {"words": words, "read": shown.read, "trained": trained, "symbols": shown.symbols}
    return heads_chart(
        heads_table(patterns, mask, heads=heads, **rows),
        informative_table(shown.informative if marked else (), len(heads)),
        shape=mask.shape,
        **rows,
        **look,
    )


def _heads_shown(shown: Shown) -> tuple[int, ...]:
    found, _ = shown.choice.of(shown.trace)
    return tuple(head for head in shown.choice.heads if head < len(found.pattern)) or (0,)


def _attention_drawing(shown: Shown, **look: object) -> Drawing:
    found, _ = shown.choice.of(shown.trace)
    heads = _heads_shown(shown)
    names = tuple(f"head {head + 1}" for head in heads)
    words = MapWords(names, "share of attention", "day attended to")
    marked = found.kind == "self"
    return _maps(shown, found.pattern, found.mask, words, heads=heads, marked=marked, **look)


def _attention_title(shown: Shown) -> str:
    found, _ = shown.choice.of(shown.trace)
    if len(shown.trace.attention) == 1 and len(found.pattern) == 1:
        return "Attention pattern"
    if len(shown.choice.heads) > 1:
        return f"Attention patterns of layer {map_name(found)}"
    return f"Attention pattern of layer {map_name(found)}, head {shown.choice.heads[0] + 1}"


def _attention_alternative(shown: Shown) -> str:
    alternative = f"{_attention_title(shown)}, {shown.length} days."
    if shown.at_rest:
        found, _ = shown.choice.of(shown.trace)
        several = len(shown.choice.heads) > 1
        for head in shown.choice.heads:
            row = found.pattern[min(head, len(found.pattern) - 1), shown.read]
            strongest = int(row.argmax())
            alternative += f" In head {head + 1} day" if several else " Day"
            alternative += f" {shown.read + 1}, which is read out, gives {row[strongest]:.0%} of "
            alternative += f"its attention to day {strongest + 1}."
    return alternative


def _attention_how(shown: Shown) -> str:
    how = "Each row is a query and sums to 1 (numbers: %); the framed one makes the prediction"
    if shown.is_untrained:
        how += ", and the pale ones have no part in the loss `last`: they are not trained"
    return how + ". ▼ a day that is truly informative."


def _influence_drawing(shown: Shown, **look: object) -> Drawing:
    found, length = shown.trace.values[INFLUENCE], shown.length
    trained = not shown.is_untrained or len(found) < length
    full, mask = np.zeros((1, length, length)), np.zeros((length, length), dtype=bool)
    if len(found) == length:
        full[0] = found
        mask[:] = np.tri(length) if shown.snapshot.experiment.model.causal else 1
    else:
        full[0, shown.read], mask[shown.read] = found[-1], True
    words = MapWords(("influence",), "total variation", "day changed")
    return _maps(shown, full, mask, words, heads=(0,), trained=trained, **look)


def _influence_alternative(shown: Shown) -> str:
    alternative = f"Influence of each day on the prediction, {shown.length} days."
    if shown.at_rest:
        found = shown.trace.values[INFLUENCE]
        row = found[shown.read] if len(found) == shown.length else found[-1]
        strongest = int(row.argmax())
        alternative += f" Day {strongest + 1} moves the prediction most, by {row[strongest]:.0%}."
    return alternative


def _influence_how(shown: Shown) -> str:
    how = "How far the prediction after the query moves when a day is drawn anew: total variation"
    how += " (numbers: %)"
    if len(shown.trace.values[INFLUENCE]) == shown.length:
        how += "; the framed row is the one that is tested"
    if shown.is_untrained and len(shown.trace.values[INFLUENCE]) == shown.length:
        how += ", and the pale ones have no part in the loss `last`"
    how += ". ▼ a day that is truly informative. There is no attention in this model."
    many = int(shown.trace.values[INFLUENCE_OF])
    if shown.at_rest and many > 1:
        most = shown.trace.values[INFLUENCE_STDERR][-1].max()
        how += f" Mean of {many} sequences, ± {most:.1%} at most in the last row (standard error)."
    return how


def _kernels_drawing(shown: Shown, **look: object) -> Drawing:
    kernels, mask = shown.trace.values[KERNELS], np.tri(shown.length, dtype=bool)
    heads = range(len(kernels))
    names = tuple(f"layer {layer + 1}" for layer in heads)
    words = MapWords(names, "share of the kernel", "day read")
    return _maps(shown, kernels, mask, words, heads=heads, marked=False, trained=True, **look)


def _kernels_how(shown: Shown) -> str:
    return (
        "A convolution as attention that looks by distance only: the share of a layer's weights "
        "(Frobenius norm) that each distance has. It is the same for every sequence; from the "
        "second layer on a day stands for all that the layers below read into it."
    )


MAP_VIEWS = MappingProxyType(
    {
        "attention": InsideView(
            lambda trace: bool(trace.attention),
            _attention_title,
            _attention_drawing,
            _attention_alternative,
            _attention_how,
        ),
        "influence": InsideView(
            lambda trace: INFLUENCE in trace.values,
            lambda shown: "Influence",
            _influence_drawing,
            _influence_alternative,
            _influence_how,
        ),
        "kernels": InsideView(
            lambda trace: KERNELS in trace.values,
            lambda shown: "Kernels",
            _kernels_drawing,
            lambda shown: f"Kernels by distance, {shown.length} days.",
            _kernels_how,
        ),
    }
)
