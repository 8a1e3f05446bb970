"""The compiled programs of a run, made ready before it is started."""

import dataclasses
from concurrent.futures import CancelledError, Future
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp

from attnlab.answers import Answers
from attnlab.experiment import PROBES, Experiment, build_model, prepare, source_of
from attnlab.history import take_picture
from attnlab.options import default_of
from attnlab.training import Training, advance, evaluate, initial_state


class Programs:
    """Compiles what experiments need, two programs at a time, in the background.

    Compiled programs belong to the process and serve every run whose shapes fit.
    """

    def __init__(self):
        self._answers = Answers(workers=2)
        self._wanted: Experiment | None = None

    def want(self, experiment: Experiment) -> None:
        """Begin with the programs of an experiment that is likely to be run.

        What was wanted before and nobody has begun with is given up.
        """
        shapes = _shapes_of(experiment)
        before, self._wanted = self._wanted, shapes
        if before is not None and before != shapes:
            for question in (_compile_drawing, _compile_training):
                self._answers.withdraw(question, before)
        self._ask(shapes)

    def wait_for(self, experiment: Experiment) -> None:
        """Return when they are ready. Raises what compiling them raised."""
        shapes = _shapes_of(experiment)
        while True:
            try:
                for future in self._ask(shapes):
                    future.result()
                return
            except CancelledError:
                # Given up on behalf of somebody else, who had wanted the same.
                continue

    def _ask(self, shapes: Experiment) -> list[Future]:
        return [self._answers.ask(make, shapes) for make in (_compile_training, _compile_drawing)]


def _shapes_of(experiment: Experiment) -> Experiment:
    """The experiment with everything at its default that no program depends on."""
    free = {name: default_of(Training, name) for name in ("learning_rate", "steps")}
    training = dataclasses.replace(experiment.training, **free)
    return dataclasses.replace(experiment, training=training, seed=default_of(Experiment, "seed"))


def _compile_drawing(experiment: Experiment) -> None:
    prepare(experiment)


def _compile_training(experiment: Experiment) -> None:
    # Blank weights and data have the shapes of the real ones, and are there before them.
    training, days = experiment.training, experiment.length + 1
    state = initial_state(_blank(eqx.filter_eval_shape(partial(build_model, experiment))))
    train_set = jnp.zeros((training.train_size, days), dtype=jnp.int32)
    source = source_of(experiment, train_set)
    advance(state, source, training, key=jax.random.key(0), steps=0)
    test = jnp.zeros((training.test_size, days), dtype=jnp.int32)
    evaluate(state.model, test, readout=training.readout)
    take_picture(state.model, jnp.zeros((PROBES, experiment.length), dtype=jnp.int32))


def _blank(form):
    return jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if _is_shape(leaf) else leaf,
        form,
        is_leaf=_is_shape,
    )


def _is_shape(leaf):
    return isinstance(leaf, jax.ShapeDtypeStruct)
