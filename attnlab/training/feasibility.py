"""What an experiment could reach at best, told before it is trained."""

import dataclasses
from collections.abc import Iterator

from attnlab.models.readout import readout_position
from attnlab.optimum.best import Best, optimum
from attnlab.optimum.ladder import ladder
from attnlab.training.experiment import Experiment

_SAMPLED = 20_000
# Less than this between what needs no past and the optimum is not worth a training.
_LITTLE_ACCURACY, _LITTLE_LOSS = 0.005, 0.02


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What an experiment can come to, and what stands in its way in plain words.

    `best` is what the process allows from the visible days; `reachable` is what no model of the
    experiment's family can exceed, or None where no such bound below `best` is known. Whether
    training gets there is another matter.
    """

    best: Best
    reachable: Best | None
    findings: tuple[str, ...]


def feasibility(experiment: Experiment, most: int | None = None) -> Verdict:
    """What stands in the way of an experiment, from its settings alone; `most` as in `optimum`."""
    generator, length, model = experiment.generator, experiment.length, experiment.model
    best = optimum(generator, length, most).final
    position = readout_position(experiment.training.readout, length)
    reachable = model.reachable(generator, length, position)
    findings = [
        *_about_process(experiment, best, most),
        *model.findings(loss=experiment.training.loss, length=length),
        *_about_sight(experiment, position, best, reachable),
    ]
    return Verdict(best, reachable, tuple(findings))


def _about_sight(
    experiment: Experiment, position: int, best: Best, reachable: Best | None
) -> Iterator[str]:
    """What the readout cannot see, of the days or of their order."""
    seen = experiment.model.sees(position, experiment.length)
    if len(seen) < experiment.length:
        days = "day " + ", ".join(str(day + 1) for day in seen)
        yield (
            f"The prediction is read out at day {position + 1}, where the model sees only {days}. "
            "Read out at the other end, or change the mask."
        )
    known = reachable is not None and reachable.nll > best.nll + 1e-3
    if not experiment.model.sees_order() and known and len(seen) > 1:
        yield (
            "Without a positional encoding the order of the days is invisible, apart from which "
            "one is read out, and this process depends on it. Choose a `position`."
        )


def _about_process(experiment: Experiment, best: Best, most: int | None) -> list[str]:
    generator, length = experiment.generator, experiment.length
    findings = [*generator.findings(length)]
    unigram = next(rung for rung in ladder(generator, length, most) if rung.name == "unigram").best
    little_accuracy = best.accuracy - unigram.accuracy < _LITTLE_ACCURACY
    if little_accuracy and unigram.nll - best.nll < _LITTLE_LOSS:
        findings.append(
            "There is next to nothing to learn: always naming the commonest token is right in "
            f"{unigram.accuracy:.3f} of cases, the best prediction in {best.accuracy:.3f}; the "
            f"frequencies of the tokens alone give a loss of {unigram.nll:.3f} nats, the best "
            f"prediction {best.nll:.3f}."
        )
    return findings
