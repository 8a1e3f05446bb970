"""Many heads at a glance: each pattern is an image with one pixel per cell."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from PIL import Image

from attnlab.charts.drawing import Chart, Drawing, Rows, drawn_once, image_address
from attnlab.charts.heads import PADDING, Grid, HeadPicture, cell_text
from attnlab.charts.heatmap import tip
from attnlab.charts.maps import strongest_of_blocks
from attnlab.charts.style import INK, SHARES, on_dark

# Pixels of the largest image and of a single one, of the name above it and the text below it, and
# their widths.
_MOST_PICTURE, _ALONE, _LINE, _NAME_WIDTH, _TEXT_WIDTH, _GAP = 150, 280, 16, 38, 92, 6
# The last of an image's 256 colours marks masked cells.
_STEPS = 255


def overview_chart(
    lines: Sequence[Sequence[HeadPicture]],
    *,
    cell: str,
    texts: bool = False,
    dark: bool = False,
    height: int | None = None,
) -> Drawing:
    """Draw patterns as images in lines, all with the same scale from 0 to 1.

    Single marks would be too many for a browser: 64 heads on 64 positions have 260,000 cells. If a
    map has more cells than its image has pixels, a pixel shows the largest value of several cells.

    Args:
        lines: The heads of each line.
        cell: What a pixel means.
        texts: Whether there is a line of text below each image.
        dark: Whether images have the colours of the dark theme.
        height: The height of the chart in pixels.
    """
    columns = max(map(len, lines))
    most = _ALONE if sum(map(len, lines)) == 1 else _MOST_PICTURE
    rows = [
        (line * columns + column, head.name, _address(head, most, dark=dark), head.text)
        for line, heads in enumerate(lines)
        for column, head in enumerate(heads)
    ]
    table = pd.DataFrame(rows, columns=["place", "head", "picture", "text"])
    shape = {"lines": len(lines), "columns": columns}
    return _overview(table, **shape, texts=texts, cell=cell, height=height)


def _address(head: HeadPicture, most: int, *, dark: bool) -> str:
    """Return a head's image as a `data:` URL."""
    ramp = [on_dark(colour) if dark else colour for colour in SHARES]
    stops = np.array([[*bytes.fromhex(colour[1:])] for colour in ramp])
    steps, places = np.linspace(0, 1, _STEPS), np.linspace(0, 1, len(stops))
    channels = [np.interp(steps, places, channel) for channel in stops.T]
    palette = np.stack(channels, axis=1).round().astype(int).ravel().tolist()
    pattern, unmasked = strongest_of_blocks(head.pattern, head.unmasked, most=most)
    shares = (np.clip(pattern, 0, 1) * (_STEPS - 1)).round()
    picture = Image.fromarray(np.where(unmasked, shares, _STEPS).astype(np.uint8))
    picture.putpalette([*palette, 0, 0, 0])
    return image_address(picture, transparency=_STEPS)


@drawn_once
def _overview(table: Rows, *, lines: int, columns: int, texts: bool, cell: str) -> Chart:
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
    name = {**look, "shown": f"pitch >= {_NAME_WIDTH}", "fontWeight": "bold"}
    below = {**look, "shown": f"pitch >= {_TEXT_WIDTH}"}
    # Invisible marks, whose colour scale gives the legend; images have none.
    ends = alt.Chart(alt.InlineData([{"share": 0.0}, {"share": 1.0}])).mark_point(opacity=0)
    side = _ALONE if lines * columns == 1 else _MOST_PICTURE
    apart = (_TEXT_WIDTH if texts else _NAME_WIDTH) + _GAP
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
