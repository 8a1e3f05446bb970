"""What the server's environment says: whether strangers share it, and how many train at once.

`ATTNLAB_HOSTED=1` sets the limits of a shared server. `ATTNLAB_TRAININGS` is how many runs train
at the same time; without it a hosted server leaves one of its cores to the pages, and a machine
of one's own has no limit.
"""

import math
import os

import streamlit as st

from attnlab.configuration.environment import check_devices, read_count
from attnlab.live.queueing import WorkQueue
from attnlab.training.limits import HOSTED, OPEN, Limits
from attnlab.ui.core.memory import bytes_of_server, memory
from first_paint.hosting import hosted


def environment_problem() -> str:
    """Return what of the server's environment stops every page, or nothing."""
    try:
        _places()
        bytes_of_server()
        check_devices()
    except ValueError as error:
        return str(error)
    return ""


def limits() -> Limits:
    """The limits of every run on this server."""
    return HOSTED if hosted() else OPEN


@st.cache_resource(show_spinner=False)
def work_queue() -> WorkQueue:
    """The one queue in which all runs of this server stand."""
    return WorkQueue(
        _places(),
        seconds=limits().seconds,
        patience=limits().patience,
        is_full=(lambda: memory().is_full) if hosted() else (lambda: False),
    )


def _places() -> float:
    usual = max(1, (os.cpu_count() or 1) - 1) if hosted() else math.inf
    return read_count("ATTNLAB_TRAININGS") or usual
