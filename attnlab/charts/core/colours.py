"""The fixed hues: the same thing has the same colour everywhere, on light ground and on dark."""

from typing import NamedTuple


class Hues(NamedTuple):
    """What each colour means. The truth is always grey and dashed, what was learned violet.

    `sampled` is what the process itself drew, by chance.
    """

    learned: str
    training: str
    truth: str
    cursor: str
    query: str
    key: str
    sampled: str
    value: str


def past_hue(number: int, *, dark: bool) -> str:
    """The colour of a past run: none of the fixed hues, and its own for as long as it stays."""
    light = ("#0b7a75", "#a8551a", "#a12c7d", "#5d6b14", "#7a4b36", "#2a6f97", "#5f3dc4")
    on_dark = ("#4fc4bd", "#e59a5c", "#e07fc0", "#b5c45a", "#c99b84", "#74b9dd", "#b39df3")
    hues = on_dark if dark else light
    return hues[number % len(hues)]


class Ramp(NamedTuple):
    """Colours of a scale from its low end to its high end."""

    low: str
    middle: str
    high: str


def hues(*, dark: bool) -> Hues:
    """The hues on light or dark ground; those of `.streamlit/config.toml`."""
    if dark:
        return Hues(
            "#9a92ff", "#7f8798", "#a0a8b8", "#f0a265", "#6cb0f5", "#f5858f", "#e8c04c", "#62cfa0"
        )
    return Hues(
        "#5048c8", "#9aa2b3", "#5c6577", "#b0560f", "#1f6fc4", "#c93a4b", "#8a6400", "#1c8058"
    )


class Inks(NamedTuple):
    """Of words: `ink` on the page's ground, and `ground` itself on what stands out from it."""

    ground: str
    ink: str


def inks(*, dark: bool) -> Inks:
    """The colours of words that stand for no series, on light or dark ground."""
    return Inks("#12151c", "#e6e9f0") if dark else Inks("#ffffff", "#1d2433")


def share_ramp(*, dark: bool) -> Ramp:
    """From nothing, near the page's ground, to all, for shares from 0 to 1."""
    return Ramp("#1e1d33", "#6e67cb", "#dbd9ff") if dark else Ramp("#f4f3fd", "#8b83e2", "#362f8c")


def truth_ramp(*, dark: bool) -> Ramp:
    """As `share_ramp`, in the greys of what is known and not learned."""
    return Ramp("#1b1f29", "#6f7888", "#e6e9f0") if dark else Ramp("#f4f5f8", "#9aa2b3", "#1d2433")


def signed_ramp(*, dark: bool) -> Ramp:
    """From negative over the page's ground to positive."""
    if dark:
        return Ramp("#f0a265", "#1b1f29", "#9a92ff")
    return Ramp("#b0560f", "#f4f5f8", "#5048c8")
