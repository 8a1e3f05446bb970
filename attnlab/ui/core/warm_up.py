"""What the server does when it starts, before anybody has asked for a page."""

import gc
import importlib

from attnlab.configuration.numerics import fix_numerics
from attnlab.live.live_run import LiveRun
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.compile_cache import switch_on_cache
from attnlab.ui.core.hosting import environment_problem
from attnlab.ui.core.session_run import shared_programs
from attnlab.ui.train.loss_panel import loss_drawing


def prepare_first_page() -> None:
    """Import what a page needs, and build the charts of the first one."""
    if environment_problem():
        # Pages say what it is.
        return
    # Before the first program is compiled, however small.
    fix_numerics()
    switch_on_cache()
    importlib.import_module("attnlab.ui.core.shell")
    snapshot = LiveRun(PRESETS[FIRST_PRESET].experiment).snapshot()
    for dark in (False, True):
        loss_drawing(snapshot, dark=dark)


def compile_first_experiment() -> None:
    """Begin to compile what everybody meets first."""
    if not environment_problem():
        shared_programs().want(PRESETS[FIRST_PRESET].experiment)
    # Modules and what they hold stay: later collections need not look at them.
    gc.collect()
    gc.freeze()
