"""What rows are called, and their figures as a table."""

from collections.abc import Sequence

import pandas as pd

from attnlab.comparisons.published.parts import SWITCHED
from attnlab.comparisons.published.rows import PublishedRow
from attnlab.comparisons.summary import TARGET
from attnlab.training.presets import switches_of
from attnlab.ui.core.uncertainty import interval_text, known_text, reached_text, share_text

# Mean shares of what can be learned.
_ABLE, _FAR = 0.9, 0.5
_SWITCHES = [list(enumerate(switches_of(process))) for process in SWITCHED]
_SAYS = {switch.preset: f"{number}  {switch.says}" for each in _SWITCHES for number, switch in each}


def label_of(row: PublishedRow) -> str:
    """The number of the switch and what it changes, or the model."""
    return _SAYS.get(row.model, row.model)


def short_label_of(row: PublishedRow) -> str:
    """The number and the name of the switch."""
    number, _, name = row.model.removeprefix(f"{row.process}-").partition("-")
    return f"{number}  {name}" if number.isdecimal() else "0  published"


def full_label_of(row: PublishedRow) -> str:
    """The process and the model."""
    return f"{row.process} · {row.model}"


def table_of(
    rows: Sequence[PublishedRow], labels: Sequence[str], *, published: bool
) -> pd.DataFrame:
    """A row a setting; with the post's figures where it has them, if they are asked for."""
    return pd.DataFrame(
        [
            {
                "row": label,
                **(_published(row) if published else {}),
                "ours": interval_text(row.row.accuracy),
                "ceiling": known_text(row.row.references.best, "accuracy"),
                "loss (nats)": interval_text(row.row.nll),
                "floor": known_text(row.row.references.best, "nll"),
                "learned": share_text(row.row.learned),
                f"reached {TARGET:.0%}": reached_text(row.row.reached),
            }
            for row, label in zip(rows, labels, strict=True)
        ]
    ).set_index("row")


def _published(row: PublishedRow) -> dict[str, str]:
    english, japanese = ("–" if figure is None else f"{figure:.3f}" for figure in row.published)
    return {"English": english, "Japanese": japanese}


def verdicts_of(rows: Sequence[PublishedRow], labels: Sequence[str]) -> str:
    """What each row says, as a list in Markdown; of a row without results that it has none yet."""
    told = zip(rows, labels, strict=True)
    return "\n".join(f"- **{label}**: {row.verdict or 'no result yet.'}" for row, label in told)


def families_in_words(rows: Sequence[PublishedRow]) -> str:
    """Which families learn the processes that combine days, and which do not, in Markdown."""
    learned: dict[str, list[float]] = {}
    for row in rows:
        if row.process in SWITCHED and row.row.learned is not None:
            learned.setdefault(row.model, []).append(row.row.learned.mean)
    learned = {name: each for name, each in learned.items() if len(each) == len(SWITCHED)}
    able = [name for name, each in learned.items() if min(each) >= _ABLE]
    far = [name for name, each in learned.items() if max(each) < _FAR]
    rest = [name for name in learned if name not in (*able, *far)]
    told = (
        (f"{_ABLE:.0%} or more of both is learned by", able),
        (f"less than {_FAR:.0%} of either by", far),
        ("in between, or of one more than of the other, by", rest),
    )
    parts = "; ".join(f"{words} {', '.join(names)}" for words, names in told if names)
    return f"**{' and '.join(SWITCHED)}**: {parts}." if parts else ""
