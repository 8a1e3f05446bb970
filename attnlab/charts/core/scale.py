"""Scales of maps: the ends of their colours, and the places of their cells.

Ends are few, so that maps share them and a live one keeps its own.
"""

import itertools
from collections.abc import Sequence

import altair as alt
import numpy as np
from jaxtyping import Float

_STEPS = (1.0, 3.0)


def top_of_scale(*values: Float[np.ndarray, "..."]) -> float:
    """The least of 0.01, 0.03, 0.1, 0.3, 1, 3 … that no value exceeds in size.

    Not below 0.01: what is smaller is drawn as next to nothing.
    """
    most = max((float(np.abs(each).max()) for each in values if each.size), default=0.0)
    ends = (step * 10.0**power for power in itertools.count(-2) for step in _STEPS)
    # Rounding may leave a share a little above 1.
    return round(next(end for end in ends if most <= end * (1 + 1e-6)), 2)


def cell_scale(places: Sequence[int]) -> alt.Scale:
    """The places of cells side by side, the first at the very beginning.

    In the middle of what is left, which is a rounding error, the first would at some widths stand
    before the axis, and Vega gives no label to what is there.
    """
    return alt.Scale(domain=list(places), align=0)
