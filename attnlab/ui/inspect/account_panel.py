"""Inspect: what became of the attention, in a sentence."""

import numpy as np
import streamlit as st
from jaxtyping import Bool

from attnlab.configuration.number_text import show_percent
from attnlab.inspection import Comparison
from attnlab.optimum import Dependence, informative_positions
from attnlab.training.experiment import Experiment
from attnlab.ui.inspect.view import View


def draw_account(experiment: Experiment, found: Comparison, true: Dependence, view: View) -> None:
    """How much of the attention that makes the prediction goes to the days that matter."""
    informative = informative_positions(true)
    if not found.attention or not informative.any():
        return
    attention, attends = view.of(found.attention)
    days = ", ".join(str(day + 1) for day in np.flatnonzero(informative))
    with st.container(key="account"):
        st.markdown(
            f"**{show_percent(attends[-1][informative].sum())}** of the attention in this sequence "
            f"goes to the days that the prediction truly depends on ({days}). By chance it would "
            f"be {show_percent(evenly(np.asarray(attention.mask[-1]), informative))}."
        )


def evenly(unmasked: Bool[np.ndarray, " key"], informative: Bool[np.ndarray, " key"]) -> float:
    """Return the share on `informative` keys of attention spread evenly over the unmasked ones."""
    return float((informative & unmasked).sum() / max(unmasked.sum(), 1))
