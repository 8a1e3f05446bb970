"""How long runs will take, before they begin: a rough guess from the work they ask for."""

import functools
from collections.abc import Iterable

from attnlab.comparisons.execution.worker import shared_program
from attnlab.training.experiment import Experiment
from attnlab.training.limits import work

# Measured on two cores of 2026, from an empty cache of programs; other machines differ by factors,
# and so do models: what a multiplication costs depends on the sizes that are multiplied.
_SECONDS_A_PROGRAM = 3.0
_SECONDS_A_RUN = 0.2
_MULTIPLICATIONS_A_SECOND = 2e9


def seconds_of(experiments: Iterable[Experiment]) -> float:
    """About how many seconds the runs take one after another, programs to be compiled included.

    3 s a program, 0.2 s a run, and the multiplications of `work` at 2·10⁹ a second. Right to a
    factor of about 3 on one machine, and by how far it was off for some runs says more of others.
    """
    programs, seconds = set(), 0.0
    for experiment in experiments:
        programs.add(shared_program(experiment))
        seconds += _SECONDS_A_RUN + _work_of(shared_program(experiment)) / _MULTIPLICATIONS_A_SECOND
    return seconds + _SECONDS_A_PROGRAM * len(programs)


# Tracing the size of a model takes a hundredth of a second.
@functools.lru_cache(maxsize=4_096)
def _work_of(program: Experiment) -> float:
    return work(program)
