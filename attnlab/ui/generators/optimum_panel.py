"""What could be learned of a process at best, by whom, and from which days."""

import numpy as np
import streamlit as st

from attnlab.charts import (
    curve_chart,
    curve_table,
    dependence_chart,
    dependence_table,
    top_of_scale,
)
from attnlab.charts.core.drawing import with_position_word_in
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.position_words import with_position_word
from attnlab.optimum import Best, Dependence, Optimum, Rung, informative_positions
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import CHART_HEIGHT, on_dark
from attnlab.ui.core.process_figures import draw_gap

_KNOWS = {
    "uniform": "nothing: all tokens equally probable",
    "unigram": "how common each token is on the final day",
    "order-1": "the last visible day",
    "linear": "all visible days, each adding to the log-odds independently",
    "optimal": "all visible days, and the process itself",
}
_MEASURES = {"replacement": "change of the prediction", "information": "loss without the day"}


def draw_optimum(best: Optimum | None, vocab: int, word: str = "day") -> None:
    """Floor and ceiling of the final day, and of every day before it.

    Here and below `word` is what the process calls a position.
    """
    if best is None:
        draw_gap()
        return
    final, days = best.final, np.arange(1, len(best.by_position) + 1)
    how = "exact" if final.exact else "estimated, ± one standard error"
    with st.container(horizontal=True, gap="medium", key="optimum"):
        st.metric(
            "ceiling",
            _accuracy(final),
            width="content",
            help=f"Bayes accuracy, that of the best possible prediction of {word} {days[-1]}: "
            f"{how}.",
        )
        st.metric(
            "floor (nats)",
            _nll(final),
            width="content",
            help=f"Bayes loss, the least possible mean of -log p({word} {days[-1]}): {how}.",
        )
        st.metric("these are", "exact" if final.exact else "estimated", width="content")
    ceilings = np.array([[b.accuracy, b.accuracy_stderr] for b in best.by_position])
    floors = np.array([[b.nll, b.nll_stderr] for b in best.by_position])
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="chart_ceiling"):
        _draw_days(days, ceilings, "ceiling (accuracy)", (0, 1), 1 / vocab, above=False, word=word)
    with right, st.container(key="chart_floor"):
        top = float(np.log(vocab))
        _draw_days(days, floors, "floor (nats)", (0, 1.15 * top), top, above=True, word=word)
    words = (
        "How to read it: the Bayes loss (floor) and Bayes accuracy (ceiling) of each day, "
        "those of the best possible prediction from the days before it; the Bayes loss is the "
        "irreducible loss, the entropy of the true distribution. In a stationary process the "
        "floor falls only where a longer past is more informative; in others a day may also be "
        "easier to predict by itself."
    )
    st.caption(with_position_word(words, word))


def _draw_days(
    days: np.ndarray,
    figures: np.ndarray,
    name: str,
    domain: tuple[float, float],
    uniform: float,
    *,
    above: bool,
    word: str,
) -> None:
    values, stderr = figures.T
    draw_chart(
        curve_chart(
            curve_table(days, values, stderr),
            x_title=f"{word} predicted",
            y_title=name,
            domain=domain,
            reference=("a uniform guess", uniform),
            named_above=above,
            dark=on_dark(),
            height=260,
        ),
        name=f"{name.capitalize()} of each {word}",
        alt=f"{name} of each {word}: {values[0]:.3f} on {word} 1, {values[-1]:.3f} on {word} "
        f"{days[-1]}.",
    )


# Its loss falls for ever where tokens are impossible.
_STOPPED = "≈ and ≤: the search was stopped early, since some tokens are impossible."


def draw_ladder(rungs: tuple[Rung, ...] | None, word: str = "day") -> None:
    """Reference predictors, each knowing more than the one before it."""
    if rungs is None:
        draw_gap()
        return
    # Three columns, since a fourth would not fit a phone.
    lines = ["| predictor, and what it knows | accuracy | loss (nats) |", "|:--|:--|:--|"]
    for rung in rungs:
        figures = f"{_accuracy(rung.best)} | {_nll(rung.best)}"
        knows = with_position_word(_knowledge(rung.name), word)
        lines.append(f"| **{rung.name}** · {knows} | {figures} |")
    stopped = any(rung.best.bounded for rung in rungs)
    with st.container(key="ladder"):
        st.markdown("\n".join(lines))
    st.caption(
        "How to read it: each row is the predictor of least loss with that knowledge; another "
        "linear one may be more accurate, at a greater loss. Where the loss drops from one row to "
        "the next, that knowledge is useful." + (f" {_STOPPED}" if stopped else "")
    )


def draw_dependence(dependence: Dependence | None, word: str = "day") -> None:
    """The true map from days to predictions."""
    measure = st.segmented_control(
        "measure",
        list(_MEASURES),
        default="replacement",
        required=True,
        format_func=lambda name: with_position_word(f"{name}: {_MEASURES[name]}", word),
        key="dependence_measure",
        persist_state="session",
    )
    if dependence is None:
        draw_gap()
        return
    length = len(dependence.replacement)
    if measure == "replacement":
        values, stderr = dependence.replacement, dependence.replacement_stderr
        title = "total variation"
        meaning = (
            "how much the prediction changes, in total variation from 0 to 1, when that day is "
            "replaced by an independent draw"
        )
    else:
        values, stderr = dependence.information, dependence.information_stderr
        title = "information (nats)"
        meaning = (
            "how much the Bayes loss increases, in nats, when that day alone is hidden; a day "
            "whose information others repeat counts 0"
        )
    final, informative = values[-1], np.flatnonzero(informative_positions(dependence))
    order = np.argsort(-final, kind="stable")
    strongest = ", ".join(
        f"**{day + 1}** ({_figure(final[day], stderr[-1, day], exact=dependence.exact)})"
        for day in [day for day in order if day in informative][:3]
    )
    days = ", ".join(str(day + 1) for day in informative)
    words = f"Day {length + 1} is predicted in the last row, at day {length}. " + (
        f"It depends on day{'s' * (len(informative) > 1)} {days}. By {measure} it depends "
        f"most on day {strongest}."
        if strongest
        else "It depends on no day."
    )
    st.markdown(with_position_word(words, word))
    with st.container(key="chart_dependence"):
        chart = dependence_chart(
            dependence_table(values, stderr),
            length=length,
            title=title,
            most=top_of_scale(values),
            dark=on_dark(),
            height=CHART_HEIGHT,
        )
        alternative = (
            f"True dependence by {measure}, {length} days. Day {length + 1} depends most on "
            f"day {order[0] + 1}: {final[order[0]]:.3f}."
        )
        draw_chart(
            with_position_word_in(chart, word),
            name=f"True dependence by {measure}",
            alt=with_position_word(alternative, word),
        )
    source = "Exact." if dependence.exact else "Estimated from 1,000 sequences."
    words = (
        "How to read it: a row is the prediction of the day after its query day, a cell "
        f"{meaning}. The colour scale ends at the number beside it. Laid out like an attention "
        f"pattern, for comparison. {source}"
    )
    st.caption(with_position_word(words, word))


def _knowledge(name: str) -> str:
    if name in _KNOWS:
        return _KNOWS[name]
    return f"the last {name.removeprefix('order-')} visible days"


def _accuracy(best: Best) -> str:
    figure = _figure(best.accuracy, best.accuracy_stderr, exact=best.accuracy_stderr == 0)
    return f"≈ {figure}" if best.bounded else figure


def _nll(best: Best) -> str:
    figure = _figure(best.nll, best.nll_stderr, exact=best.nll_stderr == 0)
    return f"≤ {figure}" if best.bounded else figure


def _figure(value: float, stderr: float, *, exact: bool) -> str:
    return f"{value:.3f}" if exact else show_measured(value, stderr)
