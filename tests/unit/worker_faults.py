"""Workers that do not always live; these functions are called in spawned processes."""

import os
import signal
import time
from functools import partial

from attnlab.comparisons.processes import Processes
from attnlab.training.experiment import from_json


def deadly_processes(workers, folder, *, seed, times):
    """Processes in which the run of `seed` kills its worker the first `times` times.

    `folder` is an empty one, where the deaths are counted.
    """
    pool = Processes(workers)
    pool.submit = partial(pool.submit, _die_or_call, folder, seed, times)
    return pool


def _die_or_call(folder, seed, times, function, text, *arguments):
    deaths = len(os.listdir(folder))
    if from_json(text).seed == seed and deaths < times:
        open(os.path.join(folder, str(deaths)), "x").close()
        # Time for the other worker to have begun with something.
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    return function(text, *arguments)
