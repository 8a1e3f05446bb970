"""Views that are maps of query against key: attention, influence, convolution kernels."""

import itertools
from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from attnlab.charts import Drawing, HeadPicture, heads_chart, overview_chart
from attnlab.configuration.number_text import show_percent
from attnlab.models import KERNELS, AttentionMap
from attnlab.models.inside import head_name, heads_of, map_name
from attnlab.ui.core.glossary import link_to
from attnlab.ui.train.inside.shown import ALL_HEADS, InsideView, Shown

_NAMES = " L2 H3 is the third head of the second layer."
_CHIPS = " Click heads to show only those."
# With more cells, heads are drawn as images, since browsers draw single cells slowly. The limits
# are eight heads on 24 positions with a causal mask, and one head on 64 positions without a mask.
_MOST_CELLS, _MOST_ALONE = 2_400, 4_096
# Maximum number of heads of one layer that are drawn side by side.
_MOST_COLUMNS = 8


def _draw_maps(
    shown: Shown,
    lines: Sequence[Sequence[HeadPicture]],
    cell: str,
    key: str,
    *,
    marked: bool = True,
    trained: bool | Sequence[bool] = True,
    height: int,
) -> Drawing:
    """Return the maps cell by cell or, if they have too many cells, as lines of images."""
    maps = [each for line in lines for each in line]
    if _are_many(maps):
        return overview_chart(lines, cell=cell, dark=shown.dark, height=height)
    return heads_chart(
        maps,
        cell=cell,
        key=key,
        trained=trained,
        read=shown.read,
        informative=shown.informative if marked else (),
        symbols=shown.symbols,
        height=height,
    )


def _are_many(maps: Sequence[HeadPicture]) -> bool:
    cells = sum(int(each.unmasked.sum()) for each in maps)
    return cells > (_MOST_CELLS if len(maps) > 1 else _MOST_ALONE)


def _heads(shown: Shown) -> Sequence[tuple[int, int]]:
    """Return the heads to draw, as (index of the map, index of the head)."""
    if shown.choice.view == ALL_HEADS:
        return heads_of(shown.trace)
    place = min(shown.choice.place, len(shown.trace.attention) - 1)
    count = len(shown.trace.attention[place].pattern)
    return [(place, head) for head in shown.choice.heads if head < count] or [(place, 0)]


def _as_pictures(shown: Shown) -> bool:
    """Return whether the heads have too many cells to draw each cell separately."""
    attention = shown.trace.attention
    return _are_many([head_picture(attention[place], head) for place, head in _heads(shown)])


def _attention_chart(shown: Shown, height: int) -> Drawing:
    attention, heads = shown.trace.attention, _heads(shown)
    maps = [head_picture(attention[place], head) for place, head in heads]
    if shown.choice.view == ALL_HEADS:
        layers = itertools.groupby(range(len(maps)), lambda at: heads[at][0])
        lines = [[maps[at] for at in places] for _, places in layers]
    else:
        if not _are_many(maps):
            named = zip(maps, heads, strict=True)
            maps = [each._replace(name=f"head {head + 1}") for each, (_, head) in named]
        lines = [
            maps[first : first + _MOST_COLUMNS] for first in range(0, len(maps), _MOST_COLUMNS)
        ]
    # All rows of earlier layers are trained, since the last layer reads their output.
    last = len(attention) - 1
    trained = tuple(place < last or not shown.is_untrained for place, _ in heads)
    marked = attention[heads[0][0]].kind == "self"
    key = f"{shown.word} attended to"
    return _draw_maps(
        shown, lines, "share of attention", key, marked=marked, trained=trained, height=height
    )


def head_picture(found: AttentionMap, head: int) -> HeadPicture:
    """Return a head's pattern and short name, to be drawn as an image."""
    return HeadPicture(head_name(found, head), found.pattern[head], found.mask)


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


def _influence_chart(shown: Shown, height: int) -> Drawing:
    found, length = shown.influence.mean, shown.length
    pattern, mask = np.zeros((length, length)), np.zeros((length, length), dtype=bool)
    is_whole = len(found) == length
    if is_whole:
        pattern[:] = found
        mask[:] = np.tri(length) if shown.snapshot.experiment.model.causal else 1
    else:
        pattern[shown.read], mask[shown.read] = found[-1], True
    trained = not shown.is_untrained or not is_whole
    lines, key = [[HeadPicture("influence", pattern, mask)]], f"{shown.word} changed"
    return _draw_maps(shown, lines, "total variation", key, trained=trained, height=height)


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


def _kernels_chart(shown: Shown, height: int) -> Drawing:
    mask = np.tri(shown.length, dtype=bool)
    kernels = enumerate(shown.trace.values[KERNELS], 1)
    lines = [[HeadPicture(f"layer {layer}", kernel, mask) for layer, kernel in kernels]]
    key = f"{shown.word} read"
    return _draw_maps(shown, lines, "share of the kernel", key, marked=False, height=height)


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
            _attention_chart,
            _attention_how,
            _attention_numbers,
        ),
        ALL_HEADS: InsideView(
            lambda inside: len(inside.trace.attention) > 1,
            _all_heads_title,
            _attention_chart,
            _attention_how,
        ),
        "influence": InsideView(
            lambda inside: inside.influence is not None,
            lambda shown: f"Influence of each {shown.word} on the prediction",
            _influence_chart,
            _influence_how,
            _influence_numbers,
        ),
        "kernels": InsideView(
            lambda inside: KERNELS in inside.trace.values,
            lambda shown: "Kernels by distance",
            _kernels_chart,
            _kernels_how,
        ),
    }
)
