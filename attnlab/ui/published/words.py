"""What rows are called, and their figures as a table."""

from collections.abc import Sequence

import pandas as pd

from attnlab.comparisons.published.parts import SWITCHED
from attnlab.comparisons.published.rows import PublishedRow
from attnlab.training.presets import switches_of
from attnlab.ui.core.uncertainty import interval_text

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
                "ceiling": f"{row.row.references.best.accuracy:.3f}",
                "loss (nats)": interval_text(row.row.nll),
                "floor": f"{row.row.references.best.nll:.3f}",
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
