"""Points of a data set as people paste them."""

import math

import numpy as np
from jaxtyping import Float

from attnlab.configuration.options import OptionError, check_typed

FEWEST, MOST = 3, 500
MOST_LETTERS = 20_000
_LARGEST = 1e6
_REMEDY = "Write one point per line: x and y separated by a space, comma or tab"


def read_points(name: str, text: str) -> tuple[Float[np.ndarray, " points"], ...]:
    """The x and the y of lines such as `0.5, 1.2`; empty lines count for nothing.

    Refused, with an `OptionError` that names the line: what is not two finite numbers of size up
    to a million. Refused too: fewer than 3 points, more than 500, and all x alike.
    """
    check_typed(name, text, most=MOST_LETTERS)
    points = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            points.append(_point(f"{name} line {number}", line))
        if len(points) > MOST:
            raise OptionError(
                name, f"line {number}", f"more than {MOST} points", "Leave some of them out"
            )
    if len(points) < FEWEST:
        raise OptionError(name, text, f"fewer than {FEWEST} points", _REMEDY)
    x, y = np.array(points, dtype=np.float64).T
    if np.ptp(x) < 1e-6 * max(1.0, float(np.abs(x).max())):
        raise OptionError(name, float(x[0]), "the x of every point", "Give points of different x")
    return x, y


def _point(name: str, line: str) -> tuple[float, float]:
    parts = line.replace(",", " ").replace(";", " ").split()
    try:
        x, y = (float(part) for part in parts)
    except ValueError:
        raise OptionError(name, line.strip(), "not two numbers", _REMEDY) from None
    for value in (x, y):
        if not math.isfinite(value) or abs(value) > _LARGEST:
            problem = "not a finite number of size up to a million"
            raise OptionError(name, value, problem, "Correct it or leave the line out")
    return x, y
