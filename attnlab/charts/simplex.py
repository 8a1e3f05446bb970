"""Beliefs as points of a triangle: tens of thousands of points, drawn as one image."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float
from PIL import Image

from attnlab.charts.drawing import Chart, Rows, drawn_once, image_address, sized
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import by_name, legend_columns, top_legend
from attnlab.charts.style import HUES, INK
from attnlab.inspection.belief_planes import Plane, state_colours

# Pixels of the view, and of the image in it, which is drawn for screens of twice the density.
SIDE, _DOTS = 330, 2
# The view shows coordinates from -margin to 1 + margin.
_MARGIN = 0.12


def simplex_address(
    points: Float[np.ndarray, "points 2"],
    colours: Float[np.ndarray, "points 3"],
    *,
    side: int = SIDE,
    dot: int = 2,
) -> str:
    """Return an image of coloured points as a `data:` URL; each pixel averages their colours."""
    pixels = side * _DOTS
    scale = pixels / (1 + 2 * _MARGIN)
    column, row = np.rint((points + _MARGIN) * scale).astype(int).T
    row = pixels - 1 - row
    inside = (np.minimum(row, column) >= 0) & (np.maximum(row, column) <= pixels - dot)
    values = np.column_stack([colours, np.ones(len(points))])[inside]
    places = row[inside] * pixels + column[inside]
    sums = np.zeros((pixels, pixels, 4))
    for right, down in np.ndindex(dot, dot):
        np.add.at(sums.reshape(-1, 4), places + down * pixels + right, values)
    count = sums[..., 3:]
    picture = np.where(count > 0, sums / np.maximum(count, 1), 0)
    picture[..., 3] = 255 * (count[..., 0] > 0)
    return image_address(Image.fromarray(picture.round().astype(np.uint8)), compress_level=1)


def corner_table(plane: Plane) -> pd.DataFrame:
    """Return the named corners of a plane, in the order of its outline."""
    table = pd.DataFrame(plane.corners, columns=["x", "y"])
    return table.assign(name=plane.names, order=range(len(table)))


def belief_table(
    plane: Plane,
    beliefs: Float[np.ndarray, "some states"],
    texts: Sequence[str],
    chosen: int | None = None,
) -> pd.DataFrame:
    """Return a table with one row per belief to hover over, with its tokens as text."""
    points = beliefs @ plane.axes + plane.origin
    return pd.DataFrame(
        {
            "x": points[:, 0],
            "y": points[:, 1],
            "text": list(texts),
            "belief": [", ".join(f"{share:.3f}" for share in each) for each in beliefs],
            "number": np.arange(len(texts)),
            "chosen": np.arange(len(texts)) == (-1 if chosen is None else chosen),
        }
    )


# The legend ends in the upper margin of the view.
_INTO_THE_VIEW = -24
PICK = "pick"
_CLICK_OR_DRAG = "click, [pointerdown, window:pointerup] > pointermove"


@drawn_once
def simplex_chart(
    picture: Rows, corners: Rows, points: Rows | None = None, *, states: tuple[str, ...]
) -> Chart:
    """Draw an image of beliefs, the outline of the triangle, and points to hover and pick.

    The legend has the colours of all `states`, including those that are not corners.
    """
    hues = state_colours(len(states))
    domain = (-_MARGIN, 1 + _MARGIN)
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    x, y = (alt.X("x:Q", scale=scale, axis=None), alt.Y("y:Q", scale=scale, axis=None))
    image = (
        alt.Chart(picture)
        .mark_image(
            aspect=False,
            x=alt.ExprRef("width / 2"),
            y=alt.ExprRef("height / 2"),
            width=alt.ExprRef("width"),
            height=alt.ExprRef("height"),
        )
        .encode(url="url:N")
    )
    base = alt.Chart(corners).encode(x=x, y=y)
    outline = base.mark_line(color=INK, opacity=0.35, strokeWidth=1, interpolate="linear-closed")
    names = base.mark_text(color=INK, fontSize=12, dy=alt.ExprRef("datum.y > 0.5 ? -12 : 14"))
    colours = [f"rgb({red:.0f},{green:.0f},{blue:.0f})" for red, green, blue in hues]
    legend = top_legend(symbolType="circle", columns=legend_columns(states), offset=_INTO_THE_VIEW)
    ends = base.mark_point(filled=True, size=40, opacity=1)
    colour = by_name(alt.Color, "name", states, colours, legend=legend)
    layers: list[alt.Chart] = [
        image,
        outline.encode(order="order:O"),
        ends.encode(color=colour),
        names.encode(text="name:N"),
    ]
    if points is not None:
        pick = alt.selection_point(
            name=PICK, fields=["number"], nearest=True, empty=False, on=_CLICK_OR_DRAG
        )
        shown = alt.Chart(points).mark_point(size=90, color=HUES.cursor, filled=False)
        layers.append(
            shown.encode(
                x=x,
                y=y,
                opacity=alt.condition("datum.chosen", alt.value(1), alt.value(0)),
                tooltip=[tip("text:N", "past"), tip("belief:N", "belief")],
            ).add_params(pick)
        )
    return sized(alt.layer(*layers), SIDE, SIDE)
