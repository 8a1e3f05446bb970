"""Dot products that grow with their width, and the softmax that they are put through."""

import itertools

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.attention import scale_factor
from attnlab.charts import (
    SCALED,
    UNSCALED,
    distribution_chart,
    distribution_table,
    level_table,
    series_chart,
    series_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.saturation import (
    HEALTHY,
    SATURATED,
    DrawnScores,
    draw_scores,
    histogram,
    patterns,
    saturation,
    variance_and_error,
    verdict,
)
from attnlab.optimum.sequences import mean_and_error
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MOST_DRAWS, _QUERIES, _MOST_KEYS = 2_000, 120, 32
_HEIGHT = 300
_SCALES = {SCALED: "1/sqrt(d)", UNSCALED: "none"}
_COLOURS = {"healthy": "green", "partly saturated": "orange", "saturated": "red"}


def draw_dot_products() -> None:
    """Controls, the distribution of q · k at one width, and its variance against the width."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        width = int(
            linked(
                st.select_slider,
                "width d",
                [str(width) for width in WIDTHS],
                "16",
                key="width",
                width=300,
            )
        )
        draws = linked(
            st.slider, "draws N", 100, _MOST_DRAWS, _MOST_DRAWS, 100, key="draws", width=240
        )
        size = linked(
            st.slider,
            "standard deviation of a component",
            0.25,
            2.0,
            1.0,
            0.05,
            key="component",
            width=260,
        )
        seed = linked(
            st.number_input, "seed of the draw", 0, 2**31 - 1, 0, 1, key="draw_seed", width=160
        )
    drawn = _drawn(seed)
    # The components are scaled together, and a product of two by the square.
    products = drawn.products[:, :draws] * size**2
    place = WIDTHS.index(width)
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="chart_distribution"):
        _draw_distribution(products[place], width, size)
    with right, st.container(key="chart_variance"):
        _draw_variance(products, size)
    _draw_formula(products[place], width, size, draws)
    st.caption(
        "How to read it: left, where the scores of random queries and keys fall; right, their "
        "variance, measured over N independent draws for each width, the same for both series, "
        "with bars of one standard error. Both scales are logarithmic: a straight line upwards "
        "is growth in proportion to d, and 1/√d makes it level. About a third of the points "
        "are expected to miss the theoretical value by more than their bar."
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _drawn(seed: int) -> DrawnScores:
    return draw_scores(
        WIDTHS, draws=_MOST_DRAWS, queries=_QUERIES, keys=_MOST_KEYS, key=jr.key(seed)
    )


def _factor(name: str, width: int) -> float:
    return scale_factor(_SCALES[name], d_attn=width, temperature=1.0)


def _draw_distribution(products: np.ndarray, width: int, size: float) -> None:
    variance = size**4 * width
    reach = 3.5 * np.sqrt(variance) if width > 1 else 3.5 * size**2
    histograms = {}
    for name in (SCALED, UNSCALED):
        factor = _factor(name, width)
        histograms[name] = histogram(
            products * factor, variance=variance * factor**2, reach=reach, bins=61
        )
    draw_chart(
        distribution_chart(distribution_table(histograms), dark=on_dark(), height=_HEIGHT),
        name="Distribution of q · k",
        alt=f"Distribution of q · k at width {width}: standard deviation {products.std():.2f} "
        f"without 1/√d and {products.std() / np.sqrt(width):.2f} with it.",
    )


def _draw_variance(products: np.ndarray, size: float) -> None:
    tables = []
    for name in (SCALED, UNSCALED):
        figures = np.array(
            [
                variance_and_error(row * _factor(name, width))
                for width, row in zip(WIDTHS, products, strict=True)
            ]
        )
        tables.append(series_table(name, WIDTHS, *figures.T))
    known = {"theory": size**4 * np.array(WIDTHS, dtype=float), "theory / d": np.full(9, size**4)}
    table = pd.concat(tables, ignore_index=True)
    last = tables[1].iloc[-1]
    draw_chart(
        series_chart(
            table,
            level_table(known, WIDTHS),
            x_title="width d",
            y_title="variance of the scores",
            y_domain=None,
            ticks=WIDTHS,
            logarithmic=True,
            lines=False,
            dark=on_dark(),
            height=_HEIGHT,
        ),
        name="Variance of the scores against width",
        alt=f"Variance against width: at d = {WIDTHS[-1]} it is {last['value']:.4g} without 1/√d, "
        f"with a standard error of {last['error']:.2g}; theory says {size**4 * WIDTHS[-1]:.4g}.",
    )


def _draw_formula(products: np.ndarray, width: int, size: float, draws: int) -> None:
    variance, error = variance_and_error(products)
    expected = size**4 * width
    with st.container(key="variance_formula"):
        st.latex(
            rf"\operatorname{{Var}}(q \cdot k) = d\,\sigma^4 = {width} \times {size:g}^4"
            rf" = {expected:.4g} \qquad \text{{measured over {draws:,} draws: }} "
            + _in_latex(variance, error)
        )
        st.latex(
            rf"\operatorname{{Var}}\!\left(\tfrac{{q \cdot k}}{{\sqrt d}}\right) = \sigma^4 = "
            rf"{size**4:.4g} \qquad \text{{measured: }} "
            + _in_latex(variance / width, error / width)
        )


def _in_latex(value: float, stderr: float) -> str:
    # A comma in a formula is taken for the end of a number.
    shown = show_measured(value, stderr, most_places=6)
    return shown.replace(",", "{,}").replace("±", r"\pm")


# A fragment, so that its own control draws nothing else anew.
@fragment
def draw_saturation() -> None:
    """What a softmax over several keys makes of those scores, width by width."""
    keys = linked(st.slider, "number of keys", 2, _MOST_KEYS, 16, 1, key="keys", width=300)
    size, width = st.session_state["component"], int(st.session_state["width"])
    drawn, unmasked = _drawn(st.session_state["draw_seed"]), np.arange(_MOST_KEYS) < keys
    figures = {}
    for name in (SCALED, UNSCALED):
        factors = np.array([_factor(name, each) for each in WIDTHS]) * size**2
        scores = drawn.scores * factors[:, None, None].astype(np.float32)
        figures[name] = saturation(patterns(scores, unmasked), unmasked)
    _draw_verdicts(figures, width)
    at_even = {
        "entropy": np.log(keys),
        "largest": 1 / keys,
        "jacobian": 1 - 1 / keys,
    }
    titles = {
        "entropy": "entropy (nats)",
        "largest": "largest weight",
        "jacobian": "nuclear norm ‖J‖",
    }
    domains = {
        "entropy": (0, 1.15 * np.log(keys)),
        "largest": (0, 1.05),
        "jacobian": (0, 1.05),
    }
    for column, (figure, title) in zip(st.columns(3), titles.items(), strict=True):
        with column, st.container(key=f"chart_{figure}"):
            _draw_figure(figures, figure, title, domains[figure], at_even[figure])
    st.caption(
        "How to read it: means over 120 random queries, with bars of one standard error. The "
        "dashed level is a uniform pattern. Without 1/√d the patterns collapse onto a single "
        "key as d grows, and the Jacobian goes to 0 with them: the factor that multiplies "
        "every gradient on its way to queries and keys."
    )
    st.caption(
        "The criterion: p the weights of a query over n keys, J = diag(p) − p pᵀ the Jacobian "
        "of its softmax, ‖J‖ = 1 − Σ p² its nuclear norm, the sum of its singular values, at "
        f"most 1 − 1/n. By the mean of ‖J‖ / (1 − 1/n), a width is **healthy** from {HEALTHY:g} "
        f"upwards, **saturated** below {SATURATED:g}, and **partly saturated** between the two. "
        "The two bounds are a convention."
    )


def _draw_verdicts(figures: dict, width: int) -> None:
    place = WIDTHS.index(width)
    with st.container(gap="small", key="verdicts"):
        for name, figure in figures.items():
            mean, error = mean_and_error(figure.surviving[place])
            word = verdict(mean)
            st.markdown(
                f"**{name}**, d = {width}: :{_COLOURS[word]}[**{word}**] · "
                f"{show_measured(mean, error)} of a uniform pattern's Jacobian norm"
            )
        for name, figure in figures.items():
            words = [verdict(row.mean()) for row in figure.surviving]
            st.markdown(f"**{name}**: {_in_ranges(words)}")


def _in_ranges(words: list[str]) -> str:
    """Which widths have which verdict, such as "d = 1 to 8 healthy, 16 to 256 partly saturated"."""
    parts = []
    for word, group in itertools.groupby(zip(WIDTHS, words, strict=True), key=lambda pair: pair[1]):
        widths = [width for width, _ in group]
        ends = f"{widths[0]}" if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
        parts.append(f"{ends} :{_COLOURS[word]}[{word}]")
    return "d = " + ", ".join(parts)


def _draw_figure(
    figures: dict, name: str, title: str, domain: tuple[float, float], even: float
) -> None:
    tables = []
    for series, figure in figures.items():
        means = np.array([mean_and_error(row) for row in getattr(figure, name)])
        tables.append(series_table(series, WIDTHS, *means.T))
    last = [table.iloc[-1]["value"] for table in tables]
    draw_chart(
        series_chart(
            pd.concat(tables, ignore_index=True),
            level_table({"even": even}, WIDTHS),
            x_title="width d",
            y_title=title,
            y_domain=domain,
            ticks=WIDTHS,
            dark=on_dark(),
            height=260,
        ),
        name=f"{title[0].upper()}{title[1:]} against width",
        alt=f"{title} against width: at d = {WIDTHS[-1]} {last[0]:.2f} with 1/√d and "
        f"{last[1]:.2f} without.",
    )
