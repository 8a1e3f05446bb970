"""Figures of a process that were estimated to be quick, enumerated for those who wait."""

from functools import partial

import streamlit as st

from attnlab.generators import AbstractGenerator
from attnlab.live.background import Background
from attnlab.optimum import Optimum
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.process_figures import enumerate_exactly
from attnlab.ui.core.session_work import draw_while_working, draw_work_buttons, session_work

_WORK, _PLAN = "enumeration", "enumeration_plan"


def draw_enumeration(generator: AbstractGenerator, length: int, best: Optimum | None) -> None:
    """Below estimated figures: a button that has them enumerated, if that is possible at all."""
    plan = (generator, length)
    if st.session_state.get(_PLAN) != plan:
        session_work().forget(_WORK)
        st.session_state[_PLAN] = plan
    if best is None or best.exact:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        draw_work_buttons(
            _WORK,
            "Enumerate exactly",
            start="enumerate_start",
            stop="enumerate_stop",
            on_start=partial(
                session_work().start, _WORK, partial(enumerate_exactly, generator, length)
            ),
        )
        draw_while_working(_WORK, _draw_work)


def _draw_work(work: Background | None) -> None:
    if work is None:
        st.caption("These figures are estimated from a sample, which is quick.")
        return
    state = work.state()
    with st.container(key="enumeration_status"):
        if state.error:
            draw_error(f"The enumeration ended by an error. {state.error}")
        elif state.done:
            st.caption("There are too many belief states to enumerate; the estimates stand.")
        elif state.running:
            st.caption(f":material/hourglass_top: {state.message or f'running: {state.latest} …'}")
        else:
            st.caption(f"stopped {state.message}")
