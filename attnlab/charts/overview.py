"""Many heads at a glance: each pattern is an image with one pixel per cell."""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from PIL import Image

from attnlab.charts.drawing import Chart, Rows, drawn_once
from attnlab.charts.heads import PADDING, Grid, cell_text
from attnlab.charts.heatmap import strongest_of_blocks, tip
from attnlab.charts.style import INK, SHARES, on_dark

# Pixels of the largest image and of a single one, of the name above it and the text below it, and
# their widths.
_MOST_PICTURE, _ALONE, _LINE, _NAME_WIDTH, _TEXT_WIDTH, _GAP = 150, 280, 16, 38, 92, 6
# The last of an image's 256 colours marks masked cells.
_STEPS = 255


class HeadPicture(NamedTuple):
    """The pattern of a head, its mask, its name, and a text to show below it."""

    name: str
    pattern: Float[np.ndarray, "query key"]
    unmasked: Bool[np.ndarray, "query key"]
    text: str = ""


def overview_table(lines: Sequence[Sequence[HeadPicture]], *, dark: bool) -> pd.DataFrame:
    """Return a table with one row per head, with its pattern as an image.

    Single marks would be too many for a browser: 64 heads on 64 positions have 260,000 cells. If a
    map has more cells than its image has pixels, a pixel shows the largest value of several cells.
    """
    wide, most = max(map(len, lines)), _size_of(sum(map(len, lines)))
    rows = [
        (line * wide + column, head.name, _address(head, most, dark=dark), head.text)
        for line, heads in enumerate(lines)
        for column, head in enumerate(heads)
    ]
    return pd.DataFrame(rows, columns=["place", "head", "picture", "text"])


def _size_of(images: int) -> int:
    return _ALONE if images == 1 else _MOST_PICTURE


def _address(head: HeadPicture, most: int, *, dark: bool) -> str:
    """Return a head's image as a `data:` URL."""
    ramp = [on_dark(colour) if dark else colour for colour in SHARES]
    stops = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in ramp])
    steps, places = np.linspace(0, 1, _STEPS), np.linspace(0, 1, len(stops))
    channels = [np.interp(steps, places, channel) for channel in stops.T]
    palette = np.stack(channels, axis=1).round().astype(int).ravel().tolist()
    pattern, unmasked = strongest_of_blocks(head.pattern, head.unmasked, most=most)
    shares = (np.clip(pattern, 0, 1) * (_STEPS - 1)).round()
    picture = Image.fromarray(np.where(unmasked, shares, _STEPS).astype(np.uint8))
    picture.putpalette([*palette, 0, 0, 0])
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=_STEPS)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@drawn_once
def overview_chart(table: Rows, *, lines: int, columns: int, texts: bool, cell: str) -> Chart:
    """Draw images in `lines` of up to `columns`, all with the same scale from 0 to 1.

    `cell` says what a pixel means. With `texts` there is a line of text below each image.
    """
    grid = Grid(lines * columns, 1, 1, 0, _LINE, _GAP + _LINE * texts, _GAP)
    tooltip = [tip("head:N", "head"), *[tip("text:N", "result")] * texts]
    pictures = alt.Chart(table).mark_image(
        aspect=False,
        smooth=False,
        align="left",
        baseline="top",
        x=alt.ExprRef(grid.x("1")),
        y=alt.ExprRef(grid.y("0")),
        width=alt.ExprRef("cell"),
        height=alt.ExprRef("cell"),
    )
    # Hide texts that would overlap the next one; the tooltip shows them.
    look = {"baseline": "top", "fontSize": 11}
    shown = [f"pitch >= {least}" for least in (_NAME_WIDTH, _TEXT_WIDTH)]
    name = {**look, "shown": shown[0], "fontWeight": "bold"}
    below = {**look, "shown": shown[1]}
    # Invisible marks, whose colour scale gives the legend; images have none.
    ends = alt.Chart(alt.InlineData([{"share": 0.0}, {"share": 1.0}])).mark_point(opacity=0)
    side, apart = _size_of(lines * columns), (_TEXT_WIDTH if texts else _NAME_WIDTH) + _GAP
    return (
        alt.layer(
            pictures.encode(url="picture:N", tooltip=tooltip),
            ends.encode(color=grid.shade(cell)),
            cell_text(table, grid.x("1"), f"{grid.y('0')} - {_LINE - 2}", INK, "head", **name),
            *[cell_text(table, grid.x("1"), f"{grid.y('1')} + 3", INK, "text", **below)] * texts,
        )
        .add_params(*grid.sizes(most=side, columns=columns, apart=apart))
        .properties(padding=PADDING, usermeta=grid.in_file(columns=columns, cell=side, apart=apart))
    )
