"""Ratios of what was measured, in words."""

from attnlab.lessons.costs import CostProgress


def longest_pair(progress: CostProgress) -> tuple[int, int] | None:
    """The two longest lengths that were measured."""
    lengths = sorted({m.length for m in progress.measured})
    return (lengths[-2], lengths[-1]) if len(lengths) > 1 else None


def in_words(spread: tuple[float, float, float]) -> str:
    """Median, and least to most, two digits each."""
    middle, least, most = (_two_digits(value) for value in spread)
    return f"{middle} ({least} to {most})"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"
