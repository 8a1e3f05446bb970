"""What the blog post reported, to be held against runs of the same settings."""

import math
from types import MappingProxyType
from typing import NamedTuple

POST = (
    "“Understanding what self-attention is doing”, a blog post (English, 10 May 2023; Japanese, "
    "9 May 2023)"
)
# Each figure is that of one run, tested on so many sequences.
TEST_SEQUENCES = 1_000


class Published(NamedTuple):
    """Test accuracies of one row of the post in its two languages, None where it has none."""

    english: float | None = None
    japanese: float | None = None

    @property
    def figures(self) -> tuple[float, ...]:
        """Those that there are."""
        return tuple(figure for figure in self if figure is not None)


# By process and model, as the post has them.
PUBLISHED = MappingProxyType(
    {
        ("markov", "attention"): Published(0.498, 0.498),
        ("markov", "linear"): Published(),
        ("recall", "attention"): Published(0.402, 0.389),
        ("recall", "linear"): Published(0.442, 0.423),
        ("ndays10", "attention"): Published(0.363, 0.332),
        ("ndays10", "linear"): Published(0.416, 0.376),
        ("ndays15", "attention"): Published(0.356, 0.314),
        ("ndays15", "linear"): Published(0.342, 0.369),
        ("dotmod", "attention"): Published(0.435, 0.448),
        ("dotmod", "linear"): Published(0.744, 0.699),
    }
)


def standard_error(accuracy: float) -> float:
    """That of a published accuracy over its own test sequences: √(p (1 - p) / 1,000).

    >>> round(standard_error(0.5), 4)
    0.0158
    """
    return math.sqrt(accuracy * (1 - accuracy) / TEST_SEQUENCES)
