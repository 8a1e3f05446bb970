"""The compiled programs of a run, made ready before it is started."""

import dataclasses
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Int

from attnlab.configuration.options import default_of
from attnlab.live.answers import Answers
from attnlab.live.starting_point import without_course
from attnlab.models.inside import mean_trace, trace_of
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import PROBES, Experiment, prepare, source_of, starting_form
from attnlab.training.steps import TrainState, advance, as_compiled

_MOST_SHAPES = 8


class Programs:
    """Compiles what experiments need, two programs at a time, in the background.

    Compiled programs belong to the process and serve every run whose shapes fit. Before those of
    a ninth shape are made all are dropped, since each shape's hold some 30 MB; a run that still
    trains then compiles its own anew.
    """

    def __init__(self):
        self._answers = Answers(
            workers=2, most=_MOST_SHAPES * len(_COMPILE), renew=jax.clear_caches
        )
        self._wanted: Experiment | None = None

    def want(self, experiment: Experiment) -> None:
        """Begin with the programs of an experiment that is likely to be run.

        What was wanted before and nobody has begun with is given up.
        """
        shapes = _shapes_of(experiment)
        before, self._wanted = self._wanted, shapes
        if before is not None and before != shapes:
            for question in _COMPILE:
                self._answers.withdraw(*_question(question, before))
        self._ask(shapes, _COMPILE)

    def ask_for(self, experiment: Experiment) -> None:
        """Begin with the programs of an experiment that is being run."""
        self._ask(_shapes_of(experiment), _COMPILE)

    def wait_for(self, experiment: Experiment) -> None:
        """Return when they are ready. Raises what compiling them raised."""
        self._wait_for(experiment, _COMPILE)

    def wait_to_begin(self, experiment: Experiment) -> None:
        """As `wait_for`, of what comes before the first step alone."""
        self._wait_for(experiment, _COMPILE_BEGINNING)

    def _wait_for(self, experiment: Experiment, needed: tuple[Callable, ...]) -> None:
        shapes = _shapes_of(experiment)
        while True:
            try:
                for future in self._ask(shapes, needed):
                    future.result()
                return
            except CancelledError:
                # Given up on behalf of somebody else, who had wanted the same.
                continue

    def _ask(self, shapes: Experiment, needed: tuple[Callable, ...]) -> list[Future]:
        return [self._answers.ask(*_question(make, shapes)) for make in needed]


def _shapes_of(experiment: Experiment) -> Experiment:
    """The experiment with everything at its default that no program depends on."""
    training, seed = as_compiled(experiment.training), default_of(Experiment, "seed")
    return dataclasses.replace(experiment, training=training, seed=seed)


def _question(make: Callable, shapes: Experiment) -> tuple[Callable, Experiment]:
    """What is asked for: but for the steps they are the same whatever the course of the run."""
    return make, without_course(shapes) if make in _WHATEVER_THE_COURSE else shapes


def _compile_steps(experiment: Experiment) -> None:
    training = experiment.training
    source = source_of(experiment, _blank_sequences(training.train_size, experiment.length + 1))
    advance(_blank_state(experiment), source, training, key=jax.random.key(0), steps=0)


def _compile_drawing(experiment: Experiment) -> None:
    prepare(experiment)


def _compile_looks(experiment: Experiment) -> None:
    training, model = experiment.training, _blank_state(experiment).model
    test = _blank_sequences(training.test_size, experiment.length + 1)
    given = experiment.generator.given()
    evaluate(model, test, readout=training.readout, given=given)
    mean_trace(model, _blank_sequences(PROBES, experiment.length))


def _compile_trace_of_one(experiment: Experiment) -> None:
    # Of NumPy, as the page has it.
    trace_of(_blank_state(experiment).model, np.zeros(experiment.length, np.int32))


# A run that begins has something to show before the training program, the largest, is there. What
# is shown only when it is chosen comes last.
_COMPILE_BEGINNING = (_compile_drawing, _compile_looks)
_COMPILE = (*_COMPILE_BEGINNING, _compile_steps, _compile_trace_of_one)
_WHATEVER_THE_COURSE = (*_COMPILE_BEGINNING, _compile_trace_of_one)


# Blank weights and data have the shapes of the real ones, and are there before them. They are
# filled by NumPy, since JAX would compile a program for every shape.
def _blank_state(experiment: Experiment) -> TrainState:
    return jax.tree.map(
        lambda leaf: _zeros(leaf) if _is_shape(leaf) else leaf,
        starting_form(experiment),
        is_leaf=_is_shape,
    )


def _blank_sequences(size: int, days: int) -> Int[Array, "size days"]:
    return _zeros(jax.ShapeDtypeStruct((size, days), np.int32))


def _zeros(form: jax.ShapeDtypeStruct) -> Array:
    return jax.device_put(np.zeros(form.shape, form.dtype))


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)
