"""Additional metrics and checkpoints of every run, requested by the caller of `run_all`."""

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from attnlab.configuration.cancellation import Stopped
from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import AttnlabError, OptionError, quoted
from attnlab.models import AbstractModel, parameter_count
from attnlab.registering import at_path, path_of
from attnlab.runs.history import MOST_CHECKPOINTS, MOST_NUMBERS
from attnlab.runs.run_summary import FIGURES
from attnlab.training.experiment import Setup
from attnlab.training.loop import EvaluationPlan
from attnlab.training.measure import Estimate

Metric = Callable[[AbstractModel, Setup], Estimate | float | None]

_TESTS = 24
# For messages of errors that are not attnlab's.
_MOST_CHARACTERS = 300


def sparse_plan(steps: int) -> EvaluationPlan:
    """Return about 24 log-spaced tests from step 0 to the last; only the last model is kept."""
    spaced = np.rint(np.geomspace(1, steps, min(_TESTS - 1, steps))).astype(int).tolist()
    return EvaluationPlan(tests=tuple(sorted({0, *spaced, steps})), checkpoints=(steps,))


@dataclasses.dataclass(frozen=True)
class Recording:
    """Metrics to measure during a run, and the steps at which its model is kept.

    Attributes:
        metrics: Functions of a model and `prepare(experiment)`, by name.
        checkpoints: Steps, besides the last one, at which metrics are measured and the model is
            kept; steps after the last one are ignored. None: metrics are measured at every test,
            and only the last model is kept.

    Raises:
        OptionError: For a metric that is not a function or has the name of a result, and for steps
            that are not whole numbers from 0.
    """

    metrics: Mapping[str, Metric] = dataclasses.field(default_factory=dict)
    checkpoints: Sequence[int] | None = None

    def __post_init__(self):
        for name, metric in self.metrics.items():
            if not callable(metric) or not name or name in FIGURES:
                problem = "not a function, or named like a result that every run has"
                raise OptionError("metrics", name, problem, "Name a function `f(model, setup)`")
        if self.checkpoints is not None:
            steps = tuple(sorted(set(self.checkpoints)))
            whole = all(isinstance(step, int | np.integer) and step >= 0 for step in steps)
            # The last step may be added.
            if not whole or len(steps) >= MOST_CHECKPOINTS:
                problem = f"not up to {MOST_CHECKPOINTS - 1} whole numbers from 0"
                raise OptionError("checkpoints", steps, problem, "Try (0, 10, 100)")
            object.__setattr__(self, "checkpoints", tuple(map(int, steps)))

    def plan(self, model: AbstractModel, steps: int) -> EvaluationPlan:
        """Return the steps at which a run of `steps` steps is tested and its model is kept.

        Raises:
            OptionError: If a run file cannot hold that many models of this size.
        """
        usual, size = sparse_plan(steps), parameter_count(model)
        if self.checkpoints is None:
            return usual
        kept = tuple(sorted({*(step for step in self.checkpoints if step < steps), steps}))
        if len(kept) > 1 and len(kept) * size > MOST_NUMBERS:
            problem = f"a run file cannot hold that many models of {size:,} parameters"
            remedy = f"Choose at most {max(0, MOST_NUMBERS // size - 1)} steps, or a smaller model"
            raise OptionError("checkpoints", len(kept) - 1, problem, remedy)
        return EvaluationPlan(tuple(sorted({*usual.tests, *kept})), kept)

    def measured_at(self, plan: EvaluationPlan) -> tuple[int, ...]:
        """Return the steps of a plan at which the metrics are measured."""
        return plan.tests if self.checkpoints is None else plan.checkpoints


NOTHING = Recording()


@fixed_numerics()
def measure(
    metrics: Mapping[str, Metric], model: AbstractModel, setup: Setup, step: int
) -> dict[str, float]:
    """Return the metrics of the model after `step` steps, without those that are None.

    Raises:
        AttnlabError: If a metric fails or is an infinite number or NaN.
    """
    values = {}
    for name, metric in metrics.items():
        try:
            if (found := metric(model, setup)) is None:
                continue
            value = float(found.value if isinstance(found, Estimate) else found)
        except Stopped:
            raise
        # A user's function may raise anything; the error becomes the reason of this run's row.
        except Exception as error:
            problem = f"failed at step {step:,}: {in_words(error)}"
            raise AttnlabError(f"The metric {quoted(name)} {problem}") from error
        if not math.isfinite(value):
            problem = f"is {value} at step {step:,}. Return a finite number."
            raise AttnlabError(f"The metric {quoted(name)} {problem}")
        values[name] = value
    return values


def in_words(error: BaseException) -> str:
    """Return the type and the first 300 characters of an error that is not attnlab's."""
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"


def series_of(measured: Mapping[int, Mapping[str, float]]) -> dict[str, tuple]:
    """Return (step, value) pairs by metric, given the results of `measure` by step."""
    names = dict.fromkeys(name for of in measured.values() for name in of)
    return {
        name: tuple((step, of[name]) for step, of in measured.items() if name in of)
        for name in names
    }


# Module and name of a metric, and its keyword arguments if it is a `functools.partial`.
MetricPath = tuple[str, str, Mapping[str, Any]]


def paths_of(metrics: Mapping[str, Metric]) -> dict[str, MetricPath]:
    """Return the path of every metric, by which worker processes import it.

    Raises:
        OptionError: If a worker process cannot import one of them.
    """
    paths = {}
    for name, metric in metrics.items():
        is_partial = isinstance(metric, partial) and not metric.args
        function, keywords = (metric.func, metric.keywords) if is_partial else (metric, {})
        module, attribute = path_of(function)
        paths[name] = module, attribute, keywords
        if getattr(sys.modules.get(module), attribute, None) is not function:
            problem = "worker processes cannot import this function"
            remedy = "Define it with `def` at the top level of a module, or leave out the executor"
            raise OptionError("metrics", name, problem, remedy)
    return paths


def metrics_at(paths: Mapping[str, MetricPath]) -> dict[str, Metric]:
    """Import the metrics with these `paths_of`, in a worker process.

    Raises:
        AttnlabError: If one of them cannot be imported here.
    """
    try:
        return {
            name: partial(at_path(module, attribute), **keywords)
            for name, (module, attribute, keywords) in paths.items()
        }
    except (ImportError, AttributeError) as error:
        problem = f"A worker process cannot import a metric: {error}."
        raise AttnlabError(f"{problem} Define it in a module that all workers have.") from error
