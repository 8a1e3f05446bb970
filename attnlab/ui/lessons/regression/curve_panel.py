"""Kernel regression on a line: data, bandwidth, a query, and the same by attention."""

from typing import NamedTuple

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from attnlab.charts import (
    CLICKED,
    fit_chart,
    fit_table,
    leave_one_out_chart,
    points_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.kernel_regression import (
    LeaveOneOut,
    agreement_with_formula,
    attention_fit,
    dot_product,
    leave_one_out,
    on_circle,
)
from attnlab.lessons.regression_data import CURVES, Sample, draw_sample
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.outside import draw_warning
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.lessons.regression.points_editor import read_own_points

_OWN = "own points"
_PLACES = 201
_CANDIDATES = np.geomspace(0.005, 1.0, 61)


class Curve(NamedTuple):
    """What the controls say: data on a line, where the curve is drawn, the bandwidth, the query.

    `truth` is None for data whose truth nobody knows; `at[place]` is the query.
    """

    sample: Sample
    at: Float[np.ndarray, " places"]
    truth: Float[np.ndarray, " places"] | None
    bandwidth: float
    place: int

    @property
    def query(self) -> float:
        return float(self.at[self.place])


def draw_controls() -> Curve:
    """The controls, and what they say."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = linked(st.selectbox, "data", [*CURVES, _OWN], key="curve", width=180)
        seed = linked(
            st.number_input, "seed of the data", 0, 2**31 - 1, 0, 1, key="curve_seed", width=150
        )
        share = linked(
            st.slider,
            "bandwidth h, as a share of the range of x",
            0.005,
            1.0,
            0.05,
            0.005,
            format="%.3f",
            key="bandwidth",
            width=330,
        )
        along = linked(
            st.slider, "query, in % of the way", 0.0, 100.0, 30.0, 0.5, key="query_at", width=260
        )
        st.button(
            "Best leave-one-out bandwidth", key="best_bandwidth", icon=":material/target:",
            on_click=_choose_best,
        )  # fmt: skip
    if name == _OWN:
        sample, truth_of = read_own_points(), None
    else:
        sample, truth_of = _sample(name, seed), CURVES[name].truth
        st.caption(f"{CURVES[name].summary} {len(sample.y)} points, noise {CURVES[name].noise:g}.")
    low, high = float(sample.x.min()), float(sample.x.max())
    margin = 0.05 * (high - low)
    at = np.linspace(low - margin, high + margin, _PLACES)
    truth = None
    if truth_of is not None:
        truth = np.asarray(truth_of(at[:, None]), np.float64)
        # The truth of these data is a function on [0, 1]; outside it is not what made them.
        truth = np.where((at < 0) | (at > 1), np.nan, truth)
    st.session_state["curve_loo"] = _left_out(sample.x.tobytes(), sample.y.tobytes())
    place = round(along / 100 * (_PLACES - 1))
    return Curve(sample, at, truth, share * (high - low), place)


@st.cache_data(max_entries=32, show_spinner=False)
def _sample(name: str, seed: int) -> Sample:
    return draw_sample(CURVES[name], key=jr.key(seed))


def _choose_best() -> None:
    left_out: LeaveOneOut = st.session_state["curve_loo"]
    share = _CANDIDATES[left_out.best]
    st.session_state["bandwidth"] = float(np.clip(round(share / 0.005) * 0.005, 0.005, 1.0))


@st.cache_data(max_entries=32, show_spinner=False)
def _left_out(x: bytes, y: bytes) -> LeaveOneOut:
    x, y = np.frombuffer(x)[:, None], np.frombuffer(y)
    return leave_one_out(x, y, _CANDIDATES * np.ptp(x))


def draw_fit(curve: Curve) -> None:
    """Data, truth and fit; the weights of the query; the loss against the bandwidth."""
    x, y = curve.sample.x[:, 0], curve.sample.y
    fitted = attention_fit(curve.at[:, None], curve.sample.x, y, curve.bandwidth)
    weights = fitted.pattern[curve.place]
    span = np.ptp(y) or 1.0
    left, right = st.columns([5, 2], gap="medium")
    with left, st.container(key="chart_fit"):
        draw_chart(
            fit_chart(
                fit_table(curve.at, fitted.output[:, 0], curve.truth, curve.place),
                points_table(x, y, weights),
                x_domain=(float(curve.at[0]), float(curve.at[-1])),
                # Room below for the bars.
                largest=float(weights.max()),
                y_domain=(float(y.min() - 0.6 * span), float(y.max() + 0.15 * span)),
                dark=on_dark(),
                height=400,
            ),
            name="The fit",
            key="fit_chart",
            on_select=_take_click,
            selection_mode=CLICKED,
            alt=f"Fit with bandwidth {curve.bandwidth:.4g}: at x = {curve.query:.3f} it is "
            f"{fitted.output[curve.place, 0]:.3f}, the largest weight {weights.max():.3f}.",
        )
    with right:
        _draw_figures(curve, fitted.output[:, 0], weights)
        _draw_left_out(curve)
    st.caption(
        "Click the curve anywhere to put the query there, or move its slider. How to read it: "
        "the blue line is the query, the dots are the data; from below rises under each a "
        "red bar, its weight for this query, on the scale at the right. The fit at the query is "
        "the mean of the dots by these weights. Dashed is the truth, where it is known."
    )


def _take_click() -> None:
    picked = st.session_state["fit_chart"]["selection"].get(CLICKED)
    if picked and "place" in picked[0]:
        st.session_state["query_at"] = round(200 * picked[0]["place"] / (_PLACES - 1)) / 2


def _draw_figures(curve: Curve, fit: np.ndarray, weights: np.ndarray) -> None:
    share = weights[weights > 0]
    effective = float(np.exp(-(share * np.log(share)).sum()))
    with st.container(horizontal=True, gap="medium", key="fit_figures"):
        st.metric("fit at the query", f"{fit[curve.place]:.4f}", width="content")
        st.metric("effective neighbours", f"{effective:.2f}", width="content", help="exp(entropy)")
        st.metric("h", f"{curve.bandwidth:.4g}", width="content", help="In the units of x.")
        if curve.truth is not None:
            apart = fit - curve.truth
            error = float(np.sqrt(np.nanmean(apart**2)))
            st.metric(
                "error against the truth",
                f"{error:.3f}",
                width="content",
                help="Root of the mean square over the curve, without the noise: of these very "
                "data, not an estimate.",
            )


def _draw_left_out(curve: Curve) -> None:
    left_out: LeaveOneOut = st.session_state["curve_loo"]
    table = pd.DataFrame(
        {
            "bandwidth": left_out.bandwidths,
            "loss": left_out.loss,
            "stderr": left_out.stderr,
            "low": left_out.loss - left_out.stderr,
            "high": left_out.loss + left_out.stderr,
        }
    )
    best = left_out.best
    with st.container(key="chart_left_out"):
        draw_chart(
            leave_one_out_chart(
                table, pd.DataFrame({"bandwidth": [curve.bandwidth]}), dark=on_dark(), height=220
            ),
            name="Leave-one-out MSE",
            alt=f"Leave-one-out MSE against the bandwidth: least "
            f"at h = {left_out.bandwidths[best]:.3g} with {left_out.loss[best]:.4f}.",
        )
    st.caption(
        "Leave-one-out MSE, each point predicted from the others: least at h = "
        f"{left_out.bandwidths[best]:.3g}, "
        f"{show_measured(left_out.loss[best], left_out.stderr[best], most_places=4)}."
    )


def draw_equalities(curve: Curve) -> None:
    """The same by `attend`, and by dot products where keys have one norm."""
    x = curve.sample.x
    same = agreement_with_formula(curve.at[:, None], x, curve.sample.y, curve.bandwidth)
    with st.container(key="agreement"):
        st.markdown(
            f"Largest difference of any weight, formula against `attend`: **{same.float64:.1e}** "
            f"in float64, **{same.float32:.1e}** in float32, in which models train (where scores "
            "are large, their own rounding)."
        )
        if same.undefined:
            draw_warning(
                f"At {same.undefined} of {_PLACES} places the formula is 0/0, since every kernel "
                "value is below the least number there is. `attend` takes the largest score off "
                "first and still answers.",
                icon=":material/exposure_zero:",
            )
    st.markdown(
        "**Keys of one norm.** Dot products see angles and lengths, Gaussian scores distances. "
        "With all keys of one norm r they say the same:"
    )
    st.latex(
        r"-\frac{\lVert q - k_i \rVert^2}{2h^2} = \frac{q \cdot k_i}{h^2} - "
        r"\frac{\lVert q \rVert^2 + r^2}{2h^2}"
    )
    st.markdown(
        "The last term is the same for every key of a query, and a softmax does not see what all "
        "its scores have in common: Gaussian attention is dot-product attention with scale 1/h². "
        "Here the points of the line are bent onto half a circle, where every key has norm 1:"
    )
    low, high = float(x.min()), float(x.max())
    bandwidth = curve.bandwidth * np.pi / (high - low)
    on_one = dot_product(on_circle(curve.at, low, high), on_circle(x[:, 0], low, high), bandwidth)
    straight = dot_product(curve.at[:, None], x, curve.bandwidth)
    nearest = np.argsort(-on_one.gaussian[curve.place])[:5]
    here = (curve.place, nearest)
    table = pd.DataFrame(
        {
            "key xᵢ": x[nearest, 0],
            "Gaussian score": on_one.gaussian[here],
            "q · kᵢ / h²": on_one.dot[here],
            "difference": on_one.dot[here] - on_one.gaussian[here],
            "weight, Gaussian": on_one.gaussian_pattern[here],
            "weight, dot product": on_one.dot_pattern[here],
        }
    )
    with st.container(key="one_norm"):
        st.dataframe(
            table,
            hide_index=True,
            width="stretch",
            column_config={
                name: st.column_config.NumberColumn(format="%.6f" if "weight" in name else "%.4f")
                for name in table
            },
        )
        st.markdown(
            f"The five keys nearest to the query x = {curve.query:.3f}. Over all queries and keys "
            f"the two patterns differ by at most **{on_one.pattern_difference:.1e}**, and within a "
            f"query the difference of the scores varies by {on_one.constant_error:.1e}. On the "
            f"straight line, where norms differ, the patterns differ by up to "
            f"**{straight.pattern_difference:.2f}**."
        )
