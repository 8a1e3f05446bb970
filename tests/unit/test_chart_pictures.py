"""Ten charts look as they did: rendered and compared with kept pictures.

After a change of the look that is meant: `python -m tests.unit.test_chart_pictures`, and view them.
"""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from attnlab.charts import as_picture, to_png
from tests.unit.chart_examples import EXAMPLES

FOLDER = Path(__file__).parents[1] / "data" / "charts"
# Charts without emoji, which each machine draws with its own font.
NAMES = (
    "calibration_chart", "dots_chart", "heads_chart", "learning_chart", "loss_chart",
    "matrix_chart", "parallel_chart", "plane_chart", "published_chart", "shares_chart",
)  # fmt: skip
# Of 255, where four dots are averaged: renderers may differ in the edges of letters.
TOLERANCE = 16


def rendered(name):
    """The chart as an image, one dot a unit."""
    drawing = EXAMPLES[name]()
    picture = as_picture(drawing, title=name, subtitles=["as it was kept"], width=300)
    image = Image.open(io.BytesIO(to_png(picture))).convert("RGB")
    return image.reduce(2)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_looks_as_it_did(name):
    found, kept = rendered(name), Image.open(FOLDER / f"{name}.png").convert("RGB")
    assert found.size == kept.size
    found, kept = (np.asarray(image.reduce(2), dtype=int) for image in (found, kept))
    assert np.abs(found - kept).max() <= TOLERANCE


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        rendered(name).save(FOLDER / f"{name}.png", optimize=True)
