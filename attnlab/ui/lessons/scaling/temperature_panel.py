"""A softmax of logits that can be edited, divided by a temperature."""

import numpy as np
import streamlit as st

from attnlab.charts import softmax_chart, softmax_table
from attnlab.configuration.number_text import read_numbers
from attnlab.configuration.options import OptionError
from attnlab.lessons.saturation import patterns, saturation, verdict
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.controls.last_good import or_last_good
from attnlab.ui.core.fragments import fragment
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark

_VECTOR = "0.1, -0.2, 0.3, -0.2, 0.5"
_PRESETS = {
    "the vector": _VECTOR,
    "8 × the vector": "0.8, -1.6, 2.4, -1.6, 4.0",
    "all alike": "1, 1, 1, 1, 1, 1, 1, 1",
    "one impossible": "2, 1, -inf, 0",
    "huge": "10000, 9999, 0, -10000",
}
_MOST = 32


# A fragment, so that its controls draw nothing else anew.
@fragment
def draw_temperature() -> None:
    """Logits and temperature; their softmax as bars, and its figures."""
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key="logit_presets"
    ):
        for number, (name, text) in enumerate(_PRESETS.items()):
            st.button(name, key=f"logits_{number}", on_click=_fill, args=(text,))
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="top")
    with left:
        text = linked(
            st.text_input,
            "logits",
            _VECTOR,
            key="logits",
            max_chars=400,
            help=f"Up to {_MOST} numbers with spaces or commas between them. -inf is a key that "
            "cannot be attended to.",
        )
        fault = st.container()
    with right:
        temperature = linked(
            st.slider, "temperature", 0.05, 5.0, 1.0, 0.05, key="temperature_of_logits"
        )
    found = None
    try:
        found = read_logits(text)
    except OptionError as error:
        with fault:
            draw_error(f"{error} The last valid logits are shown.")
    logits = or_last_good(found, read_logits(_VECTOR), key="last_logits")
    _draw_softmax(np.array(logits, dtype=np.float32), temperature)


def _fill(text: str) -> None:
    st.session_state["logits"] = text


def read_logits(text: str) -> tuple[float, ...]:
    """Numbers of a text; refused: none that is finite, more than 32, NaN and +inf."""
    logits = read_numbers("logits", text, (0.1, 0.2))
    if len(logits) > _MOST:
        raise OptionError("logits", len(logits), f"more than {_MOST} numbers", "Leave some out")
    for logit in logits:
        # -inf is welcome: an impossible key.
        if not logit < np.inf:
            raise OptionError("logits", logit, "a softmax of it is not defined", "Use -inf or less")
        if np.isfinite(logit) and abs(logit) > 1e6:
            raise OptionError("logits", logit, "beyond a million", "Use smaller numbers")
    if not np.isfinite(logits).any():
        raise OptionError("logits", text, "no key can be attended to", "Give a finite number too")
    return logits


def _draw_softmax(logits: np.ndarray, temperature: float) -> None:
    everything = np.ones(len(logits), dtype=bool)
    weights, at_one = patterns(np.stack([logits / np.float32(temperature), logits]), everything)
    figures = saturation(weights, np.isfinite(logits))
    finite = logits[np.isfinite(logits)].astype(np.float64)
    left, right = st.columns([3, 2], gap="medium")
    with left, st.container(key="chart_softmax"):
        draw_chart(
            softmax_chart(
                softmax_table(logits, weights, at_one),
                keys=len(logits),
                dark=on_dark(),
                height=260,
            ),
            name="Softmax of the logits",
            alt=f"Softmax of {len(logits)} logits at temperature {temperature:g}: key "
            f"{int(weights.argmax()) + 1} has the largest weight, {figures.largest:.4f}.",
        )
    with right, st.container(key="softmax_figures"):
        with st.container(horizontal=True, gap="medium"):
            st.metric("entropy (nats)", f"{figures.entropy:.4f}", width="content")
            st.metric(
                "effective keys", f"{figures.effective:.3f}", width="content", help="exp(entropy)"
            )
            st.metric("largest weight", f"{figures.largest:.4f}", width="content")
        with st.container(horizontal=True, gap="medium"):
            variance = finite.var(ddof=1) / temperature**2 if finite.size > 1 else 0.0
            st.metric(
                "variance of the logits",
                f"{variance:.4f}" if variance < 1e4 else f"{variance:.3e}",
                width="content",
                help="Of the finite ones, divided by the temperature; with n - 1 in the divisor.",
            )
            st.metric(
                "nuclear norm of the softmax Jacobian", f"{figures.jacobian:.4f}", width="content"
            )
            word = verdict(float(figures.surviving)) if finite.size > 1 else "one key"
            st.metric("this softmax is", word, width="content")
    st.caption(
        "How to read it: each bar is a key's weight, softmax(logits / temperature); the grey "
        "tick is its weight at temperature 1. Effective keys, exp(entropy), is the number of "
        "equally weighted keys that would have the same entropy."
    )
