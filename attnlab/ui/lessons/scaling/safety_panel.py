"""Scores that break a plain softmax, and what attnlab's returns."""

import numpy as np
import streamlit as st

from attnlab.lessons.saturation import CASES, Answer, answer


def draw_safety() -> None:
    """A list of cases, computed now, each with the reason for its answer."""
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
        "How to read it: three scores, and what comes back, computed in float32 as you look. The "
        "plain softmax is exp(s) / Σ exp(s) as it is written; `nan` is not a number. In "
        "[brackets]: a masked key."
    )


@st.cache_data(show_spinner=False)
def _answers() -> list[Answer]:
    return [answer(case) for case in CASES]


def _numbers(values, unmasked=None) -> str:
    texts = [f"{value:,.5g}".replace("-", "−") for value in np.asarray(values, dtype=float)]
    if unmasked is not None:
        texts = [t if seen else f"[{t}]" for t, seen in zip(texts, unmasked, strict=True)]
    return " · ".join(texts)
