"""Training with attention heads held at given patterns, from the first step or from a later one."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from attnlab.configuration.options import OptionError, present
from attnlab.generators import AbstractGenerator
from attnlab.models import Edit, edited, parameter_count
from attnlab.models.inside import in_proportion, removed
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.loop import Event, run
from attnlab.training.steps import CHUNK_CAPACITY, TrainState, advance, initial_state

SOURCES, PREVIOUS, OFF = "true sources", "previous token", "off"
CLAMPS = (SOURCES, PREVIOUS, OFF)


class _Held(eqx.Module):
    """A pattern of `CLAMPS` as a function of one-hot visible tokens. It has no arrays to train."""

    process: AbstractGenerator = eqx.field(static=True)
    at: str = eqx.field(static=True)

    def __call__(self, one_hot: Float[Array, "length vocab"]) -> Float[Array, "length length"]:
        past = jnp.tri(len(one_hot), dtype=bool)
        if self.at == OFF:
            return removed(past)
        if self.at == PREVIOUS:
            return in_proportion(past, jnp.eye(len(one_hot), k=-1))
        tokens = jnp.argmax(one_hot, axis=1)
        return in_proportion(past, present(self.process.true_sources(tokens)).astype(jnp.float32))


def clamp(experiment: Experiment, *, layer: int, head: int, at: str) -> Edit:
    """Return the edit that holds one head of a causal model at a pattern.

    Args:
        experiment: The experiment, whose process defines the true sources.
        layer: Layer of the head, counted from 0.
        head: The head in that layer, counted from 0.
        at: `true sources`: equal attention to the positions that the next token is read from.
            `previous token`: all attention on the token before. `off`: none, so that the head's
            output is 0. A query without such a position attends equally to all that it sees.

    Raises:
        OptionError: If `at` is no such pattern, or the process does not define true sources.
    """
    process = experiment.generator
    if at not in CLAMPS:
        raise OptionError("at", at, "not a pattern", f"Choose one of {', '.join(CLAMPS)}")
    if at == SOURCES and process.true_sources(jnp.zeros(experiment.length, jnp.int32)) is None:
        problem = f"the process '{process.name}' does not define them"
        raise OptionError("at", at, problem, f"Choose '{PREVIOUS}' or '{OFF}'")
    return Edit(layer, head, _Held(process, at))


def run_clamped(experiment: Experiment, *edits: Edit, step: int = 0) -> Iterator[Event]:
    """Train like `run`, with the edits applied in every forward pass from `step` on.

    Tests apply them too, and no gradient reaches them. The steps before are those of `run` and
    yield nothing.

    Args:
        experiment: The experiment.
        edits: Such as those of `clamp`. Their patterns are functions.
        step: The number of steps before the edits are applied.

    Raises:
        OptionError: If `step` is not before the last step, or an edit has arrays.

    References:
        Singh et al. (2024), "What needs to go right for an induction head?".

    >>> from attnlab import Experiment, Training
    >>> from attnlab.training.clamp import clamp, run_clamped
    >>> experiment = Experiment(training=Training(steps=3, train_size=100, test_size=100))
    >>> off = clamp(experiment, layer=0, head=0, at="off")
    >>> [type(event).__name__ for event in run_clamped(experiment, off)][:2]
    ['EvaluationEvent', 'Progress']
    """
    training, setup = experiment.training, prepare(experiment)
    if not 0 <= step < training.steps:
        remedy = f"Choose a step from 0 to {training.steps - 1:,}"
        raise OptionError("step", step, f"the run has {training.steps:,} steps", remedy)
    state = setup.state
    while (left := step - int(state.step)) > 0:
        steps = min(left, CHUNK_CAPACITY)
        state, _ = advance(state, setup.source, training, key=setup.key, steps=steps)
    model = edited(state.model, *edits)
    if parameter_count(model) != parameter_count(state.model):
        problem = "their arrays would be trained"
        raise OptionError("edits", len(edits), problem, "Give functions, as `clamp` does")
    # Edits without arrays leave the optimiser's leaves as they are, under other names.
    form = jax.tree.structure(initial_state(model, training).optimiser)
    optimiser = jax.tree.unflatten(form, jax.tree.leaves(state.optimiser))
    yield from run(experiment, TrainState(model, optimiser, state.step), setup=setup)
