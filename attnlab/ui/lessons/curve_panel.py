"""Kernel regression on a line: data, bandwidth and query; and the same fit by attention."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from attnlab import charts
from attnlab.charts import Scale
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.kernel_regression import (
    LeaveOneOut,
    agreement_with_formula,
    attention_fit,
    dot_product,
    leave_one_out,
    on_circle,
)
from attnlab.lessons.regression_data import (
    CURVES,
    MOST,
    MOST_LETTERS,
    Sample,
    draw_sample,
    read_points,
)
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import draw_button, draw_metric
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons.kit import beside, clicks, control_row, seed_field, valid_or_last

_OWN, _OWN_KEY = "own points", "own_points"
_EXAMPLE = "0.0, 0.1\n0.5, 0.9\n1.0, 0.4\n1.5, -0.6\n2.0, -0.9\n2.5, 0.2\n3.0, 0.8"
# Proxies of hosted apps reject addresses of more than about eight thousand characters, and a comma
# or line break takes three characters in an address.
_MOST_IN_ADDRESS = 2000
_PLACES = 201
_CANDIDATES = np.geomspace(0.005, 1.0, 61)


class Curve(NamedTuple):
    """One-dimensional data, the grid `at` of the curve, the bandwidth and the query.

    `truth` holds the true values on the grid, or is None. The query is `at[place]`.
    """

    sample: Sample
    at: Float[np.ndarray, " places"]
    truth: Float[np.ndarray, " places"] | None
    bandwidth: float
    place: int
    left_out: LeaveOneOut

    @property
    def query(self) -> float:
        return float(self.at[self.place])


def draw_controls() -> Curve:
    """Draw the controls; return the data and settings that they describe."""
    label, limits = "bandwidth h, as a share of the range of x", (0.005, 1.0, 0.05, 0.005)
    share = linked(st.slider, label, *limits, format="%.3f", key="bandwidth")
    best_place = st.container()
    along = linked(st.slider, "query position (%)", 0.0, 100.0, 30.0, 0.5, key="query_at")
    with control_row():
        name = linked(st.selectbox, "data", [*CURVES, _OWN], key="curve", width=180)
        seed = seed_field("seed of the data", "curve_seed")
    if name == _OWN:
        sample, truth_of = _read_own_points(), None
    else:
        sample, truth_of = _sample(name, seed), CURVES[name].truth
        st.caption(CURVES[name].description)
    low, high = float(sample.x.min()), float(sample.x.max())
    margin = 0.05 * (high - low)
    at = np.linspace(low - margin, high + margin, _PLACES)
    truth = None
    if truth_of is not None:
        truth = np.asarray(truth_of(at[:, None]), np.float64)
        # The true function is only defined on [0, 1].
        truth = np.where((at < 0) | (at > 1), np.nan, truth)
    left_out = _left_out(sample.x[:, 0], sample.y)
    best = _CANDIDATES[left_out.best]
    with best_place:
        # The nearest step of the slider.
        values = {"bandwidth": float(np.clip(round(best / 0.005) * 0.005, 0.005, 1.0))}
        change = st.session_state.update, values
        draw_button("Best leave-one-out bandwidth", "best_bandwidth", "target", *change)
    place = round(along / 100 * (_PLACES - 1))
    return Curve(sample, at, truth, share * (high - low), place, left_out)


def _read_own_points() -> Sample:
    """Draw a field for points; return the points or, if they are invalid, the last valid ones.

    If there are few points, they are part of the address.
    """
    help = f"One point per line, at most {MOST}: x and y separated by a comma, space or tab."
    control = partial(st.text_area, height=180, max_chars=MOST_LETTERS, help=help)
    if len(st.session_state.get(_OWN_KEY, "")) > _MOST_IN_ADDRESS:
        text = control("x, y", _EXAMPLE, key=_OWN_KEY, persist_state="session")
        st.caption("These points are too long for a link. Save the text yourself.")
    else:
        if _OWN_KEY in st.session_state:
            # Set again, so that a shortened text, which was too long before, enters the address.
            st.session_state[_OWN_KEY] = str(st.session_state[_OWN_KEY])
        text = linked(control, "x, y", _EXAMPLE, key=_OWN_KEY)
    read = partial(read_points, "points")
    x, y = valid_or_last(read, text, _EXAMPLE, key="last_points", noun="points")
    return Sample(x[:, None], y)


@st.cache_data(max_entries=32, show_spinner=False)
def _sample(name: str, seed: int) -> Sample:
    return draw_sample(CURVES[name], key=jr.key(seed))


@st.cache_data(max_entries=32, show_spinner=False)
def _left_out(x: np.ndarray, y: np.ndarray) -> LeaveOneOut:
    return leave_one_out(x[:, None], y, _CANDIDATES * np.ptp(x))


def draw_fit(curve: Curve) -> None:
    """Draw data, truth and fit with the query's weights, and numbers of the query."""
    x, y = curve.sample.x[:, 0], curve.sample.y
    output, pattern = attention_fit(curve.at[:, None], curve.sample.x, y, curve.bandwidth)
    fit, weights, places = output[:, 0], pattern[curve.place], np.arange(_PLACES)
    truth = np.full(_PLACES, np.nan) if curve.truth is None else curve.truth
    columns = {"place": places, "x": curve.at, "fit": fit, "truth": truth}
    span = np.ptp(y) or 1.0
    # The key is that of a browser test.
    with st.container(key="chart_fit"):
        draw_chart(
            charts.fit_chart(
                pd.DataFrame({**columns, "chosen": places == curve.place}),
                pd.DataFrame({"x": x, "y": y, "weight": weights}),
                x_domain=(float(curve.at[0]), float(curve.at[-1])),
                # Leaves room for the bars of weights below the data.
                y_domain=(float(y.min() - 0.6 * span), float(y.max() + 0.15 * span)),
                largest=float(weights.max()),
                height=400,
            ),
            name="The fit",
            alt=f"Fit with bandwidth {curve.bandwidth:.4g}: at x = {curve.query:.3f} it is "
            f"{fit[curve.place]:.3f}, the largest weight {weights.max():.3f}.",
            **clicks("fit_clicks", _move_query),
        )
    _draw_numbers(curve, fit, weights)
    st.caption(
        "Click the curve to move the query (blue). The red bar under each dot is its weight, and "
        "the fit is the weighted mean of the dots. The dashed line is the truth, if it is known."
    )


def _move_query(clicked: Mapping[str, Any]) -> None:
    if "place" in clicked:
        st.session_state["query_at"] = round(200 * clicked["place"] / (_PLACES - 1)) / 2


def _draw_numbers(curve: Curve, fit: np.ndarray, weights: np.ndarray) -> None:
    share = weights[weights > 0]
    effective = float(np.exp(-(share * np.log(share)).sum()))
    with st.container(horizontal=True, gap="medium", key="fit_figures"):
        draw_metric("fit at the query", f"{fit[curve.place]:.4f}")
        draw_metric("effective neighbours", f"{effective:.2f}", "exp(entropy)")
        draw_metric("h", f"{curve.bandwidth:.4g}", "In the units of x.")
        if curve.truth is not None:
            error = float(np.sqrt(np.nanmean((fit - curve.truth) ** 2)))
            draw_metric(
                "error against the truth",
                f"{error:.3f}",
                "Root-mean-square difference between the fit and the true curve. It is exact "
                "for this data set, not an estimate.",
            )


def draw_left_out(curve: Curve) -> None:
    """Draw the leave-one-out error by bandwidth, beside what it says."""
    bandwidths, loss, stderr = curve.left_out
    best, h = curve.left_out.best, f"h = {bandwidths[curve.left_out.best]:.3g}"
    _, picture = beside(
        f"The squared error of predicting each point from the others is lowest at {h}: "
        f"{show_measured(loss[best], stderr[best], most_places=4)}.\n\n"
        "**Try this**: make the bandwidth small until the fit jumps from dot to dot, then "
        "large until it is flat. For `quickening`, whose waves get shorter, no single "
        "bandwidth fits both ends."
    )
    with picture:
        draw_chart(
            charts.lines_chart(
                charts.series_table("", bandwidths, loss, stderr),
                None,
                pd.DataFrame({"at": [curve.bandwidth], "name": ""}),
                x=Scale("bandwidth h (log scale)", ".3g", labels="~g", kind="log"),
                y=Scale("leave-one-out MSE", ".4f", zero=False),
                look="band",
                height=220,
            ),
            name="Leave-one-out MSE",
            alt=f"Leave-one-out MSE against the bandwidth: lowest at {h} with {loss[best]:.4f}.",
        )


def draw_equalities(curve: Curve) -> None:
    """Draw how closely the formula, `attend` and, for keys of equal norm, dot products agree."""
    x = curve.sample.x
    same = agreement_with_formula(curve.at[:, None], x, curve.sample.y, curve.bandwidth)
    with st.container(key="agreement"):
        st.markdown(
            "The weights of the formula and of attnlab's attention function differ by at most "
            f"**{same.float64:.1e}** in float64. In float32, which training uses, they differ by "
            f"at most **{same.float32:.1e}**."
        )
        if same.undefined:
            draw_warning(
                f"At {same.undefined} of {_PLACES} places the formula is 0/0, since all kernel "
                "values underflow. Attention subtracts the largest score first, so it still works.",
                icon=":material/exposure_zero:",
            )
    st.markdown(
        "**Keys of equal norm.** Dot products depend on angles and norms, Gaussian scores on "
        "distances. If all keys have the same norm r, both give the same weights:"
    )
    st.latex(
        r"-\frac{\lVert q - k_i \rVert^2}{2h^2} = \frac{q \cdot k_i}{h^2} - "
        r"\frac{\lVert q \rVert^2 + r^2}{2h^2}"
    )
    st.markdown(
        "The last term is the same for every key, so it does not change the softmax. So Gaussian "
        "attention is dot-product attention with scale 1/h². Here x is mapped onto half a "
        "circle, so every key has norm 1:"
    )
    low, high = float(x.min()), float(x.max())
    bandwidth = curve.bandwidth * np.pi / (high - low)
    on_one = dot_product(on_circle(curve.at, low, high), on_circle(x[:, 0], low, high), bandwidth)
    straight = dot_product(curve.at[:, None], x, curve.bandwidth)
    nearest = np.argsort(-on_one.gaussian[curve.place])[:5]
    here = (curve.place, nearest)
    table = {
        "key xᵢ": x[nearest, 0],
        "Gaussian score": on_one.gaussian[here],
        "q · kᵢ / h²": on_one.dot[here],
        "difference": on_one.dot[here] - on_one.gaussian[here],
        "weight, Gaussian": on_one.gaussian_pattern[here],
        "weight, dot product": on_one.dot_pattern[here],
    }
    number = st.column_config.NumberColumn
    shown = {name: number(format="%.6f" if "weight" in name else "%.4f") for name in table}
    with st.container(key="one_norm"):
        st.dataframe(table, hide_index=True, width="stretch", column_config=shown)
        st.markdown(
            f"The table shows the five keys nearest to the query x = {curve.query:.3f}. Over "
            f"all queries and keys, Gaussian and dot-product attention weights differ by at most "
            f"**{on_one.pattern_difference:.1e}**. For each query the scores differ by a constant, "
            f"up to rounding ({on_one.constant_error:.1e}). With x itself as the key, norms "
            f"differ, and these weights differ by up to **{straight.pattern_difference:.2f}**."
        )
