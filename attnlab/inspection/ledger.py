"""The gap between a loss and the floor as a sum of parts, on the law of the process."""

import dataclasses
import math
from collections.abc import Iterator
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from attnlab.configuration.cancellation import check_in
from attnlab.configuration.numerics import fixed_numerics
from attnlab.models import AbstractModel
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.law import Law, evaluate_law, prepare_law, source_of_law
from attnlab.training.limits import steps_at_once
from attnlab.training.loop import EvaluationEvent, EvaluationPlan, NotFiniteError, run
from attnlab.training.optimisers import Adam, WarmUpCosine
from attnlab.training.steps import Training, TrainState, initial_state, loss_and_gradient

PARTS = MappingProxyType(
    {
        "finite data": "This run minus the same training on the law; 0 without a fixed set.",
        "optimisation": "The loss after training on the law minus that of the best weights found.",
        "family": "The best weights found minus the floor: an upper bound on the family's cost.",
    }
)
_MOST_STEPS = 100_000
# L-BFGS is restarted after this many iterations, until it gains fewer nats than this.
_ITERATIONS, _RESTARTS, _CONVERGED = 100, 10, 1e-6


class LedgerPart(NamedTuple):
    """A part of a gap, by its name in `PARTS`, in nats."""

    part: str
    nats: float


class Ledger(NamedTuple):
    """The parts of a gap, or none yet, and the share of the work that is done."""

    parts: tuple[LedgerPart, ...]
    done: float


def gap_ledger(experiment: Experiment, model: AbstractModel, *, step: int) -> Iterator[Ledger]:
    """Yield the parts of a model's expected loss minus the floor, which sum to this gap.

    Later ledgers have better weights of the family. The search begins with the lowest loss of the
    run and of the same training on the law, makes twice the steps of Adam on the law, and then
    minimises the tested loss by L-BFGS. It may miss better weights, so that the part `family` is an
    upper bound.

    Args:
        experiment: The experiment of the run, with its last settings.
        model: The model of the run after `step` steps.
        step: The number of its steps.

    Raises:
        OptionError: If the law has too many sequences: see `law_of`.
    """
    law, twin = prepare_law(experiment.generator, experiment.length), model

    def loss_of(model: AbstractModel) -> float:
        nll = evaluate_law(model, law, readout=experiment.training.readout).nll
        return nll if math.isfinite(nll) else math.inf

    if experiment.training.data == "fixed":
        yield Ledger((), 0.0)
        twin = _trained(on_law(experiment), None, step).model
    own, at_law = loss_of(model), loss_of(twin)
    best, found = min((own, model), (at_law, twin), key=lambda each: each[0])
    longer = on_law(
        experiment,
        loss="last" if law.loss_mask is None else "next",
        loss_tokens="tested",
        optimiser=Adam(),
        schedule=WarmUpCosine(),
        steps=min(2 * experiment.training.steps, _MOST_STEPS),
    )
    minimise = partial(_minimised, law, longer.training)
    searches = (partial(_trained_longer, longer), *(minimise for _ in range(_RESTARTS)))
    for number, search in enumerate(searches, 1):
        before, better = best, search(found)
        best, found = min((best, found), (loss_of(better), better), key=lambda each: each[0])
        is_last = number == len(searches) or (number > 1 and before - best < _CONVERGED)
        nats = own - at_law, at_law - best, best - law.floor
        parts = tuple(map(LedgerPart, PARTS, nats))
        yield Ledger(parts, 1.0 if is_last else number / len(searches))
        if is_last:
            return


def on_law(experiment: Experiment, **changes: Any) -> Experiment:
    """Return the experiment with the data `law`, and other `changes` of its training."""
    known = {"data": "law", "split": "independent", "scheduled_sampling": 0.0}
    training = dataclasses.replace(experiment.training, **known, **changes)
    return dataclasses.replace(experiment, training=training)


def _trained(experiment: Experiment, state: TrainState | None, step: int) -> TrainState:
    """Return the state after this step; or the last good one, if a number is not finite."""
    setup, plan = prepare(experiment), EvaluationPlan((step,), ())
    reached = setup.state if state is None else state
    try:
        events = run(experiment, state, setup=setup, chunk=steps_at_once(experiment), plan=plan)
        for event in events:
            check_in()
            if isinstance(event, EvaluationEvent):
                break
            reached = getattr(event, "state", reached)
    except NotFiniteError as error:
        return error.state
    return reached


def _trained_longer(longer: Experiment, model: AbstractModel) -> AbstractModel:
    state = initial_state(model, longer.training)
    return _trained(longer, state, longer.training.steps).model


_loss_and_gradient = eqx.filter_jit(loss_and_gradient)


@fixed_numerics()
def _minimised(law: Law, training: Training, model: AbstractModel) -> AbstractModel:
    """Return the model after some iterations of L-BFGS on the expected loss."""
    # The import takes half a second.
    from scipy.optimize import minimize

    parameters, rest = eqx.partition(model, eqx.is_array)
    start, as_parameters = ravel_pytree(parameters)
    blocks = source_of_law(law).blocks

    def at(flat: np.ndarray) -> tuple[float, np.ndarray]:
        check_in()
        of = as_parameters(jnp.asarray(flat, jnp.float32))
        (loss, _), gradient = _loss_and_gradient(of, rest, blocks, training)
        return float(loss), np.asarray(ravel_pytree(gradient)[0], np.float64)

    options = {"maxiter": _ITERATIONS, "maxcor": 20, "ftol": 0.0, "gtol": 1e-7}
    first = np.asarray(start, np.float64)
    found = minimize(at, first, jac=True, method="L-BFGS-B", options=options)
    return eqx.combine(as_parameters(jnp.asarray(found.x, jnp.float32)), rest)
