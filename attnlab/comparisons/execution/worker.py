"""A run as a worker is asked for it and answers: in plain values."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from attnlab.comparisons.execution.one_run import carry_out
from attnlab.configuration.options import default_of
from attnlab.runs.result import Result, result_of
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, from_json
from attnlab.training.steps import Training


class Answer(NamedTuple):
    """A result as it travels between processes: the run as the bytes of a run file."""

    state: str
    evaluation: tuple[float, ...] | None
    seconds: float
    reason: str
    run: bytes
    exact_match: float | None = None


def shared_program(experiment: Experiment) -> Experiment:
    """Equal for experiments that differ in seed and learning rate alone, and share a program."""
    rate = default_of(Training, "learning_rate")
    training = dataclasses.replace(experiment.training, learning_rate=rate)
    return dataclasses.replace(experiment, training=training, seed=default_of(Experiment, "seed"))


def by_program(experiments: Sequence[Experiment]) -> list[Experiment]:
    """The experiments, those of one program after another: a process compiles it once."""
    groups: dict[Experiment, list[Experiment]] = {}
    for experiment in experiments:
        groups.setdefault(shared_program(experiment), []).append(experiment)
    return [experiment for group in groups.values() for experiment in group]


def carry_out_text(text: str) -> Answer:
    """As `carry_out`, of an experiment as JSON. What a worker process is asked to call."""
    result = carry_out(from_json(text))
    evaluation = None if result.evaluation is None else tuple(result.evaluation)
    run = to_bytes(result.run)
    figures = result.seconds, result.reason, run, result.exact_match
    return Answer(result.state, evaluation, *figures)


def result_from(answer: Answer) -> Result:
    """The result that a worker gave."""
    evaluation = None if answer.evaluation is None else Evaluation(*answer.evaluation)
    run = from_bytes(answer.run)
    return result_of(
        run,
        answer.state,
        evaluation,
        answer.seconds,
        reason=answer.reason,
        exact_match=answer.exact_match,
    )
