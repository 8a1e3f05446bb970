"""The softmax of editable logits, and scores for which a naive softmax fails."""

import numpy as np
import streamlit as st

from attnlab.charts import softmax_chart, softmax_table
from attnlab.configuration.number_text import read_numbers
from attnlab.configuration.options import OptionError
from attnlab.lessons.saturation import CASES, answer, patterns, saturation, verdict
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import draw_button, draw_metric
from attnlab.ui.core.fragments import fragment
from attnlab.ui.lessons.kit import draw_figure, valid_or_last

_VECTOR = "0.1, -0.2, 0.3, -0.2, 0.5"
_PRESETS = {
    "example": _VECTOR,
    "8 × example": "0.8, -1.6, 2.4, -1.6, 4.0",
    "all equal": "1, 1, 1, 1, 1, 1, 1, 1",
    "one key masked": "2, 1, -inf, 0",
    "huge": "10000, 9999, 0, -10000",
}
_MOST = 32


@fragment
def draw_temperature() -> None:
    """Draw fields for logits and temperature, and the softmax with its entropy and Jacobian."""
    with st.container(horizontal=True, gap="small", key="logit_presets"):
        for number, (name, text) in enumerate(_PRESETS.items()):
            change = st.session_state.update, {"logits": text}
            draw_button(name, f"logits_{number}", None, *change)
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="top")
    with left:
        text = linked(
            st.text_input,
            "logits",
            _VECTOR,
            key="logits",
            max_chars=400,
            help=f"Up to {_MOST} numbers, separated by spaces or commas. -inf is a key that cannot "
            "be attended to.",
        )
        logits = valid_or_last(read_logits, text, _VECTOR, key="last_logits", noun="logits")
    with right:
        limits = 0.05, 5.0, 1.0, 0.05
        temperature = linked(st.slider, "temperature", *limits, key="temperature_of_logits")
    _draw_softmax(np.array(logits, dtype=np.float32), temperature)


def read_logits(text: str) -> tuple[float, ...]:
    """Return the numbers in a text; -inf is a masked key.

    Raises:
        OptionError: If there are more than 32 numbers, none is finite, or one is NaN, +inf or
            beyond ±1,000,000.
    """
    logits = read_numbers("logits", text, (0.1, 0.2))
    if len(logits) > _MOST:
        raise OptionError("logits", len(logits), f"more than {_MOST} numbers", "Leave some out")
    for logit in logits:
        if not logit < np.inf:
            raise OptionError(
                "logits", logit, "its softmax is not defined", "Use a finite number or -inf"
            )
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
    variance = finite.var(ddof=1) / temperature**2 if finite.size > 1 else 0.0
    left, right = st.columns([3, 2], gap="medium")
    draw_figure(
        left,
        "softmax",
        softmax_chart,
        softmax_table(logits, weights, at_one),
        name="Softmax of the logits",
        alt=f"Softmax of {len(logits)} logits at temperature {temperature:g}: key "
        f"{int(weights.argmax()) + 1} has the largest weight, {figures.largest:.4f}.",
        keys=len(logits),
        height=260,
    )
    with right, st.container(key="softmax_figures"):
        with st.container(horizontal=True, gap="medium"):
            draw_metric("entropy (nats)", f"{figures.entropy:.4f}")
            draw_metric(
                "effective keys",
                f"{figures.effective:.3f}",
                "exp(entropy): the number of equally weighted keys with the same entropy.",
            )
            draw_metric("largest weight", f"{figures.largest:.4f}")
        with st.container(horizontal=True, gap="medium"):
            draw_metric(
                "variance of the logits",
                f"{variance:.4f}" if variance < 1e4 else f"{variance:.3e}",
                "The variance of the finite logits after division by the temperature, with "
                "n − 1 in the denominator.",
            )
            draw_metric("nuclear norm of the softmax Jacobian", f"{figures.jacobian:.4f}")
            word = verdict(float(figures.surviving)) if finite.size > 1 else "one key"
            draw_metric("this softmax is", word)
    st.caption(
        "Each bar is a key's weight, softmax(logits / temperature). The grey tick is its weight "
        "at temperature 1."
    )


def draw_safety() -> None:
    """Draw difficult scores, the results of a naive softmax and of attnlab's, and explanations."""
    lines = []
    for case, found in zip(CASES, _answers(), strict=True):
        gradients = "finite" if np.isfinite(found.gradient).all() else "not finite"
        lines.append(
            f"- **{case.name}**: {_numbers(case.scores, case.unmasked)}\n"
            f"    - plain softmax: {_numbers(found.plain)}; "
            f"attnlab's: **{_numbers(found.ours)}**, gradients {gradients}\n"
            f"    - {case.why}"
        )
    with st.container(key="safety"):
        st.markdown("\n".join(lines))
    st.caption(
        "Each case has three scores, computed in float32; [brackets] mark a masked key. The "
        "plain softmax is exp(s) / Σ exp(s); `nan` is not a number."
    )


@st.cache_data(show_spinner=False)
def _answers() -> list:
    return [answer(case) for case in CASES]


def _numbers(values, unmasked=(True,) * 3) -> str:
    texts = (f"{value:,.5g}".replace("-", "−") for value in np.asarray(values, dtype=float))
    pairs = zip(texts, unmasked, strict=True)
    return " · ".join(text if seen else f"[{text}]" for text, seen in pairs)
