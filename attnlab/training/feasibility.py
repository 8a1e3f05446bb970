"""What an experiment could reach at best, told before it is trained."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from attnlab.attention.head import MASKS
from attnlab.generators import DotMod, NDays, Recall
from attnlab.models.readout import readout_position
from attnlab.optimum.best import Best, optimum
from attnlab.optimum.grouped import best_from_groups
from attnlab.optimum.ladder import ladder
from attnlab.optimum.linear import best_linear
from attnlab.optimum.sequences import Weighted, weighted_sequences
from attnlab.positions import NoPosition
from attnlab.training.experiment import Experiment

_SAMPLED = 20_000
# Less than this between the commonest token and the optimum is not worth a training.
_NOTHING_TO_LEARN = 0.005


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What an experiment can come to, and what stands in its way in plain words.

    `best` is what the process allows from the visible days; `reachable` is what the experiment's
    model could do with them at best. It bounds what the model is told and, for `linear`, what it
    can compute; whether training gets there is another matter.
    """

    best: Best
    reachable: Best
    findings: tuple[str, ...]


def feasibility(experiment: Experiment, most: int | None = None) -> Verdict:
    """What stands in the way of an experiment, from its settings alone; `most` as in `optimum`."""
    generator, length = experiment.generator, experiment.length
    best = optimum(generator, length, most).final
    findings = [*_about_process(experiment, best, most), *_about_training(experiment)]
    if not experiment.model.attends:
        return Verdict(best, best_linear(generator, length), tuple(findings))
    seen, ordered = _seen_days(experiment), not isinstance(experiment.model.position, NoPosition)
    if len(seen) == length and ordered:
        return Verdict(best, best, tuple(findings))
    sequences = weighted_sequences(generator, length, sampled=_SAMPLED)
    reachable = _best_from(sequences, _told(experiment, sequences.days, seen, ordered))
    if len(seen) < length:
        readout = readout_position(experiment.training.readout, length) + 1
        days = "day " + ", ".join(str(day + 1) for day in seen)
        findings.append(
            f"The prediction is read out at day {readout}, which with the mask "
            f"`{experiment.model.mask}` sees only {days}. Read out at the other end, or change "
            "the mask."
        )
    if not ordered and reachable.nll > best.nll + 1e-3 and len(seen) > 1:
        findings.append(
            "Without a positional encoding the order of the days is invisible, apart from which "
            "one is read out, and this process depends on it. Choose a `position`."
        )
    return Verdict(best, reachable, tuple(findings))


def _about_process(experiment: Experiment, best: Best, most: int | None) -> list[str]:
    generator, length = experiment.generator, experiment.length
    findings = []
    if isinstance(generator, NDays | DotMod) and generator.n > length:
        hidden = generator.n - length
        findings.append(
            f"{hidden} of the {generator.n} days that decide the next one lie outside the "
            f"{length} visible days. The best figure takes that into account."
        )
    if isinstance(generator, Recall) and generator.hidden_days:
        last, many = generator.horizon, len(generator.hidden_days) > 1
        outside = " and ".join(map(str, generator.hidden_days))
        findings.append(
            f"Day{'s' * many} {outside}, which the table reads, {'lie' if many else 'lies'} before "
            f"the {length} visible days, which are the last of the process's {last}. The best "
            f"figure takes that into account; a length of {last} shows them all."
        )
    commonest = next(
        rung for rung in ladder(generator, length, most) if rung.name == "unigram"
    ).best
    if best.accuracy - commonest.accuracy < _NOTHING_TO_LEARN:
        findings.append(
            "There is next to nothing to learn: always naming the commonest token is right in "
            f"{commonest.accuracy:.3f} of cases, the best prediction in {best.accuracy:.3f}."
        )
    return findings


def _about_training(experiment: Experiment) -> list[str]:
    model, training = experiment.model, experiment.training
    findings = []
    if not model.attends:
        return findings
    if model.initialisation == "ones":
        findings.append(
            "With all weights 1 every component of a query and a key starts alike and stays so: "
            "the model can use one of them only. Choose the initialisation `scaled`."
        )
    if training.loss == "next" and model.mask != "causal":
        findings.append(
            f"With the loss `next` and the mask `{model.mask}` a position may look at the very "
            "day that it is asked for. Choose the mask `causal`."
        )
    if training.loss == "published":
        findings.append(
            "The loss `published` asks every position for the final day, also those that do not "
            "see the days it depends on; they pull the weights their way. Choose the loss `last`."
        )
    return findings


def _seen_days(experiment: Experiment) -> list[int]:
    """The positions that the readout may attend to."""
    position = readout_position(experiment.training.readout, experiment.length)
    days = jnp.arange(experiment.length)
    mask = np.asarray(MASKS[experiment.model.mask](days, days))
    return np.flatnonzero(mask[position]).tolist()


def _told(
    experiment: Experiment,
    days: Int[np.ndarray, "sequences length"],
    seen: list[int],
    ordered: bool,
) -> Int[np.ndarray, "sequences features"]:
    """What the readout is told of each sequence: the days it sees, or their counts and its own."""
    if ordered:
        return days[:, seen]
    own = days[:, [readout_position(experiment.training.readout, experiment.length)]]
    vocab = experiment.generator.vocabulary.size
    counts = (days[:, seen, None] == np.arange(vocab)).sum(axis=1)
    return np.concatenate([own, counts], axis=1)


def _best_from(sequences: Weighted, told: Int[np.ndarray, "sequences features"]) -> Best:
    """The best prediction of the final day by someone who is told only this."""
    possible = sequences.weight > 0
    _, group = np.unique(told[possible], axis=0, return_inverse=True)
    return best_from_groups(
        group,
        sequences.probs[possible, -1],
        sequences.weight[possible],
        exact=sequences.exact,
    )
