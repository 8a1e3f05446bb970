"""How many targets of a task a model writes without a mistake, and its tokens one by one."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from attnlab.configuration.numerics import fixed_numerics
from attnlab.generators import AbstractGenerator, AbstractTask
from attnlab.inspection.tasks.decoding import write_target
from attnlab.models import AbstractModel
from attnlab.training.evaluation import EvaluationByPosition, evaluate_by_position
from attnlab.training.sources import as_examples

# Sequences written together.
_BLOCK = 1_000


class TargetTest(NamedTuple):
    """Over test sequences: `exact_match` is the share of targets that are right from end to end.

    They are written greedily, each token after those that the model wrote before, and held against
    the target without noise. `tokens` are the figures of each target token given the true ones
    before it; their mean is that of a run's test. Errors are over sequences, and never 0.
    """

    exact_match: float
    exact_match_stderr: float
    tokens: EvaluationByPosition


@fixed_numerics()
def check_targets(
    task: AbstractTask,
    model: AbstractModel,
    sequences: Int[Array, "sequences positions"],
    *,
    unused: bool = False,
) -> TargetTest:
    """The figures of a model on sequences of a task; `unused` as in `write_target`."""
    right = np.asarray(_right(task, model, jnp.asarray(sequences), unused))
    share, size = right.mean(), right.size
    safe = np.clip(share, 0.5 / size, 1 - 0.5 / size)
    return TargetTest(
        exact_match=float(share),
        exact_match_stderr=float(np.sqrt(safe * (1 - safe) / size)),
        tokens=evaluate_by_position(model, as_examples(jnp.asarray(sequences), given=task.given())),
    )


@fixed_numerics()
def exact_match_of(
    process: AbstractGenerator, model: AbstractModel, sequences: Int[Array, "sequences positions"]
) -> float | None:
    """The `exact_match` of `check_targets` alone; None of a process that is no task."""
    if not isinstance(process, AbstractTask):
        return None
    return float(np.asarray(_right(process, model, jnp.asarray(sequences), False)).mean())


@eqx.filter_jit
def _right(task, model, sequences, unused):
    def one(tokens):
        source, count = tokens[: task.given()], tokens.size - task.given()
        written = write_target(model, source, count=count, unused=unused)
        return (written == task.target_of(source)).all()

    return jax.lax.map(one, sequences, batch_size=_BLOCK)
