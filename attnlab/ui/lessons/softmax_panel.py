"""Dot products that grow with the width, and the softmax that they saturate, or break."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.attention import scale_factor
from attnlab.charts import HUES, Scale, Series, past_hue, series_table
from attnlab.configuration.number_text import read_numbers, show_measured
from attnlab.configuration.options import OptionError
from attnlab.lessons import saturation as lesson
from attnlab.lessons.saturation import Saturation, saturation
from attnlab.optimum.sequences import mean_and_error
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import draw_button, draw_metric
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons.kit import in_columns, seed_field, valid_or_last

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# By the option `scale` of a model: how the page names and draws scores with this scale.
BY_SCALE = {
    "1/sqrt(d)": Series("with 1/√d", HUES.learned),
    "none": Series("without 1/√d", past_hue(0), "square", dash=(6, 3)),
}
# The factor on the scores at each width.
_FACTORS = {
    one.name: np.array([scale_factor(scale, d_attn=width, temperature=1.0) for width in WIDTHS])
    for scale, one in BY_SCALE.items()
}
_LOOK = {"series": tuple(BY_SCALE.values()), "noun": "scores"}
_OF_WIDTH = Scale("width d", "d", labels="d", kind="log", ticks=WIDTHS)
_MOST_DRAWS, _QUERIES, _MOST_KEYS = 2_000, 120, 32
_HEIGHT = 300
_VECTOR = "0.1, -0.2, 0.3, -0.2, 0.5"
_PRESETS = {
    "example": _VECTOR,
    "8 × example": "0.8, -1.6, 2.4, -1.6, 4.0",
    "all equal": "1, 1, 1, 1, 1, 1, 1, 1",
    "one key masked": "2, 1, -inf, 0",
    "huge": "10000, 9999, 0, -10000",
}
_MOST_LOGITS = 32
# Without the factor, most softmaxes of this width are saturated.
FIRST_VALUES = MappingProxyType({"width": "64"})
_PASSING = "The nuclear norm of the softmax's Jacobian, relative to a uniform pattern."


@st.cache_data(max_entries=8, show_spinner=False)
def _draw_scores(seed: int) -> lesson.DrawnScores:
    sizes = {"draws": _MOST_DRAWS, "queries": _QUERIES, "keys": _MOST_KEYS}
    return lesson.draw_scores(WIDTHS, **sizes, key=jr.key(seed))


class Drawn(NamedTuple):
    """Random scores, the chosen width, the standard deviation of a component, and the patterns.

    `scores` have components of standard deviation 1; products scale with its square. `patterns` are
    `(widths, queries, keys)` by series.
    """

    scores: lesson.DrawnScores
    width: int
    size: float
    unmasked: np.ndarray
    patterns: dict[str, np.ndarray]


def draw_controls() -> Drawn:
    """Draw the controls of the random scores; return the scores and their patterns."""
    widths = [str(width) for width in WIDTHS]
    width = int(linked(st.select_slider, "width d", widths, "16", key="width"))
    left, right = st.columns(2)
    keys = linked(left.slider, "number of keys", 2, _MOST_KEYS, 16, 1, key="keys")
    label, limits = "standard deviation σ", (0.25, 2.0, 1.0, 0.05)
    help = "Of each component of queries and keys."
    size = linked(right.slider, label, *limits, key="component", help=help)
    scores = _draw_scores(seed_field("seed of the draw", "draw_seed"))
    unmasked, patterns = np.arange(_MOST_KEYS) < keys, {}
    for name, factors in _FACTORS.items():
        scaled = scores.scores * (factors * size**2)[:, None, None].astype(np.float32)
        patterns[name] = lesson.patterns(scaled, unmasked)
    return Drawn(scores, width, size, unmasked, patterns)


def draw_collapse(drawn: Drawn) -> None:
    """Draw the weights of the first query without and with 1/√d, and how much gradient passes."""
    place, keys = WIDTHS.index(drawn.width), int(drawn.unmasked.sum())
    logits = drawn.scores.scores[place, 0, :keys] * drawn.size**2
    for series in reversed(BY_SCALE.values()):
        pattern = drawn.patterns[series.name][place]
        passing = mean_and_error(saturation(pattern, drawn.unmasked).surviving)
        weights, factor = pattern[0, :keys], _FACTORS[series.name][place]
        columns = {"logit": [f"{logit:.3g}" for logit in logits * factor], "weight": weights}
        st.markdown(
            f"**{series.name}**: on average "
            f"{show_measured(*(100 * each for each in passing), most_places=1)} % of the gradient "
            "still passes the softmax",
            help=f"The mean over 120 random queries, with its standard error. {_PASSING}",
        )
        draw_chart(
            charts.softmax_chart(
                pd.DataFrame({"key": np.arange(1, keys + 1), **columns}),
                keys=keys,
                colour=series.colour,
                has_ticks=False,
                height=240,
            ),
            name=f"Weights of a query {series.name}",
            alt=f"Weights of one query {series.name} at width {drawn.width}: key "
            f"{weights.argmax() + 1} of {keys} has the largest, {weights.max():.3f}.",
        )


@fragment
def draw_dot_products(drawn: Drawn) -> None:
    """Draw the distribution of q · k at the chosen width, and its variance by width."""
    limits = 100, _MOST_DRAWS, _MOST_DRAWS, 100
    draws = linked(st.slider, "draws N", *limits, key="draws", width=240)
    width, size = drawn.width, drawn.size
    products = drawn.scores.products[:, :draws] * size**2
    left, right = st.columns(2, gap="medium")
    with left:
        _draw_distribution(products, width, size)
    with right:
        _draw_variance(products, size)
    variance, error = lesson.variance_and_error(products[WIDTHS.index(width)])
    st.latex(
        rf"\operatorname{{Var}}(q \cdot k) = d\,\sigma^4 = {width} \times {size:g}^4 "
        rf"= {size**4 * width:.4g}"
    )
    st.latex(
        r"\operatorname{Var}\!\left(\tfrac{q \cdot k}{\sqrt d}\right) = \sigma^4 = "
        f"{size**4:.4g}"
    )
    plain = show_measured(variance, error, most_places=6)
    scaled = show_measured(variance / width, error / width, most_places=6)
    st.markdown(f"Measured over {draws:,} draws: **{plain}**, and **{scaled}** with 1/√d.")
    st.caption(
        "Left: scores of random queries and keys. Right: their variance ± one standard error; "
        "slope 1 means growth in proportion to d.",
        help="Both series use the same N draws. About a third of the points should miss the "
        "theoretical value by more than their bar.",
    )


def _draw_distribution(products: np.ndarray, width: int, size: float) -> None:
    place, variance = WIDTHS.index(width), size**4 * width
    bins = {"reach": 3.5 * np.sqrt(variance), "bins": 61}
    tables = []
    for name, factors in _FACTORS.items():
        factor = factors[place]
        found = lesson.histogram(products[place] * factor, variance=variance * factor**2, **bins)
        tables.append(pd.DataFrame(found._asdict()).assign(series=name))
    spread = products[place].std()
    draw_chart(
        charts.distribution_chart(pd.concat(tables), series=_LOOK["series"], height=_HEIGHT),
        name="Distribution of q · k",
        alt=f"Distribution of q · k at width {width}: standard deviation {spread:.2f} without "
        f"1/√d and {spread / np.sqrt(width):.2f} with it.",
    )


def _draw_variance(products: np.ndarray, size: float) -> None:
    table = _by_width(
        {
            name: map(lesson.variance_and_error, products * factors[:, None])
            for name, factors in _FACTORS.items()
        }
    )
    known = {"theory": size**4 * np.array(WIDTHS, dtype=float), "theory / d": size**4}
    last = table.iloc[-1]
    draw_chart(
        charts.lines_chart(
            table,
            charts.level_table(known, WIDTHS),
            x=_OF_WIDTH,
            y=Scale("variance of the scores", ".4g", labels="~g", kind="log"),
            look="dots",
            height=_HEIGHT,
            **_LOOK,
        ),
        name="Variance of the scores against width",
        alt=f"Variance against width: at d = {WIDTHS[-1]} it is {last['value']:.4g} without 1/√d, "
        f"with a standard error of {last['error']:.2g}; theory says {size**4 * WIDTHS[-1]:.4g}.",
    )


def _by_width(values: Mapping[str, Iterable[tuple[float, float]]]) -> pd.DataFrame:
    """Return a table for `lines_chart` of each series' value and standard error at each width."""
    found = ((name, np.array(list(each))) for name, each in values.items())
    return pd.concat([series_table(name, WIDTHS, *each.T) for name, each in found])


def draw_saturation(drawn: Drawn) -> None:
    """Draw, by width, how saturated the softmax of these scores over several keys is."""
    keys = int(drawn.unmasked.sum())
    found = {name: saturation(each, drawn.unmasked) for name, each in drawn.patterns.items()}
    # For each measure: its title, its domain, and its value for a uniform pattern.
    panels = {
        "entropy": ("entropy (nats)", (0, 1.15 * np.log(keys)), np.log(keys)),
        "largest": ("largest weight", (0, 1.05), 1 / keys),
        "surviving": ("share of the gradient that passes", (0, 1.05), 1),
    }
    for measure, (title, domain, even) in in_columns(panels.items()):
        table = _by_width({s: map(mean_and_error, getattr(v, measure)) for s, v in found.items()})
        scaled, unscaled = table["value"][table["at"] == WIDTHS[-1]]
        known = charts.level_table({"uniform": even}, WIDTHS)
        y = Scale(title, ".4g", domain=domain)
        draw_chart(
            charts.lines_chart(table, known, x=_OF_WIDTH, y=y, height=260, **_LOOK),
            name=f"{title[0].upper()}{title[1:]} against width",
            alt=f"{title} against width: at d = {WIDTHS[-1]} {scaled:.2f} with 1/√d and "
            f"{unscaled:.2f} without.",
        )
    st.caption(
        "Without 1/√d the patterns collapse onto a single key as d grows. The Jacobian then goes "
        "to 0, and it multiplies every gradient on its way to queries and keys.",
        help="Points are means over 120 random queries, ± one standard error; dashed lines show a "
        "uniform pattern. For weights p over n keys, the Jacobian of the softmax is "
        "J = diag(p) − p pᵀ. Its nuclear norm is 1 − Σ p², which is drawn as a share of 1 − 1/n, "
        "the norm of a uniform pattern.",
    )


@fragment
def draw_temperature() -> None:
    """Draw fields for logits and temperature, and the softmax with its entropy and Jacobian."""
    with st.container(horizontal=True, gap="small", key="logit_presets"):
        for number, (name, text) in enumerate(_PRESETS.items()):
            change = st.session_state.update, {"logits": text}
            draw_button(name, f"logits_{number}", None, *change)
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="top")
    help = (
        f"Up to {_MOST_LOGITS} numbers, separated by spaces or commas. -inf is a key that cannot "
        "be attended to."
    )
    with left:
        text = linked(st.text_input, "logits", _VECTOR, key="logits", max_chars=400, help=help)
        found = valid_or_last(read_logits, text, _VECTOR, key="last_logits", noun="logits")
    with right:
        limits = 0.05, 5.0, 1.0, 0.05
        temperature = linked(st.slider, "temperature", *limits, key="temperature_of_logits")
    logits = np.array(found, dtype=np.float32)
    both = np.stack([logits / np.float32(temperature), logits])
    weights, at_one = lesson.patterns(both, np.ones(len(logits), dtype=bool))
    values = saturation(weights, np.isfinite(logits))
    # JSON has no infinity, so logits are texts.
    columns = {"logit": [f"{logit:g}" for logit in logits], "weight": weights, "at_one": at_one}
    table = pd.DataFrame({"key": np.arange(1, len(logits) + 1), **columns})
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_chart(
            charts.softmax_chart(table, keys=len(logits), height=260),
            name="Softmax of the logits",
            alt=f"Softmax of {len(logits)} logits at temperature {temperature:g}: key "
            f"{int(weights.argmax()) + 1} has the largest weight, {values.largest:.4f}.",
        )
    with right, st.container(key="softmax_figures"):
        _draw_numbers(values, logits[np.isfinite(logits)].astype(np.float64), temperature)
    st.caption(
        "Each bar is a key's weight, softmax(logits / temperature). The grey tick is its weight "
        "at temperature 1."
    )


def _draw_numbers(values: Saturation, finite: np.ndarray, temperature: float) -> None:
    variance = finite.var(ddof=1) / temperature**2 if finite.size > 1 else 0.0
    with st.container(horizontal=True, gap="medium"):
        draw_metric("entropy (nats)", f"{values.entropy:.4f}")
        draw_metric(
            "effective keys",
            f"{values.effective:.3f}",
            "exp(entropy): the number of equally weighted keys with the same entropy.",
        )
        draw_metric("largest weight", f"{values.largest:.4f}")
    with st.container(horizontal=True, gap="medium"):
        draw_metric(
            "variance of the logits",
            f"{variance:.4f}" if variance < 1e4 else f"{variance:.3e}",
            "The variance of the finite logits after division by the temperature, with "
            "n − 1 in the denominator.",
        )
        passing = f"{values.surviving:.2%}" if finite.size > 1 else "one key"
        draw_metric("gradient that passes", passing, _PASSING)


def read_logits(text: str) -> tuple[float, ...]:
    """Return the numbers in a text; -inf is a masked key.

    Raises:
        OptionError: If there are more than 32 numbers, none is finite, or one is NaN, +inf or
            beyond ±1,000,000.
    """
    logits = read_numbers("logits", text, (0.1, 0.2))
    if len(logits) > _MOST_LOGITS:
        problem = f"more than {_MOST_LOGITS} numbers"
        raise OptionError("logits", len(logits), problem, "Leave some out")
    for logit in logits:
        if not logit < np.inf:
            problem = "its softmax is not defined"
            raise OptionError("logits", logit, problem, "Use a finite number or -inf")
        if np.isfinite(logit) and abs(logit) > 1e6:
            raise OptionError("logits", logit, "beyond a million", "Use smaller numbers")
    if not np.isfinite(logits).any():
        raise OptionError("logits", text, "no key can be attended to", "Give a finite number too")
    return logits


def draw_safety() -> None:
    """Draw difficult scores, the results of a naive softmax and of attnlab's, and explanations."""
    lines = []
    for case, found in zip(lesson.CASES, _answer_cases(), strict=True):
        gradients = "finite" if np.isfinite(found.gradient).all() else "not finite"
        lines.append(
            f"- **{case.name}**: {_list_numbers(case.scores, case.unmasked)}\n"
            f"    - plain softmax: {_list_numbers(found.plain)}; "
            f"attnlab's: **{_list_numbers(found.ours)}**, gradients {gradients}\n"
            f"    - {case.why}"
        )
    with st.container(key="safety"):
        st.markdown("\n".join(lines))
    st.caption(
        "Each case has three scores, computed in float32; [brackets] mark a masked key. The "
        "plain softmax is exp(s) / Σ exp(s); `nan` is not a number."
    )


@st.cache_data(show_spinner=False)
def _answer_cases() -> list:
    return [lesson.answer(case) for case in lesson.CASES]


def _list_numbers(values, unmasked=(True,) * 3) -> str:
    texts = (f"{value:,.5g}".replace("-", "−") for value in np.asarray(values, dtype=float))
    pairs = zip(texts, unmasked, strict=True)
    return " · ".join(text if seen else f"[{text}]" for text, seen in pairs)
