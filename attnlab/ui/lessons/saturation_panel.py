"""How dot products grow with the width, and how the softmax then saturates."""

import itertools

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.attention import scale_factor
from attnlab.charts import SCALED, UNSCALED, Scale
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.saturation import (
    HEALTHY,
    SATURATED,
    DrawnScores,
    Saturation,
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
from attnlab.ui.lessons.kit import control_row, draw_figure, seed_field

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MOST_DRAWS, _QUERIES, _MOST_KEYS = 2_000, 120, 32
_HEIGHT = 300
_OF_WIDTH = Scale("width d", "d", labels="d", kind="log", ticks=WIDTHS)
# With and without scaling: the factor on the scores at each width.
_FACTORS = {
    name: np.array([scale_factor(scale, d_attn=width, temperature=1.0) for width in WIDTHS])
    for name, scale in ((SCALED, "1/sqrt(d)"), (UNSCALED, "none"))
}


def draw_dot_products() -> None:
    """Draw controls, the distribution of q · k at one width, and its variance by width."""
    with control_row():
        widths = [str(width) for width in WIDTHS]
        width = int(linked(st.select_slider, "width d", widths, "16", key="width", width=300))
        draws = linked(
            st.slider, "draws N", 100, _MOST_DRAWS, _MOST_DRAWS, 100, key="draws", width=240
        )
        label, limits = "standard deviation of a component", (0.25, 2.0, 1.0, 0.05)
        size = linked(st.slider, label, *limits, key="component", width=260)
        seed = seed_field("seed of the draw", "draw_seed")
    # Drawn with components of standard deviation 1; products scale with its square.
    products = _drawn(seed).products[:, :draws] * size**2
    place = WIDTHS.index(width)
    left, right = st.columns(2, gap="medium")
    _draw_distribution(left, products[place], place, size)
    _draw_variance(right, products, size)
    _draw_formula(products[place], width, size, draws)
    st.caption(
        "Left: scores of random queries and keys. Right: their variance ± one standard error; "
        "slope 1 means growth in proportion to d.",
        help="Both series use the same N draws. About a third of the points should miss the "
        "theoretical value by more than their bar.",
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _drawn(seed: int) -> DrawnScores:
    return draw_scores(
        WIDTHS, draws=_MOST_DRAWS, queries=_QUERIES, keys=_MOST_KEYS, key=jr.key(seed)
    )


def _draw_distribution(column, products: np.ndarray, place: int, size: float) -> None:
    width = WIDTHS[place]
    variance = size**4 * width
    reach = 3.5 * np.sqrt(variance)
    histograms = {
        name: histogram(
            products * factors[place],
            variance=variance * factors[place] ** 2,
            reach=reach,
            bins=61,
        )
        for name, factors in _FACTORS.items()
    }
    draw_figure(
        column,
        "distribution",
        charts.distribution_chart,
        charts.distribution_table(histograms),
        name="Distribution of q · k",
        alt=f"Distribution of q · k at width {width}: standard deviation {products.std():.2f} "
        f"without 1/√d and {products.std() / np.sqrt(width):.2f} with it.",
        height=_HEIGHT,
    )


def _draw_variance(column, products: np.ndarray, size: float) -> None:
    tables = []
    for name, factors in _FACTORS.items():
        scaled = zip(products, factors, strict=True)
        figures = np.array([variance_and_error(row * factor) for row, factor in scaled])
        tables.append(charts.series_table(name, WIDTHS, *figures.T))
    known = {"theory": size**4 * np.array(WIDTHS, dtype=float), "theory / d": size**4}
    last = tables[1].iloc[-1]
    draw_figure(
        column,
        "variance",
        charts.lines_chart,
        pd.concat(tables, ignore_index=True),
        charts.level_table(known, WIDTHS),
        name="Variance of the scores against width",
        alt=f"Variance against width: at d = {WIDTHS[-1]} it is {last['value']:.4g} without 1/√d, "
        f"with a standard error of {last['error']:.2g}; theory says {size**4 * WIDTHS[-1]:.4g}.",
        x=_OF_WIDTH,
        y=Scale("variance of the scores", ".4g", labels="~g", kind="log"),
        series=charts.BY_SCALE,
        look="dots",
        noun="scores",
        height=_HEIGHT,
    )


def _draw_formula(products: np.ndarray, width: int, size: float, draws: int) -> None:
    variance, error = variance_and_error(products)
    expected = size**4 * width
    st.latex(
        rf"\operatorname{{Var}}(q \cdot k) = d\,\sigma^4 = {width} \times {size:g}^4 "
        rf"= {expected:.4g}"
    )
    st.latex(
        r"\operatorname{Var}\!\left(\tfrac{q \cdot k}{\sqrt d}\right) = \sigma^4 = "
        f"{size**4:.4g}"
    )
    plain = show_measured(variance, error, most_places=6)
    scaled = show_measured(variance / width, error / width, most_places=6)
    st.markdown(f"Measured over {draws:,} draws: **{plain}**, and **{scaled}** with 1/√d.")


@fragment
def draw_saturation() -> None:
    """Draw, by width, how saturated the softmax of these scores over several keys is."""
    keys = linked(st.slider, "number of keys", 2, _MOST_KEYS, 16, 1, key="keys", width=300)
    size, width = st.session_state["component"], int(st.session_state["width"])
    drawn, unmasked = _drawn(st.session_state["draw_seed"]), np.arange(_MOST_KEYS) < keys
    found = {}
    for name, factors in _FACTORS.items():
        scores = drawn.scores * (factors * size**2)[:, None, None].astype(np.float32)
        found[name] = saturation(patterns(scores, unmasked), unmasked)
    _draw_verdicts(found, WIDTHS.index(width))
    # For each quantity: its title, its domain, and its value for a uniform pattern.
    panels = {
        "entropy": ("entropy (nats)", (0, 1.15 * np.log(keys)), np.log(keys)),
        "largest": ("largest weight", (0, 1.05), 1 / keys),
        "jacobian": ("nuclear norm ‖J‖", (0, 1.05), 1 - 1 / keys),
    }
    for column, (figure, (title, domain, even)) in zip(st.columns(3), panels.items(), strict=True):
        tables = []
        for series, values in found.items():
            means = np.array([mean_and_error(row) for row in getattr(values, figure)])
            tables.append(charts.series_table(series, WIDTHS, *means.T))
        scaled, unscaled = (table.iloc[-1]["value"] for table in tables)
        draw_figure(
            column,
            figure,
            charts.lines_chart,
            pd.concat(tables, ignore_index=True),
            charts.level_table({"uniform": even}, WIDTHS),
            name=f"{title[0].upper()}{title[1:]} against width",
            alt=f"{title} against width: at d = {WIDTHS[-1]} {scaled:.2f} with 1/√d and "
            f"{unscaled:.2f} without.",
            x=_OF_WIDTH,
            y=Scale(title, ".4g", domain=domain),
            series=charts.BY_SCALE,
            noun="scores",
            height=260,
        )
    st.caption(
        "Without 1/√d the patterns collapse onto a single key as d grows. The Jacobian then goes "
        "to 0, and it multiplies every gradient on its way to queries and keys.",
        help="Points are means over 120 random queries, ± one standard error; dashed lines show a "
        "uniform pattern.",
    )
    st.caption(
        "For weights p over n keys, the Jacobian of the softmax is J = diag(p) − p pᵀ. A width is "
        f"**healthy** if ‖J‖ / (1 − 1/n) is at least {HEALTHY:g}, **saturated** below "
        f"{SATURATED:g}.",
        help="‖J‖ is the nuclear norm, the sum of the singular values. It is 1 − Σ p², at most "
        "1 − 1/n. The two bounds are a convention.",
    )


def _draw_verdicts(found: dict[str, Saturation], place: int) -> None:
    with st.container(gap="small", key="verdicts"):
        for name, values in found.items():
            mean, error = mean_and_error(values.surviving[place])
            st.markdown(
                f"**{name}**, d = {WIDTHS[place]}: {_in_words(mean, '**')} · "
                f"‖J‖ is {show_measured(100 * mean, 100 * error)} % of its value for a uniform "
                "pattern"
            )
        for name, values in found.items():
            words = [_in_words(row.mean()) for row in values.surviving]
            parts = []
            for word, group in itertools.groupby(range(len(WIDTHS)), key=words.__getitem__):
                first, *_, last = [WIDTHS[at] for at in group] * 2
                parts.append(f"{first} {word}" if first == last else f"{first} to {last} {word}")
            st.markdown(f"**{name}**: d = {', '.join(parts)}")


def _in_words(surviving: float, marks: str = "") -> str:
    word = verdict(surviving)
    return f"{marks}{word}{marks}"
