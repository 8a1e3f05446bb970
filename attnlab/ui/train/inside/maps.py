"""Views that are maps of query against key: attention, influence, convolution kernels."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from attnlab import charts
from attnlab.configuration.number_text import show_percent
from attnlab.models import KERNELS, AttentionMap
from attnlab.models.inside import head_name, heads_of, map_name
from attnlab.ui.core.glossary import link_to
from attnlab.ui.train.inside.shown import (
    ALL_HEADS,
    InsideView,
    Shown,
)

_ATTENTION = "share of attention"
_NAMES = " L2 H3 is the third head of the second layer."
_CHIPS = " Click heads to show only those."
# With more cells, heads are drawn as images, since browsers draw single cells slowly. The limits
# are eight heads on 24 positions with a causal mask, and one head on 64 positions without a mask.
_MOST_CELLS, _MOST_ALONE = 2_400, 4_096
# Maximum number of heads of one layer that are drawn side by side.
_MOST_COLUMNS = 8


def _maps(
    shown: Shown,
    patterns: np.ndarray,
    mask: np.ndarray,
    words: charts.MapWords,
    *,
    heads: Sequence[int],
    marked: bool = True,
    trained: bool | tuple[bool, ...] | None = None,
    **look: Any,
) -> charts.Drawing:
    if _are_many(int(mask.sum()), len(heads)):
        named = zip(heads, words.names, strict=True)
        line = [charts.HeadPicture(name, patterns[head], mask) for head, name in named]
        return _pictures(shown, [line], words.cell, **look)
    trained = not shown.is_untrained if trained is None else trained
    rows = {"words": words, "read": shown.read, "symbols": shown.symbols}
    return charts.heads_chart(
        charts.heads_table(patterns, mask, heads=heads, trained=trained, **rows),
        charts.informative_table(shown.informative if marked else (), len(heads)),
        shape=mask.shape,
        **rows,
        **look,
    )


def _lines(shown: Shown) -> list[list[tuple[int, int]]]:
    """Return the heads to draw, line by line, as (index of the map, index of the head)."""
    if shown.choice.view == ALL_HEADS:
        places = range(len(shown.trace.attention))
        return [[head for head in heads_of(shown.trace) if head[0] == place] for place in places]
    place = min(shown.choice.place, len(shown.trace.attention) - 1)
    count = len(shown.trace.attention[place].pattern)
    heads = [(place, head) for head in shown.choice.heads if head < count] or [(place, 0)]
    return [heads[first : first + _MOST_COLUMNS] for first in range(0, len(heads), _MOST_COLUMNS)]


def _as_pictures(shown: Shown) -> bool:
    """Return whether the heads have too many cells to draw each cell separately."""
    heads = [head for line in _lines(shown) for head in line]
    cells = sum(int(shown.trace.attention[place].mask.sum()) for place, _ in heads)
    return _are_many(cells, len(heads))


def _are_many(cells: int, heads: int) -> bool:
    return cells > (_MOST_CELLS if heads > 1 else _MOST_ALONE)


def _pictures(
    shown: Shown, lines: Sequence[Sequence[charts.HeadPicture]], cell: str, **look: Any
) -> charts.Drawing:
    shape = {"lines": len(lines), "columns": max(map(len, lines))}
    table = charts.overview_table(lines, dark=shown.dark)
    return charts.overview_chart(table, texts=False, cell=cell, **shape, **look)


def _attention_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    attention, lines = shown.trace.attention, _lines(shown)
    if _as_pictures(shown):
        pictures = [
            [head_picture(attention[place], head) for place, head in line] for line in lines
        ]
        return _pictures(shown, pictures, _ATTENTION, **look)
    heads = [head for line in lines for head in line]
    found = attention[heads[0][0]]
    names = tuple(
        head_name(attention[place], head) if shown.choice.view == ALL_HEADS else f"head {head + 1}"
        for place, head in heads
    )
    patterns = np.stack([attention[place].pattern[head] for place, head in heads])
    words = charts.MapWords(names, _ATTENTION, f"{shown.word} attended to")
    # All rows of earlier layers are trained, since the last layer reads their output.
    last = len(attention) - 1
    trained = tuple(place < last or not shown.is_untrained for place, _ in heads)
    look |= {"marked": found.kind == "self", "trained": trained}
    return _maps(shown, patterns, found.mask, words, heads=range(len(heads)), **look)


def head_picture(found: AttentionMap, head: int) -> charts.HeadPicture:
    """Return a head's pattern and short name, to be drawn as an image."""
    return charts.HeadPicture(head_name(found, head), found.pattern[head], found.mask)


def _attention_title(shown: Shown) -> str:
    found, _ = shown.choice.of(shown.trace)
    if len(shown.trace.attention) == 1 and len(found.pattern) == 1:
        return "Attention pattern"
    first, *others = shown.choice.heads
    if others:
        return f"Attention patterns of layer {map_name(found)}"
    return f"Attention pattern of layer {map_name(found)}, head {first + 1}"


def _attention_numbers(shown: Shown) -> str:
    patterns = shown.choice.of(shown.trace)[0].pattern[:, shown.read]
    rows = {head: patterns[min(head, len(patterns) - 1)] for head in shown.choice.heads}
    return " ".join(
        f"{shown.word.capitalize()} {shown.read + 1}, the predicting query, gives "
        f"{show_percent(row.max())} of its attention to {shown.word} {row.argmax() + 1}"
        + (f" in head {head + 1}." if len(rows) > 1 else ".")
        for head, row in rows.items()
    )


def _attention_how(shown: Shown) -> str:
    names = _NAMES if shown.choice.view == ALL_HEADS else ""
    if _as_pictures(shown):
        how = "Each pixel is one cell, or the maximum of a few cells. Rows are queries, from "
        how += f"{shown.word} 1 at the top; columns are keys."
        return how + (names or _CHIPS)
    how = f"Rows are {link_to('query', 'queries')}, columns are {link_to('key', 'keys')}; "
    how += f"each row sums to 100 %. The framed row {shown.framed}"
    if shown.is_untrained:
        how += "; faded rows are not trained (loss `last`)"
    how += f". ▼ marks the {shown.word}s that matter."
    several = len(shown.choice.of(shown.trace)[0].pattern) > 1
    return how + (names or (_CHIPS if several else ""))


def _all_heads_title(shown: Shown) -> str:
    layers, heads = len(shown.trace.attention), len(heads_of(shown.trace))
    return f"Attention patterns of all {heads} heads of {layers} layers"


def _influence_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    found, length = shown.influence.mean, shown.length
    trained = not shown.is_untrained or len(found) < length
    full, mask = np.zeros((1, length, length)), np.zeros((length, length), dtype=bool)
    if len(found) == length:
        full[0] = found
        mask[:] = np.tri(length) if shown.snapshot.experiment.model.causal else 1
    else:
        full[0, shown.read], mask[shown.read] = found[-1], True
    words = charts.MapWords(("influence",), "total variation", f"{shown.word} changed")
    return _maps(shown, full, mask, words, heads=(0,), trained=trained, **look)


def _influence_numbers(shown: Shown) -> str:
    row = shown.influence_row[0]
    strongest = f"{shown.word.capitalize()} {row.argmax() + 1}"
    return f"{strongest} moves the prediction most, by {show_percent(row.max())}."


def _influence_how(shown: Shown) -> str:
    how = f"How much the prediction after the row's {shown.word} changes when the column's token "
    how += "is resampled (total variation, in %)"
    if len(shown.influence.mean) == shown.length:
        how += f". The framed row {shown.framed}"
    if shown.is_untrained and len(shown.influence.mean) == shown.length:
        how += "; faded rows are not trained (loss `last`)"
    how += f". ▼ marks the {shown.word}s that matter. This model has no attention."
    many = shown.influence.sequences
    if shown.at_rest and many > 1:
        most = show_percent(shown.influence.stderr[-1].max())
        how += f" Mean of {many} sequences; standard errors in the last row are at most {most}."
    return how


def _kernels_drawing(shown: Shown, **look: Any) -> charts.Drawing:
    kernels, mask = shown.trace.values[KERNELS], np.tri(shown.length, dtype=bool)
    heads = range(len(kernels))
    names = tuple(f"layer {layer + 1}" for layer in heads)
    words = charts.MapWords(names, "share of the kernel", f"{shown.word} read")
    return _maps(shown, kernels, mask, words, heads=heads, marked=False, trained=True, **look)


def _kernels_how(shown: Shown) -> str:
    return (
        "A convolution weights inputs by distance only. Each cell is the share of the layer's "
        "kernel (Frobenius norm) at that distance. From layer 2 on, inputs are outputs of the "
        "layer below."
    )


MAP_VIEWS = MappingProxyType(
    {
        "attention": InsideView(
            lambda inside: bool(inside.trace.attention),
            _attention_title,
            _attention_drawing,
            _attention_how,
            _attention_numbers,
        ),
        ALL_HEADS: InsideView(
            lambda inside: len(inside.trace.attention) > 1,
            _all_heads_title,
            _attention_drawing,
            _attention_how,
        ),
        "influence": InsideView(
            lambda inside: inside.influence is not None,
            lambda shown: f"Influence of each {shown.word} on the prediction",
            _influence_drawing,
            _influence_how,
            _influence_numbers,
        ),
        "kernels": InsideView(
            lambda inside: KERNELS in inside.trace.values,
            lambda shown: "Kernels by distance",
            _kernels_drawing,
            _kernels_how,
        ),
    }
)
