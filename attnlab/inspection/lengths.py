"""Loss by position of a trained model at other lengths than its own."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Int

from attnlab.configuration.numerics import fixed_numerics, key_of
from attnlab.configuration.options import OptionError
from attnlab.generators import loss_mask_of, sample
from attnlab.inspection.predictions import check_predicts_all
from attnlab.models import AbstractModel, parameter_count
from attnlab.models.base import is_parameter
from attnlab.optimum import FEW_BELIEFS, Best, optimum
from attnlab.optimum.sequences import Estimate, mean_and_error, predictives
from attnlab.training.evaluation import LossByPosition, loss_of_positions, losses_of_tokens
from attnlab.training.experiment import Experiment, abstract_state
from attnlab.training.sources import as_examples

# The longest sequence, in multiples of the trained length.
MOST_TIMES = 4
# Multiplications at one length, which take a few seconds, and the size of all exact predictions.
_MOST_WORK, _MOST_NUMBERS = 1e10, 8_000_000
_FEWEST = 20
# Keeps these sequences apart from a run's own draws, and from those of probes and references.
_DRAW = 5


class LossAtLength(NamedTuple):
    """The test of a model on sequences of one length.

    Attributes:
        length: Number of visible tokens.
        sequences: Number of sequences.
        loss: Loss by position, in nats.
        floor: The best possible prediction at the same positions.
        excess: Loss minus that of the exact predictions of the same tokens, in nats: a mean over
            the positions after the trained length, or over all if there are none. Its error is
            over sequences.
        excess_by_position: The same difference at each position of the loss.
    """

    length: int
    sequences: int
    loss: LossByPosition
    floor: tuple[Best, ...]
    excess: Estimate
    excess_by_position: tuple[Estimate, ...]


def check_length(experiment: Experiment, length: int) -> None:
    """Check that models of an experiment can be tested at another length.

    Raises:
        OptionError: If the model does not predict every token from those before it, if the process
            or the positional encoding fixes the length, or if it is more than four times the
            trained one or out of bounds.
    """
    check_predicts_all(experiment)
    trained = experiment.length
    if (own := experiment.generator.own_length()) is not None and length != own:
        problem = f"all sequences of '{experiment.generator.name}' have {own} visible tokens"
        raise OptionError("length", length, problem, f"Choose {own}, or another process")
    if length > (most := MOST_TIMES * trained):
        problem = f"more than {MOST_TIMES} times the trained length"
        raise OptionError("length", length, problem, f"Choose at most {most}")
    shapes, others = (
        [leaf.shape for leaf in jax.tree.leaves(eqx.filter(form, is_parameter))]
        for form in (_form(experiment, trained), _form(experiment, length))
    )
    if shapes == others:
        return
    if (position := getattr(experiment.model, "position", None)) is not None:
        problem = f"it has a trained vector for each of {trained} positions, and none for others"
        remedy = "Train with `rotary`, `alibi`, `sinusoidal` or `none`"
        raise OptionError("position", position.name, problem, remedy)
    problem = "the number of its parameters depends on the length"
    raise OptionError("model", experiment.model.name, problem, "Choose another family")


def _form(experiment: Experiment, length: int) -> AbstractModel:
    return abstract_state(dataclasses.replace(experiment, length=length)).model


def model_at_length(experiment: Experiment, model: AbstractModel, length: int) -> AbstractModel:
    """Return a trained model of an experiment for sequences of another length.

    Raises:
        OptionError: As in `check_length`.
    """
    check_length(experiment, length)
    shapes, rest = eqx.partition(_form(experiment, length), is_parameter)
    trained = jax.tree.leaves(eqx.filter(model, is_parameter))
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(shapes), trained), rest)


def sequences_at_length(experiment: Experiment, length: int) -> int:
    """Return the number of test sequences: as in the run's test, or fewer if they are long."""
    vocab = experiment.generator.vocabulary.size
    parameters = parameter_count(_form(experiment, length))
    work = experiment.model.work(vocab=vocab, length=length, parameters=parameters)
    most = min(int(_MOST_WORK / work), _MOST_NUMBERS // ((length + 1) * vocab))
    return min(experiment.training.test_size, max(_FEWEST, most))


@fixed_numerics()
def loss_at_length(
    experiment: Experiment,
    model: AbstractModel,
    test: Int[np.ndarray, "sequences positions"],
    length: int | None = None,
) -> LossAtLength:
    """Test a model on sequences of one length: its loss by position, with floor and excess.

    Args:
        experiment: The experiment that the model was trained with.
        model: The trained model.
        test: Test sequences of the run, which are used at the trained length. Sequences of another
            length are drawn from the process at that length. Those of own sequences are held-out
            windows.
        length: Number of visible tokens, up to four times the trained length, by default the
            trained length.

    Raises:
        OptionError: As in `check_length`, and if the loss is not a finite number.
    """
    length = experiment.length if length is None else length
    model = model_at_length(experiment, model, length)
    process = experiment.generator.at_length(length)
    size = sequences_at_length(experiment, length)
    sequences = test[:size]
    if length != experiment.length:
        key = jr.fold_in(key_of(experiment.seed), _DRAW)
        sequences = np.asarray(sample(process, key=key, size=size, length=length + 1))
    blocks = None
    if (held := process.held_out(length + 1)) is not None:
        held = held.random(min(size, held.begin.size), experiment.seed)
        sequences, blocks = held.sequences(), held.blocks
    examples = as_examples(jnp.asarray(sequences), loss_mask_of(process, sequences))
    losses, _ = losses_of_tokens(model, examples)
    counted = np.asarray(examples.loss_mask)[:, 1:]
    exact = predictives(process, sequences[:, :-1])[:, 1:]
    excess = losses + np.log(np.take_along_axis(exact, sequences[:, 1:, None], axis=2)[..., 0])
    later = counted & (np.arange(1, length + 1) > experiment.length)
    chosen = later if later.any() else counted
    some = chosen.any(axis=1)
    # Where there are blocks, all tokens count.
    if (loss := loss_of_positions(losses, counted, blocks)) is None:
        problem = "the model's loss at this length is not a finite number"
        raise OptionError("length", length, problem, "Choose a smaller length")
    best = optimum(process, length, FEW_BELIEFS).by_position
    return LossAtLength(
        length,
        len(sequences),
        loss,
        tuple(best[position] for position in loss.positions),
        mean_and_error(excess[some].mean(axis=1, where=chosen[some]), blocks),
        tuple(mean_and_error(excess[counted[:, t - 1], t - 1], blocks) for t in loss.positions),
    )
