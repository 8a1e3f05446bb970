"""Sampled sequences of a process, and frequencies of tokens in many of them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.configuration.number_text import show_estimate, show_measured
from attnlab.generators import AbstractGenerator
from attnlab.optimum import Agreement, Counted, Frequencies
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.figures import draw_gap
from attnlab.ui.core.outside import as_text
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.generators.optimum_panel import draw_known_curve

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
        change = st.session_state.update, {_SEED: sample_seed() + 1}
        draw_button("New sample", "new_sample", "casino", *change)
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
    symbols, word, shown = (
        generator.vocabulary.symbols,
        generator.position_word,
        counted.frequencies,
    )
    length = len(known.days) - 1
    predicted = f"{word.capitalize()} {length + 1}"
    before, last = f"{word} {length - 1}", f"{word} {length}"
    with st.container(key="chart_final_day"):
        st.markdown(f"**{predicted}, the one to predict**")
        table = _frequency_table(known.days[-1], shown.days[-1], shown.days_stderr[-1], symbols)
        _draw_bars(predicted, table, symbols)
        st.markdown(days_in_words(generator, known))
    title = f"From {before} to {last}"
    st.markdown(f"**{title}**")
    pairs = tuple(f"{first} → {second}" for first in symbols for second in symbols)
    table = _frequency_table(known.following, shown.following, shown.following_stderr, pairs)
    if len(symbols) <= _MOST_SYMBOLS:
        _draw_bars(title, table, pairs)
    else:
        _draw_maps(before, last, table, symbols)
    exact = "exact" if known.exact else "estimated from a larger sample"
    st.caption(
        f"Grey bars are probabilities ({exact}). Points are frequencies in {counted.size:,} "
        "sequences, ± one standard error. About two thirds of the error bars should include the "
        "probability."
    )


def _frequency_table(
    known: np.ndarray, counted: np.ndarray, stderr: np.ndarray, names: Sequence[str]
) -> pd.DataFrame:
    """Return one row per outcome, except outcomes with unknown values."""
    columns = {"known": known.ravel(), "counted": counted.ravel(), "error": stderr.ravel()}
    table = pd.DataFrame({"row": np.arange(len(names)), "name": names, **columns})
    low, high = table["counted"] - table["error"], table["counted"] + table["error"]
    return table.assign(low=low.clip(lower=0), high=high.clip(upper=1)).dropna(subset=["known"])


def _draw_bars(title: str, table: pd.DataFrame, names: tuple[str, ...]) -> None:
    draw_chart(
        charts.frequency_chart(table, names=names, title="probability"),
        name=title,
        alt=f"Probabilities and frequencies in the sample. {_table_in_words(table)}",
    )


def _draw_maps(before: str, last: str, table: pd.DataFrame, symbols: tuple[str, ...]) -> None:
    """Draw the maps of probabilities and of frequencies of all pairs, with the same scale."""
    look = {"row_title": f"← {before}", "column_title": f"{last} →", "symbols": symbols}
    look["most"] = charts.top_of_scale(table["known"].to_numpy())
    for of, meaning in (("known", "probabilities"), ("counted", "frequencies in the sample")):
        draw_chart(
            charts.frequency_map_chart(table, of=of, **look),
            name=f"From {before} to {last}, {meaning}",
            alt=f"{meaning.capitalize()} of {len(symbols) ** 2:,} pairs. {_table_in_words(table)}",
        )


def _table_in_words(table: pd.DataFrame) -> str:
    known, counted, error = (table[name].to_numpy() for name in ("known", "counted", "error"))
    likeliest = int(known.argmax())
    apart = np.divide(np.abs(counted - known), error, out=0 * known, where=error > 0)
    return (
        f"The largest is {table['name'].iloc[likeliest]}: {known[likeliest]:.3f}, in the sample "
        f"{show_measured(counted[likeliest], error[likeliest])}. The largest difference is "
        f"{np.nanmax(apart):.1f} standard errors."
    )


def draw_agreement(agreement: Agreement | None, word: str) -> None:
    """Draw how often the tokens of two positions agree, minus chance, by their distance."""
    if agreement is None:
        draw_gap()
        return
    lags, values, stderr = (
        np.arange(1, len(agreement.values) + 1),
        agreement.values,
        agreement.stderr,
    )
    low, high = np.nan_to_num(values - stderr).min(), np.nan_to_num(values + stderr).max()
    draw_known_curve(
        "Agreement above independence",
        charts.series_table("", lags, values, stderr),
        titles=(f"{word}s apart", "agreement beyond chance"),
        domain=(min(-_LEAST_SPAN, 1.1 * low), max(_LEAST_SPAN, 1.1 * high)),
        reference=(f"independent {word}s", 0.0),
        below=True,
        alt=f"Agreement above independence of two {word}s by their distance: {values[0]:.3f} "
        f"at one {word}, {values[-1]:.3f} at {lags[-1]} {word}s.",
    )
    source = "Exact." if agreement.exact else "Sampled; the band is one standard error."
    st.caption(
        f"Agreement of two {word}s beyond chance: 0 for independent {word}s, 1 if they always "
        f"agree. {source}"
    )


def days_in_words(generator: AbstractGenerator, known: Frequencies) -> str:
    """Return text with the token probabilities of the first and last position, or of every one."""
    symbols, word = generator.vocabulary.symbols, generator.position_word

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
        return f"The process is **stationary**: the probabilities of every {word} are {shares(-1)}."
    start = "Probabilities: " if stationary is None else "The process is **not stationary**: "
    return f"{start}{word} 1 {shares(0)}; {word} {len(known.days)} {shares(-1)}."
