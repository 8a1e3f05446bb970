"""Training as compiled chunks of steps. No threads, no files, no clock."""

import dataclasses
from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import (
    OptionError,
    Options,
    OrName,
    default_of,
    option,
    options_of,
    quoted,
)
from attnlab.models import AbstractModel
from attnlab.models.base import READOUTS
from attnlab.training.losses import LOSS_TOKENS, LOSSES, mixed_in, sequence_loss
from attnlab.training.optimisers import (
    OPTIMISERS,
    SCHEDULES,
    AbstractOptimiser,
    AbstractSchedule,
    Adam,
    Constant,
)
from attnlab.training.sources import SPLITS, AbstractSource, Example

# Maximum number of steps of a compiled chunk; longer ones would delay a response noticeably.
CHUNK_CAPACITY = 1024
# No step has this number, so other draws of a step do not affect its batch.
_BESIDE_STEPS = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Training(Options):
    """How a model is trained and tested.

    Raises `OptionError` for a full batch of fresh samples, a full batch above the cap of `batch`,
    and `scheduled_sampling` with a loss other than `next`. `scheduled_sampling` is the probability
    of `mixed_in` at the last step, to which it rises linearly from 0. Training losses are then
    computed with the mixed tokens.
    """

    name: ClassVar[str] = "training"

    loss: str = option(
        "last",
        "; ".join(f"{name}: {text}" for name, text in LOSSES.items()) + ".",
        choices=tuple(LOSSES),
    )
    readout: str = option(
        "last",
        "; ".join(f"{name}: {text}" for name, text in READOUTS.items()) + ".",
        choices=tuple(READOUTS),
    )
    optimiser: OrName[AbstractOptimiser] = option(
        Adam(), "The update rule for the weights.", registry=OPTIMISERS
    )
    # The high cap lets users see a run that diverges.
    learning_rate: float = option(
        0.005, "Step size of the optimiser.", low=1e-6, high=1000.0, logarithmic=True
    )
    schedule: OrName[AbstractSchedule] = option(
        Constant(), "The learning rate over the run.", registry=SCHEDULES
    )
    clip: float = option(
        0.0,
        "Gradient clipping: a gradient of larger norm is scaled to this norm. 0: no clipping.",
        low=0.0,
        high=1000.0,
    )
    scheduled_sampling: float = option(
        0.0,
        "For tasks: probability, at the last step, that the model reads its own prediction "
        "instead of the true target token. It rises from 0 with the steps. The training loss is "
        "computed with these tokens, the test loss with the true ones.",
        low=0.0,
        high=1.0,
    )
    batch_mode: str = option(
        "minibatch",
        "minibatch: a new random draw each step; full: the whole training set each step.",
        choices=("minibatch", "full"),
    )
    batch: int = option(100, "Number of sequences in a minibatch.", low=1, high=5_000)
    steps: int = option(500, "Number of training steps.", low=1, high=100_000)
    data: str = option(
        "fixed",
        "fixed: one training set, drawn once; fresh: new sequences every step; law: all possible "
        "sequences with their probabilities, so that loss, accuracy and gradient are exact.",
        choices=("fixed", "fresh", "law"),
    )
    train_size: int = option(
        5_000,
        "Number of sequences in the fixed training set.",
        low=1,
        high=100_000,
        label="data set size",
    )
    test_size: int = option(
        10_000,
        "Number of test sequences, on which loss and accuracy are measured.",
        low=100,
        high=100_000,
    )
    split: str = option(
        "independent",
        "; ".join(f"{name}: {text}" for name, text in SPLITS.items()) + ".",
        choices=tuple(SPLITS),
        label="test set",
    )
    loss_tokens: str = option(
        "tested",
        "With the loss `next`, for processes that test only some tokens: which of them are in the "
        "training loss. "
        + "; ".join(f"{name}: {text}" for name, text in LOSS_TOKENS.items())
        + ".",
        choices=tuple(LOSS_TOKENS),
    )

    def __post_init__(self):
        super().__post_init__()
        if self.scheduled_sampling and self.loss != "next":
            problem = f"the loss '{self.loss}' does not include every token of a target"
            remedy = "Choose 0, or the loss 'next'"
            raise OptionError("scheduled_sampling", self.scheduled_sampling, problem, remedy)
        if self.split != "independent" and self.data != "fixed":
            problem = "fresh data are new draws of all sequences at every step"
            if self.data == "law":
                problem = "the law has all sequences at every step"
            raise OptionError("split", self.split, problem, "Choose 'independent', or fixed data")
        if self.scheduled_sampling and self.data == "law":
            problem = "with the data 'law', no token is drawn at random"
            remedy = "Choose 0, or fresh data"
            raise OptionError("scheduled_sampling", self.scheduled_sampling, problem, remedy)
        # The law is a whole training set of its own.
        if self.batch_mode != "full" or self.data == "law":
            return
        if self.data == "fresh":
            raise OptionError(
                "batch_mode",
                "full",
                "fresh data have no whole training set",
                "Choose minibatch, or fixed data",
            )
        _, cap = options_of(self)["batch"].bounds
        if self.train_size > cap:
            raise OptionError(
                "train_size",
                self.train_size,
                f"more than the cap of {cap:,} for a full batch",
                "Choose a smaller set, or minibatches",
            )


# A run can continue with other values of these: nothing that it has learned depends on them.
AMENDABLE = ("learning_rate", "batch", "steps")


class TrainState(NamedTuple):
    """All that changes from step to step; `step` counts the updates made."""

    model: AbstractModel
    optimiser: PyTree
    step: Int[Array, ""]


class Losses(NamedTuple):
    """The batch means of each step before its update, in nats: see `SequenceLoss`."""

    objective: Float[np.ndarray, " steps"]
    nll: Float[np.ndarray, " steps"]


def initial_state(model: AbstractModel, training: Training) -> TrainState:
    """Return the state before the first step."""
    parameters = eqx.filter(model, eqx.is_array)
    return TrainState(model, _optimiser(training, 0.0).init(parameters), jnp.int32(0))


def _optimiser(
    training: Training, learning_rate: float | Float[Array, ""]
) -> optax.GradientTransformation:
    optimiser = training.optimiser.build(learning_rate)
    if not training.clip:
        return optimiser
    return optax.chain(optax.clip_by_global_norm(training.clip), optimiser)


def as_compiled(training: Training) -> Training:
    """Return the training with defaults for options that no program depends on."""
    free = {name: default_of(Training, name) for name in ("learning_rate", "steps")}
    return dataclasses.replace(training, **free)


@fixed_numerics()
def advance(
    state: TrainState,
    source: AbstractSource,
    training: Training,
    *,
    key: Key[Array, ""],
    steps: int,
) -> tuple[TrainState, Losses]:
    """Make `steps` updates by the optimiser, at most `CHUNK_CAPACITY` of them.

    Step s draws its batch with `fold_in(key, s)`, so the result does not depend on how a run is
    divided into chunks. The number of steps is an argument of one compiled loop, not its shape: the
    same program serves a single step and a chunk of any length.
    """
    if not 0 <= steps <= CHUNK_CAPACITY:
        raise ValueError(
            f"`steps` is {quoted(steps)}: a chunk has 0 to {CHUNK_CAPACITY}. "
            "Call `advance` repeatedly."
        )
    state, (objective, nll) = _advance(
        state,
        source,
        as_compiled(training),
        learning_rate=jnp.float32(training.learning_rate),
        last_step=jnp.int32(training.steps),
        key=key,
        steps=jnp.int32(steps),
    )
    return state, Losses(np.asarray(objective)[:steps], np.asarray(nll)[:steps])


def loss_and_gradient(
    parameters: PyTree,
    rest: PyTree,
    examples: Example,
    training: Training,
    *,
    visible: Int[Array, "batch visible"] | None = None,
) -> tuple[tuple[Float[Array, ""], Float[Array, ""]], PyTree]:
    """Return objective and nll of a batch, and the gradient of the objective.

    `parameters` and `rest` are the arrays of the model and its other parts. The batch of a
    `LawSource` has blocks, which are summed one after another to bound the memory.
    """
    loss_of = partial(
        sequence_loss,
        loss=training.loss,
        readout=training.readout,
        loss_tokens=training.loss_tokens,
    )

    def mean_loss(parameters, examples, visible):
        model = eqx.combine(parameters, rest)
        each = jax.vmap(partial(loss_of, model))(examples, visible=visible)
        if examples.weight is not None:
            return examples.weight @ each.objective, examples.weight @ each.nll
        return each.objective.mean(), each.nll.mean()

    of_block = jax.value_and_grad(mean_loss, has_aux=True)
    if examples.weight is None:
        return of_block(parameters, examples, visible)

    def add(total, block):
        return jax.tree.map(jnp.add, total, of_block(parameters, block, None)), None

    nothing = (jnp.zeros(()), jnp.zeros(())), jax.tree.map(jnp.zeros_like, parameters)
    return jax.lax.scan(add, nothing, examples)[0]


def take_steps(
    state: TrainState,
    source: AbstractSource,
    training: Training,
    *,
    learning_rate: Float[Array, ""],
    last_step: Int[Array, ""],
    key: Key[Array, ""],
    steps: Int[Array, ""],
) -> tuple[TrainState, tuple[Float[Array, " capacity"], Float[Array, " capacity"]]]:
    """Take the steps of `advance`, uncompiled, so that `vmap` can train many runs at once.

    The arguments replace the learning rate and the number of steps of `training`. The losses are
    padded to `CHUNK_CAPACITY` with zeros.
    """
    parameters, rest = eqx.partition(state.model, eqx.is_array)

    def one_step(i, carry):
        parameters, optimiser, step, (objectives, nlls) = carry
        examples = source.draw(jr.fold_in(key, step))
        visible = None
        if training.scheduled_sampling:
            model = eqx.combine(parameters, rest)
            share = training.scheduled_sampling * (step + 1) / last_step
            own_key = jr.fold_in(jr.fold_in(key, _BESIDE_STEPS), step)
            visible = mixed_in(model, examples, share=share, key=own_key)
        (objective, nll), gradient = loss_and_gradient(
            parameters, rest, examples, training, visible=visible
        )
        done = (step + 1) / (last_step + 1)
        rate = learning_rate * training.schedule.share(done)
        updates, optimiser = _optimiser(training, rate).update(gradient, optimiser, parameters)
        parameters = optax.apply_updates(parameters, updates)
        losses = objectives.at[i].set(objective), nlls.at[i].set(nll)
        return parameters, optimiser, step + 1, losses

    empty = jnp.zeros(CHUNK_CAPACITY)
    start = (parameters, state.optimiser, state.step, (empty, empty))
    parameters, optimiser, step, losses = jax.lax.fori_loop(0, steps, one_step, start)
    return TrainState(eqx.combine(parameters, rest), optimiser, step), losses


_advance = eqx.filter_jit(take_steps)


def is_finite(model: AbstractModel) -> bool:
    """Return whether every parameter is a finite number."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array))
    return all(bool(np.isfinite(leaf).all()) for leaf in leaves)
