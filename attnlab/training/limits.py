"""How much one experiment may ask of the machine it runs on."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attnlab.configuration.options import OptionError, options_of
from attnlab.models import parameter_count
from attnlab.training.experiment import Experiment, starting_form

# Multiplications of forward passes that a core makes, with their gradients, in about a second.
_WORK_A_SECOND, _MOST_AT_ONCE = 1e9, 100
_ELSEWHERE = "or run attnlab on a machine of your own, where the cap is higher"


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a run may ask for at most, beside the bounds that options have of their own.

    `caps` holds the most for options of these names, wherever in an experiment they stand; `work`
    is the most of `work(experiment)`, and `step_work` the most of it in one step, whose memory
    grows with it. `runs` is how many are compared at most. `seconds` is how long a run trains
    before it makes way for others, and `patience` how many seconds it goes on without a viewer.
    """

    caps: Mapping[str, int] = dataclasses.field(default_factory=dict)
    work: float = math.inf
    step_work: float = math.inf
    runs: float = math.inf
    seconds: float = math.inf
    patience: float = math.inf


# On a machine of one's own.
OPEN = Limits()
# On a machine that strangers share: a run of the most work takes a few minutes on one core.
HOSTED = Limits(
    caps=MappingProxyType(
        {
            "length": 32,
            "d_attn": 64,
            "d_model": 64,
            "layers": 4,
            "heads": 8,
            "mlp_width": 256,
            "hidden_size": 64,
            "batch": 1_000,
            "steps": 20_000,
            "train_size": 20_000,
            "test_size": 20_000,
        }
    ),
    work=5e11,
    step_work=4e9,
    runs=100,
    seconds=120.0,
    patience=60.0,
)


def check_limits(experiment: Experiment, limits: Limits) -> None:
    """Raise `OptionError` for the first option above its cap, or for too much work in all."""
    for name, value in _options_in(experiment):
        check_limit(name, value, limits)
    check_work(experiment, limits)


def check_work(experiment: Experiment, limits: Limits, *, runs: int = 1) -> None:
    """Raise `OptionError` if `runs` runs like this one ask for too much work in all."""
    # Without a cap the size of the model need not be known, which takes a moment to trace.
    if limits.work == math.inf:
        return
    asked, steps = runs * work(experiment), experiment.training.steps
    a_step = work(experiment) / steps
    if a_step > limits.step_work:
        batch = experiment.training.batch
        raise OptionError(
            "batch",
            batch,
            f"at these sizes about {a_step:.1e} multiplications a step, more than the cap of "
            f"{limits.step_work:.1e} on this server",
            f"Choose at most {int(batch * limits.step_work / a_step):,}, a smaller model, "
            f"{_ELSEWHERE}",
        )
    if asked > limits.work:
        most = int(steps * limits.work / asked)
        fewer = f"at most {most:,} steps, " if most else ""
        raise OptionError(
            "steps",
            steps,
            f"at these sizes about {asked:.1e} multiplications, more than the cap of "
            f"{limits.work:.1e} on this server",
            f"Choose {fewer}{'fewer runs, ' if runs > 1 else ''}a smaller model or batch, "
            f"{_ELSEWHERE}",
        )


def check_comparison(experiments: Sequence[Experiment], limits: Limits, *, seeds: int) -> None:
    """Raise `OptionError` for too many runs, or too much work in all, of each with `seeds` seeds.

    What one of them asks for by itself is left to `check_limits`.
    """
    runs, remedy = len(experiments) * seeds, f"Choose fewer values or seeds, {_ELSEWHERE}"
    if runs > limits.runs:
        problem = f"more than the cap of {limits.runs:,} on this server"
        raise OptionError("runs", runs, problem, remedy)
    if limits.work < math.inf:
        asked = seeds * sum(map(work, experiments))
        if asked > limits.work:
            problem = (
                f"together about {asked:.1e} multiplications, more than the cap of "
                f"{limits.work:.1e} on this server"
            )
            raise OptionError("runs", runs, problem, remedy)


def check_limit(name: str, value: Any, limits: Limits) -> None:
    """Raise `OptionError` if the option of that name has a cap and the value is above it."""
    cap = limits.caps.get(name)
    if cap is not None and value > cap:
        raise OptionError(
            name,
            value,
            f"more than the cap of {cap:,} on this server",
            f"Choose at most {cap:,}, {_ELSEWHERE}",
        )


def work(experiment: Experiment) -> float:
    """About how many multiplications a run's forward passes take: steps × batch × one sequence."""
    training = experiment.training
    batch = training.train_size if training.batch_mode == "full" else training.batch
    of_a_sequence = experiment.model.work(
        vocab=experiment.generator.vocabulary.size,
        length=experiment.length,
        parameters=parameter_count(starting_form(experiment).model),
    )
    # The model's own predictions take a pass of their own.
    passes = 2 if training.scheduled_sampling else 1
    return training.steps * batch * passes * of_a_sequence


def steps_at_once(experiment: Experiment) -> int:
    """Return how many steps of a run to compute in one call, which ends before a stop is heard.

    That is about a second of them, and at most 100.
    """
    a_step = work(experiment) / experiment.training.steps
    return max(1, min(_MOST_AT_ONCE, int(_WORK_A_SECOND / max(a_step, 1.0))))


def _options_in(configuration: Any) -> Iterator[tuple[str, Any]]:
    """Every option with its value, those of nested configurations included."""
    for name in options_of(configuration):
        value = getattr(configuration, name)
        if dataclasses.is_dataclass(value):
            yield from _options_in(value)
        else:
            yield name, value
