"""Differences between settings, and the parts of each setting's loss above the floor."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attnlab.comparisons.gap import PARTS, Gap, gap_of
from attnlab.comparisons.intervals import LEVEL
from attnlab.comparisons.paired import Comparison, common_seeds
from attnlab.comparisons.summary import Row
from attnlab.comparisons.uncertainty import OF_SEEDS, caution_text, interval_text
from attnlab.comparisons.verdict import lower_is_better, tests_of
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import OptionError
from attnlab.generators import NO_LAW
from attnlab.inspection import measure_label
from attnlab.training.limits import reachable_by
from attnlab.ui.compare.choice import draw_menu
from attnlab.ui.compare.curves import basis_text, figure_shown
from attnlab.ui.core.figures import is_known
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.outside import as_message

_FIRST, _SECOND, _ALL = "compare_first", "compare_second", "all others"


def draw_differences(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw the test of one setting against another, or against all others."""
    named = {label: row for label, row in zip(labels, rows, strict=True) if len(row.finished) > 1}
    if len(named) < 2:
        return
    st.header("Is the difference real?", anchor=False, divider="gray")
    figure = figure_shown(rows)
    with st.container(horizontal=True, gap="small"):
        first = draw_menu("baseline setting", list(named), _FIRST, width=340)
        others = [label for label in named if label != first]
        second = draw_menu("setting to test", [_ALL, *others], _SECOND, width=340)
    chosen = others if second == _ALL else [second]
    pairs = {label: (named[first], named[label]) for label in chosen}
    pairs = {label: pair for label, pair in pairs.items() if len(common_seeds(*pair)) > 1}
    try:
        found = tests_of(rows, list(pairs.values()), figure)
    except OptionError as error:
        st.caption(as_message(str(error)))
        return
    if not found:
        st.caption("A difference needs two seeds that both settings have finished.")
        return
    cells = zip(pairs, found, strict=True)
    table = pd.DataFrame([_cells(label, each, first) for label, each in cells])
    st.dataframe(
        table if any(table["caution"]) else table.drop(columns="caution"),
        key="compare_differences",
        hide_index=True,
        column_config={"verdict": st.column_config.TextColumn(width=130)},
        alt=f"Differences of {len(found)} settings from {first}.",
    )
    st.caption(basis_text(figure, found[0].among))


def _cells(label: str, found: Comparison, first: str) -> dict[str, str]:
    return {
        "setting": label,
        f"{measure_label(found.figure)} − that of {first}": interval_text(
            found.difference, places=4
        ),
        "verdict": _verdict(found),
        "t": f"{found.t:.2f}",
        "p": _probability(found.p),
        "p, corrected": _probability(found.adjusted_p),
        "seeds": str(found.difference.n),
        "same data": "yes" if found.same_data else "no",
        "caution": caution_text(found.difference),
    }


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _verdict(found: Comparison) -> str:
    if found.within_noise:
        return "within the noise"
    is_less = found.difference.mean < 0
    return "better" if is_less == lower_is_better(found.figure) else "worse"


_NOT_KNOWN = "included in the sum"


@panel("Where the remaining loss comes from", key="compare_gaps", icon="splitscreen")
def draw_gaps(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw the parts of each setting's loss above the floor, in a panel, since this is slow."""
    finished = [
        (row, label)
        for row, label in zip(rows, labels, strict=True)
        if row.finished and row.experiment.generator.has_law
    ]
    if not finished:
        st.caption(f"{NO_LAW}.")
        return
    experiments = [row.setting.experiment for row, _ in finished]

    if left := sum(not is_known(reachable_by, each) for each in experiments):
        st.caption(
            f":material/hourglass_top: Computing what the models can express: {left} "
            f"of {len(experiments)} left …"
        )
        return
    _draw_table(finished, rows)


def _draw_table(finished: Sequence[tuple[Row, str]], rows: Sequence[Row]) -> None:
    cells = [_gap_cells(label, gap_of(row, rows)) for row, label in finished if row.references]
    st.dataframe(
        pd.DataFrame(cells),
        hide_index=True,
        key="compare_gap_table",
        alt=f"Parts of the remaining loss of {len(cells)} settings.",
    )
    st.caption(
        f"All numbers are in nats, with the {OF_SEEDS} in parentheses; bounds have {LEVEL:.0%} "
        "confidence. Vary `data` to separate the effect of limited data.",
        help=f"loss − floor = {' + '.join(PARTS)}: {', '.join(PARTS.values())}. Where parts cannot "
        "be separated, the last of them shows their sum.",
    )


def _gap_cells(label: str, gap: Gap) -> dict[str, str]:
    parts = {}
    for term in gap.terms:
        for part in term.parts[:-1]:
            parts[part] = _NOT_KNOWN
        together = "" if len(term.parts) == 1 else f" ({' + '.join(term.parts)})"
        parts[term.parts[-1]] = interval_text(term.nats) + together
    most, least = gap.model_at_most, gap.model_at_least
    return {
        "setting": label,
        "loss − floor": interval_text(gap.total),
        **{part: parts[part] for part in PARTS},
        "model part, bounds": show_range(least, most),
    }
