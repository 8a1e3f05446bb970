"""Beliefs as points of a triangle: tens of thousands of points, drawn as one image."""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float
from PIL import Image

from attnlab.charts.drawing import Chart, Rows, drawn_once, sized
from attnlab.charts.heatmap import tip
from attnlab.charts.lines import by_name, legend_columns, top_legend
from attnlab.charts.style import HUES, INK

# Pixels of the view, and of the image in it, which is drawn for screens of twice the density.
SIDE, _DOTS = 330, 2
# The view shows coordinates from -margin to 1 + margin.
_MARGIN = 0.12
_HEIGHT = np.sqrt(3) / 2
# Colours of the corners; a belief has their mixture.
_CORNERS = np.array([(214, 40, 90), (20, 140, 110), (60, 90, 220)])


class Plane(NamedTuple):
    """A map from beliefs to the plane, and the corners to draw.

    Attributes:
        axes: The coordinates of each state.
        origin: The coordinates of the zero vector.
        corners: Coordinates of the states to name.
        names: Their names.
        by_position: Whether the vertical coordinate is the position in the sequence.

    """

    axes: Float[np.ndarray, "states 2"]
    origin: Float[np.ndarray, " 2"]
    corners: Float[np.ndarray, "corners 2"]
    names: tuple[str, ...]
    by_position: bool = False

    def of(
        self, beliefs: Float[np.ndarray, "sequences positions states"]
    ) -> Float[np.ndarray, "points 2"]:
        """Return the coordinates of all beliefs, with sequences as the slow axis."""
        found = beliefs @ self.axes + self.origin
        if self.by_position:
            positions = found.shape[1]
            found[..., 1] = 1 - (np.arange(positions) + 0.5) / positions
        return found.reshape(-1, 2)


def plane_of(
    names: Sequence[str],
    beliefs: Float[np.ndarray, "sequences positions states"],
    corners: Sequence[int] = (),
) -> Plane:
    """Return the plane in which to show beliefs over named states.

    Three states are the corners of a triangle, two the ends of an interval, drawn for each
    position. With more states, three can be chosen as `corners`, with all others at the centre.
    Without a choice it is the plane of the first two principal components of the exact beliefs,
    which then fill the view.
    """
    states = len(names)
    if states == 2:
        axes = np.array([[0.0, 0.0], [1.0, 0.0]])
        return Plane(axes, np.zeros(2), axes, tuple(names), by_position=True)
    if states == 3 or corners:
        triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
        chosen = list(corners or range(3))
        axes = np.tile(triangle.mean(axis=0), (states, 1))
        axes[chosen] = triangle
        return Plane(axes, np.zeros(2), triangle, tuple(names[each] for each in chosen))
    flat = beliefs.reshape(-1, states)
    _, _, components = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    axes = components[:2].T
    # One scale for both, so that distances are those between beliefs.
    found = flat @ axes
    low, wide = found.min(axis=0), max(np.ptp(found, axis=0).max(), 1e-9)
    return Plane(axes / wide, -low / wide, np.zeros((0, 2)), ())


def belief_colours(
    beliefs: Float[np.ndarray, "*many states"],
) -> Float[np.ndarray, "*many 3"]:
    """Return a colour for each belief: the mixture of its states' colours."""
    return np.clip(beliefs, 0, 1) @ _state_colours(beliefs.shape[-1])


def _state_colours(states: int) -> Float[np.ndarray, "states 3"]:
    """Return the colour of each state: one of the three colours in turn."""
    hues = _CORNERS[np.arange(states) % len(_CORNERS)].astype(float)
    # Later rounds are lighter, so that states with one hue differ.
    rounds = np.arange(states) // len(_CORNERS)
    return hues + (235 - hues) * np.minimum(0.35 * rounds, 0.8)[:, None]


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
    file = io.BytesIO()
    Image.fromarray(picture.round().astype(np.uint8)).save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def corner_table(plane: Plane) -> pd.DataFrame:
    """Return the named corners of a plane, in the order of its outline."""
    rows = [
        (name, x, y, y > 0.5 or not plane.by_position)
        for name, (x, y) in zip(plane.names, plane.corners, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["name", "x", "y", "above"])
    return table.assign(order=np.arange(len(table)))


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
    hues = _state_colours(len(states))
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
    base = alt.Chart(corners)
    outline = base.mark_line(
        color=INK, opacity=0.35, strokeWidth=1, interpolate="linear-closed"
    ).encode(x=x, y=y, order="order:O")
    names = base.mark_text(color=INK, fontSize=12, dy=alt.ExprRef("datum.y > 0.5 ? -12 : 14"))
    colours = [f"rgb({red:.0f},{green:.0f},{blue:.0f})" for red, green, blue in hues]
    legend = top_legend(symbolType="circle", columns=legend_columns(states), offset=_INTO_THE_VIEW)
    ends = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x, y=y, color=by_name(alt.Color, "name", states, colours, legend=legend)
    )
    layers: list[alt.Chart] = [image, outline, ends, names.encode(x=x, y=y, text="name:N")]
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
