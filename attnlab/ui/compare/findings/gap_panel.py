"""The gap between a setting's loss and the floor, taken apart."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attnlab.comparisons.gap import PARTS, Gap, gap_of
from attnlab.comparisons.intervals import LEVEL
from attnlab.comparisons.summary import Row
from attnlab.configuration.number_text import show_range
from attnlab.training.limits import reachable_by
from attnlab.ui.core.fragments import draw_while
from attnlab.ui.core.process_figures import is_answered
from attnlab.ui.core.uncertainty import OF_SEEDS, interval_text

_NOT_KNOWN = "not known by itself"


def draw_gaps(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """A table of the parts, in a panel: what they rest on may take a while to work out."""
    panel = st.expander(
        "The gap, taken apart", key="compare_gaps", on_change="rerun", icon=":material/splitscreen:"
    )
    if not panel.open:
        return
    with panel:
        finished = [(row, label) for row, label in zip(rows, labels, strict=True) if row.finished]
        experiments = [row.setting.experiment for row, _ in finished]

        def missing() -> int:
            return sum(not is_answered(reachable_by, each) for each in experiments)

        def draw() -> None:
            if left := missing():
                st.caption(
                    f":material/hourglass_top: Working out what the families can express: {left} "
                    f"of {len(experiments)} left …"
                )
                return
            _draw_table(finished, rows)

        draw_while(missing, draw, key="compare_gaps_live")


def _draw_table(finished: Sequence[tuple[Row, str]], rows: Sequence[Row]) -> None:
    cells = [_cells(label, gap_of(row, rows)) for row, label in finished if row.references]
    st.dataframe(
        pd.DataFrame(cells),
        hide_index=True,
        key="compare_gap_table",
        column_config={
            name: st.column_config.TextColumn(width=200) for name in ("setting", *PARTS)
        },
        alt=f"The gaps of {len(cells)} settings, taken apart.",
    )
    st.caption(
        f"In nats: loss − floor as a sum of {'; '.join(PARTS.values())}. ± is half of the "
        f"{OF_SEEDS}. Where parts are not known by themselves, the last of them has their sum. "
        "The family's part is known where its best model can be worked out, as of the linear one; "
        f"elsewhere it has a lower and an upper bound, each with {LEVEL:.0%}, the upper one by the "
        "family's best run. What "
        "the training set could not tell is known where the same setting was run with fresh "
        "sequences, too: vary `data`."
    )


def _cells(label: str, gap: Gap) -> dict[str, str]:
    parts = {}
    for term in gap.terms:
        for part in term.parts[:-1]:
            parts[part] = _NOT_KNOWN
        together = "" if len(term.parts) == 1 else f" ({' + '.join(term.parts)})"
        parts[term.parts[-1]] = interval_text(term.nats) + together
    most, least = gap.family_at_most, gap.family_at_least
    return {
        "setting": label,
        "loss − floor": interval_text(gap.total),
        **{part: parts[part] for part in PARTS},
        "family's, bounds": show_range(least, most),
    }
