"""The test of whole targets, worked out once for a model whichever page asks."""

from collections.abc import Callable, Iterator
from functools import partial

import jax.numpy as jnp
import numpy as np
import streamlit as st

from attnlab.generators import AbstractTask
from attnlab.inspection.targets import TargetTest, check_targets
from attnlab.live.background import Background
from attnlab.models import AbstractModel
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.session_work import draw_while_working, session_work

_WORK, _MODEL = "target_test", "target_test_model"


def draw_target_test(
    task: AbstractTask,
    model: AbstractModel,
    test: np.ndarray,
    draw: Callable[[TargetTest], None],
) -> None:
    """`draw` of the figures when they are there; until then, that they are worked out."""
    # The model itself is kept, since the identity of one that is gone may be given again.
    if st.session_state.get(_MODEL) is not model:
        st.session_state[_MODEL] = model
        session_work().start(_WORK, partial(_checked, task, model, test))
    draw_while_working(_WORK, partial(_draw, draw=draw))


def _checked(task: AbstractTask, model: AbstractModel, test: np.ndarray) -> Iterator[TargetTest]:
    yield check_targets(task, model, jnp.asarray(test))


def _draw(work: Background | None, *, draw: Callable[[TargetTest], None]) -> None:
    state = work.state()
    if state.error:
        draw_error(f"The test of whole targets ended by an error. {state.error}")
    elif state.latest is None:
        st.caption(f":material/hourglass_top: {state.message or 'Working out the exact match …'}")
    else:
        draw(state.latest)
