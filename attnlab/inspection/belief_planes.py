"""Beliefs as points of a plane, and their colours."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

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


def belief_colours(beliefs: Float[np.ndarray, "*many states"]) -> Float[np.ndarray, "*many 3"]:
    """Return a colour for each belief: the mixture of its states' colours."""
    return np.clip(beliefs, 0, 1) @ state_colours(beliefs.shape[-1])


def state_colours(states: int) -> Float[np.ndarray, "states 3"]:
    """Return the colour of each state: one of the three colours in turn."""
    hues = _CORNERS[np.arange(states) % len(_CORNERS)].astype(float)
    # Later rounds are lighter, so that states with one hue differ.
    rounds = np.arange(states) // len(_CORNERS)
    return hues + (235 - hues) * np.minimum(0.35 * rounds, 0.8)[:, None]
