"""Charts of a comparison: results by setting, shares of variance, and learning curves."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnlab import charts
from attnlab.comparisons.intervals import LEVEL, normal_quantile
from attnlab.comparisons.paired import Share, shares_of
from attnlab.comparisons.summary import TARGET, Row, beyond_best, reached_of
from attnlab.comparisons.uncertainty import OF_SEEDS
from attnlab.comparisons.verdict import lower_is_better, verdict_on
from attnlab.configuration.number_text import show_percent
from attnlab.configuration.options import OptionError, present
from attnlab.inspection import measure_label
from attnlab.result_card import card_of_comparison
from attnlab.ui.compare.choice import FIGURE, option_label
from attnlab.ui.core.glossary import link_to
from attnlab.ui.core.outside import as_message
from attnlab.ui.core.page_charts import draw_chart

_SHOWN, _CHANGED = "compare_figure", "compare_figure_changed"
_MOST_LISTED = 4
_FIGURES = ("accuracy", "nll", "learned", "exact_match")


# The caption of a dot plot, whose legend names the dashes.
DOTS = f"Small dots are runs, the diamond is their mean, and the bar is the {OF_SEEDS}."


def basis_text(figure: str, among: int) -> str:
    """Return how differences are tested, with a correction for `among` pairs."""
    corrected = (
        f" The verdict comes from a paired t-test, corrected for all {among} pairs of settings "
        "(Bonferroni)."
    )
    better = "lower" if lower_is_better(figure) else "higher"
    return (
        f"Differences are paired by seed; in parentheses is the {LEVEL:.0%} "
        f"{link_to('confidence interval', 'interval')} of their mean. {better.capitalize()} is "
        "better."
        f"{corrected * (among > 1)}"
    )


def draw_dots(rows: Sequence[Row], labels: Sequence[str], seeds: int, link: str) -> None:
    """Draw the choice of a result, and a dot plot of this result with one line per setting.

    `seeds` are wanted of each setting. `link` is an address that opens the comparison, for its
    card.
    """
    st.session_state[_SHOWN] = figure_shown(rows)
    # Before the choice of what it shows.
    picture = st.container()
    figure: Any = st.segmented_control(
        "result",
        _figures_of(rows),
        format_func=measure_label,
        required=True,
        key=_SHOWN,
        label_visibility="collapsed",
        persist_state="session",
        on_change=_choose_figure,
    )
    # Rerun the page: further charts of this result are outside this fragment.
    if st.session_state.pop(_CHANGED, False):
        st.rerun()
    verdict = verdict_on(rows, labels, figure)
    of_each = [len(row.results) for row in rows if row.setting.experiment is not None]
    if verdict and (done := sum(of_each)) < (total := seeds * len(of_each)):
        # Which setting is best may still change.
        verdict = [f"So far, with {done} of {total} runs, {verdict[0]}"]
    with picture.container(key="compare_verdict"):
        first, *more = map(as_message, verdict or ["No run has finished yet."])
        among = math.comb(sum(len(row.finished) > 1 for row in rows), 2)
        st.markdown("  \n".join([f"**{first}**", *more]), help=basis_text(figure, among))
    with picture.container(key="chart_compare_dots"):
        draw_chart(
            charts.dots_chart(rows, labels, figure),
            name=f"{measure_label(figure).capitalize()} by setting",
            alt=" ".join(
                [f"The {measure_label(figure)} of {len(rows)} settings over their seeds.", *verdict]
            ),
            card=lambda: card_of_comparison(
                [run for row in rows for run in row.results],
                [row.setting for row in rows],
                labels,
                figure=figure,
                link=link,
            ),
        )
    whole = "Exact match: the whole target is correct. " * (figure == "exact_match")
    st.caption(
        f"{DOTS} {_reached(rows, labels, figure)}{whole}", help=sampling_text(rows, figure) or None
    )


def _choose_figure() -> None:
    st.session_state.update({_CHANGED: True, FIGURE: st.session_state[_SHOWN]})


def _reached(rows: Sequence[Row], labels: Sequence[str], figure: str) -> str:
    """Return, for settings in which only some seeds reached the target, how many did."""
    found = zip(labels, (reached_of(row, figure) for row in rows), strict=True)
    mixed = [(label, each) for label, each in found if each and 0 < each.runs < each.n]
    parts = [f"{each.runs} of {each.n} seeds of {label}" for label, each in mixed[:_MOST_LISTED]]
    parts += ["…"] * (len(mixed) > _MOST_LISTED)
    if not parts:
        return ""
    of = "targets" if figure == "exact_match" else "what can be learned"
    return as_message(f"Only {', '.join(parts)} reached {TARGET:.0%} of {of}. ")


def sampling_text(rows: Sequence[Row], figure: str) -> str:
    """Return how far runs are beyond the best possible, or "" if none is."""
    # A reference predictor may be beaten.
    rows = [row for row in rows if row.experiment.generator.has_law]
    found = [errors for row in rows for errors in beyond_best(row, figure)]
    if (most := max(found, default=0.0)) <= 0:
        return ""
    text = f"{most:.1f} standard errors of the test score."
    # The limit for the largest of so many normal errors.
    if most > normal_quantile(1 - (1 - LEVEL) / (2 * len(found))):
        above = "Some runs score above the best possible by more than chance explains"
        return f"{above}, by up to {text}"
    return f"Some runs score above the best possible by chance, by at most {text}"


def figure_shown(rows: Sequence[Row]) -> str:
    """Return the result chosen in `draw_dots` if these rows have it.

    Else return the first metric that they have or, without metrics, "accuracy".
    """
    chosen, metrics = st.session_state.get(FIGURE), metrics_of(rows)
    return chosen if chosen in _figures_of(rows) else [*metrics, "accuracy"][0]


def metrics_of(rows: Sequence[Row]) -> list[str]:
    """Return the names of the metrics that any of these rows has."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))


def _figures_of(rows: Sequence[Row]) -> list[str]:
    finished = [row for row in rows if row.finished]
    have_matches = bool(finished) and all(row.exact_match is not None for row in finished)
    names = [name for name in _FIGURES if have_matches or name != "exact_match"]
    return [*names, *metrics_of(rows)]


# Maximum number of bars; further ones are small interactions.
_MOST_BARS = 12


def draw_spread(rows: Sequence[Row]) -> None:
    """Draw the share of variance of every option, every interaction, and the seed, as bars."""
    if len(rows) < 2:
        return
    st.header("Variance explained", anchor=False, divider="gray")
    figure = figure_shown(rows)
    try:
        shares = [
            dataclasses.replace(
                share, options=tuple(option_label(name, unit=False) for name in share.options)
            )
            for share in shares_of(rows, figure)
        ]
    except OptionError as error:
        st.caption(as_message(f"This needs a full grid and at least 2 seeds. {error}"))
        return
    seed, names = shares[-1], dict(zip(shares, charts.share_names(shares), strict=True))
    shown = [*sorted(shares[:-1], key=lambda each: -each.share)[: _MOST_BARS - 1], seed]
    st.markdown(as_message(_in_words(shares, names)))
    with st.container(key="chart_compare_shares"):
        draw_chart(
            charts.shares_chart(charts.shares_table(shown), parts=charts.share_names(shown)),
            name=f"Variance of the {measure_label(figure)} explained",
            alt=f"Shares of the variance of the {measure_label(figure)}: "
            + ", ".join(f"{names[each]} {show_percent(each.share)}" for each in shown)
            + ".",
        )
    st.caption(
        "Bars are shares of the variance; grey ticks are the shares expected by chance; × is an "
        "interaction.",
        help="This is an analysis of variance. An effect counts as real if its F-test has p < 5 % "
        "after Holm's correction.",
    )


def _in_words(shares: Sequence[Share], names: Mapping[Share, str]) -> str:
    """Return text with the largest significant share of variance, and the share of the seed."""
    seed = shares[-1]
    real = [each for each in shares[:-1] if each.adjusted_p <= 1 - LEVEL]
    if not real:
        most = "No option has an effect beyond chance."
    else:
        largest = max(real, key=lambda each: each.share)
        most = f"The largest effect, {show_percent(largest.share)}, is due to {names[largest]}."
    of_seeds, of_options = show_percent(seed.share), show_percent(1 - seed.share)
    return f"The options explain {of_options} of the variance and the seeds {of_seeds}. {most}"


# The most curves, one for each distinct colour; the curves at first; height in pixels.
_MOST, _AT_FIRST, _HEIGHT = 7, 5, 360
_CHOSEN = "compare_curves"


def draw_curves(rows: Sequence[Row], labels: Sequence[str]) -> None:
    """Draw learning curves of a few chosen settings, with confidence bands over seeds."""
    drawable = {label: row for label, row in zip(labels, rows, strict=True) if row.finished}
    if not drawable:
        return
    words = next(iter(drawable.values())).experiment.generator.best_words
    measures = {"loss": "loss", "gap": f"loss − {words.floor}", "accuracy": "accuracy"}
    # Drop settings of an earlier comparison.
    chosen = [label for label in st.session_state.get(_CHOSEN, ()) if label in labels]
    st.session_state[_CHOSEN] = chosen or list(labels[:_AT_FIRST])
    st.header("Learning curves", anchor=False, divider="gray")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        measure = st.segmented_control(
            "measure", list(measures), format_func=lambda name: str(measures.get(name, name)),
            default="loss", required=True, key="compare_measure", persist_state="session",
        )  # fmt: skip
        log_steps = st.toggle("log steps", True, key="compare_log_steps", persist_state="session")
        log_values = st.toggle(
            "log values", False, key="compare_log_values", persist_state="session"
        )
        chosen = st.multiselect(
            "settings",
            labels,
            key=_CHOSEN,
            max_selections=_MOST,
            width=520,
            persist_state="session",
        )
    shown = [label for label in labels if label in chosen and label in drawable]
    if not shown:
        st.caption("No run of these settings has finished yet.")
        return
    few = [drawable[label] for label in shown]
    last = [f"{label} {present(row.nll).mean:.3f}" for label, row in zip(shown, few, strict=True)]
    with st.container(key="chart_compare_curves"):
        draw_chart(
            charts.bands_chart(
                few,
                shown,
                measure=measure,
                log_steps=log_steps,
                log_values=log_values,
                height=_HEIGHT,
            ),
            name=f"{measures[measure].capitalize()} during training",
            alt=f"The {measures[measure]} during training, {len(shown)} settings. Mean loss at "
            f"the end, in nats: {', '.join(last)}.",
        )
    st.caption(
        f"Thick lines are means over seeds; bands are the {OF_SEEDS}, for three or more seeds. "
        f"Grey dashes are the {words.best} result and a uniform guess, if all settings share them."
    )
