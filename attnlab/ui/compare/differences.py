"""Differences between settings, and the parts of each setting's loss above the floor."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attnlab.comparisons.gap import PARTS, Gap, gap_of
from attnlab.comparisons.intervals import LEVEL
from attnlab.comparisons.paired import Comparison, common_seeds, compare_all
from attnlab.comparisons.summary import Row
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import OptionError
from attnlab.training.limits import reachable_by
from attnlab.ui.compare.curves import FIGURES, figure_shown
from attnlab.ui.core.figures import is_known
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.uncertainty import OF_SEEDS, caution_text, interval_text, unseen_text

_FIRST, _SECOND, _ALL = "compare_first", "compare_second", "all others"
# Results of which lower values are better.
_LOSSES = ("nll",)


def draw_differences(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw the test of one setting against another, or against all others."""
    named = {label: row for label, row in zip(labels, rows, strict=True) if len(row.finished) > 1}
    if len(named) < 2:
        return
    st.header("Is the difference real?", anchor=False, divider="gray")
    figure = figure_shown(rows)
    with st.container(horizontal=True, gap="small"):
        first = _choose("compared with", list(named), _FIRST)
        others = [label for label in named if label != first]
        second = _choose("settings", [_ALL, *others], _SECOND)
    chosen = others if second == _ALL else [second]
    pairs = {label: (named[first], named[label]) for label in chosen}
    pairs = {label: pair for label, pair in pairs.items() if len(common_seeds(*pair)) > 1}
    # Correct for all pairs, since the user saw all results before choosing one.
    among = len(named) * (len(named) - 1) // 2
    try:
        found = compare_all(list(pairs.values()), figure, among=among)
    except OptionError as error:
        st.caption(as_message(str(error)))
        return
    told = [_cells(label, each, first) for label, each in zip(pairs, found, strict=True)]
    if second == _ALL and told:
        table = pd.DataFrame(told)
        st.dataframe(
            table if any(table["caution"]) else table.drop(columns="caution"),
            key="compare_differences",
            hide_index=True,
            column_config={"verdict": st.column_config.TextColumn(width=130)},
            alt=f"Differences of {len(told)} settings from {first}.",
        )
    elif found:
        with st.container(key="compare_difference"):
            st.markdown(as_message(_in_words(second, first, found[0], figure)))
    _draw_caption(first, found, figure)


def _choose(label: str, labels: list[str], key: str) -> str:
    if st.session_state.get(key) not in labels:
        st.session_state[key] = labels[0]
    return st.selectbox(label, labels, key=key, width=340, persist_state="session")


def _cells(label: str, found: Comparison, first: str) -> dict[str, str]:
    return {
        "setting": label,
        f"{FIGURES[found.figure]} − that of {first}": _difference(found),
        "verdict": _verdict(found),
        "p": _probability(found.p),
        "p, corrected": _probability(found.adjusted_p),
        "seeds": str(found.difference.n),
        "same data": "yes" if found.same_data else "no",
        "caution": caution_text(found.difference),
    }


def _difference(found: Comparison) -> str:
    return interval_text(found.difference, places=4)


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _verdict(found: Comparison) -> str:
    if found.within_noise:
        return "within the noise"
    is_less = found.difference.mean < 0
    return "better" if is_less == (found.figure in _LOSSES) else "worse"


def _in_words(second: str, first: str, found: Comparison, figure: str) -> str:
    unit = " nats" if figure == "nll" else ""
    data = "on the same data" if found.same_data else "not on the same data"
    verdict = _verdict(found)
    told = verdict if verdict == "within the noise" else f"{second} is {verdict}"
    corrected = f", corrected {_said(found.adjusted_p)}" if found.among > 1 else ""
    caution = caution_text(found.difference)
    return (
        f"Verdict: {told}. {FIGURES[figure]} of {second} minus that of {first}: "
        f"{_difference(found)}{unit}, over {found.difference.n} seeds {data} "
        f"(t = {found.t:.2f}, p {_said(found.p)}{corrected})."
        + (f" Caution: {caution}." if caution else "")
    )


def _said(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _draw_caption(first: str, found: Sequence[Comparison], figure: str) -> None:
    if not found:
        st.caption("A difference needs two seeds that both settings have finished.")
        return
    less = "lower is better" if figure in _LOSSES else "higher is better"
    words = (
        f"A paired t-test over seeds; ± is half of the {LEVEL:.0%} interval of the mean "
        f"difference, and {less}. The standard deviation over seeds is taken to be at least the "
        "standard error of one run's result on its test set. "
    )
    if (among := found[0].among) > 1:
        words += (
            f"The verdict uses p corrected for all {among} pairs of settings (Bonferroni), since "
            "you may have chosen this pair for its size. "
        )
    few = min(each.difference.n for each in found)
    words += (
        f"“Within the noise”: seeds alone could well cause such a difference. {unseen_text(few)}"
    )
    st.caption(words)


_NOT_KNOWN = "only known in the sum"


def draw_gaps(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw the parts of each setting's loss above the floor, in a panel, since this is slow."""
    panel = st.expander(
        "Where the remaining loss comes from",
        key="compare_gaps",
        on_change="rerun",
        icon=":material/splitscreen:",
    )
    if not panel.open:
        return
    with panel:
        finished = [(row, label) for row, label in zip(rows, labels, strict=True) if row.finished]
        experiments = [row.setting.experiment for row, _ in finished]

        if left := sum(not is_known(reachable_by, each) for each in experiments):
            st.caption(
                f":material/hourglass_top: Computing what the model families can express: {left} "
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
        column_config={
            name: st.column_config.TextColumn(width=200) for name in ("setting", *PARTS)
        },
        alt=f"Parts of the remaining loss of {len(cells)} settings.",
    )
    st.caption(
        f"In nats: loss − floor is the sum of {'; '.join(PARTS.values())}. ± is half of the "
        f"{OF_SEEDS}. Where parts cannot be separated, the last one shows their sum. The part of "
        "the family is exact if its best model can be computed, as for `linear`. For others a "
        f"lower and an upper bound are shown, each with {LEVEL:.0%} confidence; the upper one "
        "comes from the best run. To measure the effect of limited data, vary "
        "`data`: the same setting is then also run with fresh sequences."
    )


def _gap_cells(label: str, gap: Gap) -> dict[str, str]:
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
