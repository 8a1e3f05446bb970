"""Sampled sequences of a process, and frequencies of tokens in many of them."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnlab import charts
from attnlab.configuration.number_text import show_estimate, show_measured
from attnlab.generators import AbstractGenerator
from attnlab.optimum import Agreement, Counted, Frequencies
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.figures import draw_gap
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.page_charts import draw_chart

_SEED = "sample_seed"
# A narrower axis would magnify rounding errors.
_LEAST_SPAN = 0.05
# With more symbols, pairs are drawn as maps, and the text lists only the most probable symbols.
_MOST_SYMBOLS, _LISTED = 8, 3


def sample_seed() -> int:
    """Return the seed of the sample on the page."""
    return st.session_state.setdefault(_SEED, 0)


def draw_sample(generator: AbstractGenerator, counted: Counted | None) -> None:
    """Draw a table of a few sequences, with the token to predict in its own column."""
    if counted is None:
        draw_gap()
        return
    vocabulary = generator.vocabulary
    length = counted.sequences.shape[1] - 1
    word = generator.position_word
    lines = [f"| {word}s 1 to {length} | {word} {length + 1} |", "|:---|:---:|"]
    for row in counted.sequences:
        seen, final = vocabulary.shorten(row[:-1]), vocabulary.render(row[-1:])
        lines.append(f"| {as_text(seen)} | {as_text(final)} |")
    with st.container(key="sample"):
        st.markdown("\n".join(lines))
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_button("New sample", "new_sample", "casino", _next_seed)
        task = f"sees {word}s 1 to {length} and has to predict {word} {length + 1}. Can you?"
        if generator.has_loss_mask():
            task = f"has to predict some of the {word}s, each from those before it."
        st.caption(f"Each row is one sequence. A model {task}")


def draw_frequencies(
    generator: AbstractGenerator, known: Frequencies | None, counted: Counted | None
) -> None:
    """Draw probabilities and frequencies of the final token, and of the last pair of tokens."""
    if known is None or counted is None:
        draw_gap()
        return
    symbols, length = generator.vocabulary.symbols, len(known.days) - 1
    word = generator.position_word
    predicted = f"{word.capitalize()} {length + 1}"
    before, last = f"{word} {length - 1}", f"{word} {length}"
    shown, left_right = counted.frequencies, st.columns(2, gap="medium")
    with left_right[0], st.container(key="chart_final_day"):
        st.markdown(f"**{predicted}, the one to predict**")
        of_day = known.days[-1], shown.days[-1], shown.days_stderr[-1]
        _draw_bars(predicted, *of_day, symbols)
        st.markdown(days_in_words(generator, known))
    as_maps = len(symbols) > _MOST_SYMBOLS
    with left_right[1], st.container(key="chart_following"):
        st.markdown(f"**From {before} to {last}**")
        of_pairs = known.following, shown.following, shown.following_stderr
        if as_maps:
            _draw_maps(before, last, *of_pairs, symbols)
        else:
            pairs = _pairs(symbols)
            bars = [each.ravel() for each in of_pairs]
            _draw_bars(f"From {before} to {last}", bars[0], bars[1], bars[2], pairs)
    exact = "exact" if known.exact else "estimated from a larger sample"
    st.caption(
        f"Grey bars are probabilities ({exact}). Points are frequencies in {counted.size:,} "
        "sequences, ± one standard error. About two thirds of the error bars should include the "
        "probability."
    )


def draw_agreement(agreement: Agreement | None, word: str = "day") -> None:
    """Draw how often the tokens of two positions agree, minus chance, by their distance."""
    if agreement is None:
        draw_gap()
        return
    lags, values = np.arange(1, len(agreement.values) + 1), agreement.values
    low = float(np.nan_to_num(values - agreement.stderr).min())
    high = float(np.nan_to_num(values + agreement.stderr).max())
    with st.container(key="chart_agreement"):
        draw_chart(
            charts.curve_chart(
                lags,
                values,
                agreement.stderr,
                x_title=f"{word}s apart",
                y_title="agreement beyond chance",
                domain=(min(-_LEAST_SPAN, 1.1 * low), max(_LEAST_SPAN, 1.1 * high)),
                reference=(f"independent {word}s", 0.0),
                below=True,
            ),
            name="Agreement above independence",
            alt=f"Agreement above independence of two {word}s by their distance: {values[0]:.3f} "
            f"at one {word}, {values[-1]:.3f} at {lags[-1]} {word}s.",
        )
    source = "Exact." if agreement.exact else "Sampled; the band is one standard error."
    st.caption(
        f"Agreement of two {word}s beyond chance: 0 for independent {word}s, 1 if they always "
        f"agree. {source}"
    )


def _pairs(symbols: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{first} → {second}" for first in symbols for second in symbols)


def _draw_bars(
    title: str, known: np.ndarray, counted: np.ndarray, stderr: np.ndarray, names: Sequence[str]
) -> None:
    draw_chart(
        charts.frequency_chart(
            charts.frequency_table(known, counted, stderr, names),
            names=names,
            title="probability",
        ),
        name=title,
        alt="Probabilities and frequencies in the sample. "
        + _in_words(known, counted, stderr, names),
    )


def _draw_maps(
    before: str,
    last: str,
    known: np.ndarray,
    counted: np.ndarray,
    stderr: np.ndarray,
    symbols: tuple[str, ...],
) -> None:
    """Draw the maps of probabilities and of frequencies of all pairs, with the same scale."""
    names = _pairs(symbols)
    figures = known.ravel(), counted.ravel(), stderr.ravel()
    for of, meaning in (("known", "probabilities"), ("counted", "frequencies in the sample")):
        draw_chart(
            charts.frequency_map_chart(
                charts.frequency_table(*figures, names),
                symbols=symbols,
                of=of,
                row_title=f"← {before}",
                column_title=f"{last} →",
                most=charts.top_of_scale(np.nan_to_num(known)),
            ),
            name=f"From {before} to {last}, {meaning}",
            alt=f"{meaning.capitalize()} of {len(names):,} pairs. {_in_words(*figures, names)}",
        )


def _in_words(
    known: np.ndarray, counted: np.ndarray, stderr: np.ndarray, names: Sequence[str]
) -> str:
    likeliest, gap = int(np.nanargmax(known)), np.abs(counted - known)
    furthest = float(np.nanmax(np.where(stderr > 0, gap / np.where(stderr > 0, stderr, 1), 0)))
    return (
        f"The largest is {names[likeliest]}: {known[likeliest]:.3f}, in the sample "
        f"{show_measured(counted[likeliest], stderr[likeliest])}. The largest difference is "
        f"{furthest:.1f} standard errors."
    )


def days_in_words(generator: AbstractGenerator, known: Frequencies) -> str:
    """Return text with the token probabilities of the first and last position, or of every one."""
    symbols = generator.vocabulary.symbols

    def shares(day: int) -> str:
        probabilities, stderr = known.days[day], known.days_stderr[day]
        order, most = range(len(symbols)), ""
        if len(symbols) > _MOST_SYMBOLS:
            order = np.argsort(-probabilities, kind="stable")[:_LISTED]
            most = "most often "
        return most + ", ".join(
            f"{as_text(symbols[at])} {show_estimate(probabilities[at], stderr[at])}" for at in order
        )

    stationary = generator.is_stationary()
    if stationary:
        every = f"the probabilities of every {generator.position_word} are {shares(-1)}."
        return f"The process is **stationary**: {every}"
    start = "Probabilities: " if stationary is None else "The process is **not stationary**: "
    word = generator.position_word
    return f"{start}{word} 1 {shares(0)}; {word} {len(known.days)} {shares(-1)}."


def _next_seed() -> None:
    st.session_state[_SEED] += 1
