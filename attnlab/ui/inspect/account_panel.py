"""Inspect: what became of the attention, in a sentence."""

import numpy as np
import streamlit as st

from attnlab.inspection import Comparison
from attnlab.optimum import Dependence, informative_positions
from attnlab.training.experiment import Experiment
from attnlab.ui.inspect.view import View


def draw_account(experiment: Experiment, found: Comparison, true: Dependence, view: View) -> None:
    """How much of the attention that makes the prediction goes to the days that matter."""
    informative = informative_positions(true)
    if not found.attention or not informative.any():
        return
    _, attends = view.of(found.attention)
    mass, even = float(attends[-1][informative].sum()), informative.sum() / experiment.length
    days = ", ".join(str(day + 1) for day in np.flatnonzero(informative))
    with st.container(key="account"):
        st.markdown(
            f"**{mass:.0%}** of the attention that makes the prediction goes to the truly "
            f"informative days ({days}); spread evenly it would be {even:.0%}."
        )
