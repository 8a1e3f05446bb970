"""Many maps of query against key at a glance: a small picture each, since marks would be too many.

The cells of one head on 64 days are 4,096; those of 64 heads would be a quarter of a million marks,
which a browser takes many seconds to draw.
"""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from PIL import Image

from attnlab.charts.core.colours import Ramp, inks, share_ramp
from attnlab.charts.core.drawing import Rows, drawn_once
from attnlab.charts.core.legend import drawn_ramp

# Pixels: the name above a picture, the figure below it, between pictures; the legend below all.
_NAME, _FIGURE, _GAP, _LEGEND = 16, 16, 6, 24
# Pixels across that a name takes, and a figure.
_NAME_WIDTH, _FIGURE_WIDTH = 38, 92
_MOST_SIDE = 150
# Of the 256 colours of a picture the last is for cells that the mask forbids.
_STEPS = 255


class HeadPicture(NamedTuple):
    """The pattern of a head, which cells its mask admits, its name, and a figure below it."""

    name: str
    pattern: Float[np.ndarray, "query key"]
    unmasked: Bool[np.ndarray, "query key"]
    text: str = ""


def overview_table(lines: Sequence[Sequence[HeadPicture]], *, dark: bool) -> pd.DataFrame:
    """A row for every head, with its picture as a `data:` address; a pixel is a cell."""
    ramp = share_ramp(dark=dark)
    rows = [
        (line, column, head.name, _address(head, ramp), head.text)
        for line, heads in enumerate(lines)
        for column, head in enumerate(heads)
    ]
    return pd.DataFrame(rows, columns=["line", "column", "head", "picture", "text"])


def _address(head: HeadPicture, ramp: Ramp) -> str:
    shares = np.clip(head.pattern, 0, 1) * (_STEPS - 1)
    picture = Image.fromarray(np.where(head.unmasked, shares.round(), _STEPS).astype(np.uint8))
    picture.putpalette(_palette(ramp))
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=_STEPS)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _palette(ramp: Ramp) -> list[int]:
    """The colours of the shares in equal steps from 0 to 1, as Vega goes from one to the next."""
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in ramp])
    steps, places = np.linspace(0, 1, _STEPS), np.linspace(0, 1, len(stops))
    channels = [np.interp(steps, places, channel) for channel in stops.T]
    colours = np.stack(channels, axis=1).round().astype(int).ravel().tolist()
    return [*colours, 0, 0, 0]


@drawn_once
def overview_chart(
    table: Rows, *, lines: int, columns: int, texts: bool, cell: str, dark: bool, height: int
) -> alt.LayerChart:
    """The pictures in `lines` of up to `columns`, all on one scale from 0 to 1, named `cell`.

    With `texts` the figure of each stands below it.
    """
    around = _NAME + _GAP + (_FIGURE if texts else 0)
    across = f"(width - {_GAP * (columns - 1)}) / {columns}"
    down = f"(height - {_LEGEND + lines * around}) / {lines}"
    side = alt.param(name="side", expr=f"max(4, min({_MOST_SIDE}, {across}, {down}))")
    # Pictures stand as far apart as their words need where there is room.
    need = (_FIGURE_WIDTH if texts else _NAME_WIDTH) + _GAP
    pitch = alt.param(name="pitch", expr=f"max(side + {_GAP}, min({need}, width / {columns}))")
    left, top = "datum.column * pitch", f"datum.line * (side + {around}) + {_NAME}"
    ink = inks(dark=dark).ink
    tooltip = [alt.Tooltip("head:N", title="head")]
    if texts:
        tooltip.append(alt.Tooltip("text:N", title="figure"))
    pictures = (
        alt.Chart(table)
        .mark_image(
            aria=False,
            aspect=False,
            smooth=False,
            align="left",
            baseline="top",
            x=alt.ExprRef(left),
            y=alt.ExprRef(top),
            width=alt.ExprRef("side"),
            height=alt.ExprRef("side"),
        )
        .encode(url="picture:N", tooltip=tooltip)
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=list(share_ramp(dark=dark)), clamp=True),
        legend=None,
    )
    foot = f"({lines} * (side + {around}) + 8)"

    def words(field: str, y: str, least: int, **look: object) -> alt.Chart:
        # Where one would run into the next none is shown; the tooltip has it.
        return (
            alt.Chart(table)
            .mark_text(
                aria=False,
                align="left",
                baseline="top",
                color=ink,
                fontSize=11,
                # What is not seen takes its room all the same, of which a phone has none.
                x=alt.ExprRef(f"pitch >= {least} ? {left} : 0"),
                y=alt.ExprRef(y),
                opacity=alt.ExprRef(f"pitch >= {least} ? 1 : 0"),
                **look,
            )
            .encode(text=f"{field}:N")
        )

    layers = [
        pictures,
        words("head", f"{top} - {_NAME - 2}", _NAME_WIDTH, fontWeight="bold"),
        *([words("text", f"{top} + side + 3", _FIGURE_WIDTH)] if texts else []),
        *drawn_ramp(cell, "150", foot, colour=colour, ink=ink),
    ]
    return (
        alt.layer(*layers)
        .add_params(side, pitch)
        .properties(height=height, padding={"left": 0, "top": 0, "right": 8, "bottom": 0})
    )
