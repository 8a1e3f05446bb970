"""What an experiment could reach at best, told before it is trained."""

import dataclasses
import math
from collections.abc import Iterator

from attnlab.configuration.finding import Finding
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.numerics import fixed_numerics
from attnlab.configuration.options import options_of
from attnlab.configuration.position_words import with_position_word
from attnlab.generators import AbstractTask
from attnlab.optimum.best import Best, optimum
from attnlab.optimum.ladder import ladder
from attnlab.training.experiment import Experiment, draw_data
from attnlab.training.held_out import share_also_in

# Where there are more sequences, few of a test are drawn a second time.
_FEW_SEQUENCES = 20_000
# The next token is nearly determined up to this share of the loss of a uniform guess.
_NEARLY_DETERMINED = 0.1
# Less accuracy than this, and less loss in nats, is lost in the error of a test of 10,000
# sequences.
_NOTHING_TO_LEARN = 0.005


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What an experiment can come to, and what stands in its way in plain words.

    `best` is what the process allows from the visible tokens; `reachable` is a predictor whose loss
    no model of the experiment's family can undercut, or None where no such bound above the floor
    is known. Whether training gets there is another matter.
    """

    best: Best
    reachable: Best | None
    findings: tuple[Finding, ...]


@fixed_numerics()
def feasibility(experiment: Experiment, most: int | None = None) -> Verdict:
    """What stands in the way of an experiment, from its settings alone; `most` as in `optimum`."""
    generator, length, model = experiment.generator, experiment.length, experiment.model
    best, reachable = optimum(generator, length, most).final, reachable_by(experiment)
    findings = [
        *_about_process(experiment, best, most),
        *model.findings(loss=experiment.training.loss, length=length),
    ]
    # A task is tested at all tokens of its target, wherever the readout is.
    if not isinstance(generator, AbstractTask):
        findings += _about_overlap(experiment, best)
        findings += _about_sight(experiment, best, reachable)
    told = (
        Finding(option, with_position_word(text, generator.position_word))
        for option, text in findings
    )
    return Verdict(best, reachable, tuple(told))


@fixed_numerics()
def reachable_by(experiment: Experiment) -> Best | None:
    """`Verdict.reachable`.

    Not known of a task: many of its tokens count, and a bound for one is none for their mean.
    """
    if isinstance(experiment.generator, AbstractTask):
        return None
    return experiment.model.reachable(
        experiment.generator, experiment.length, experiment.read_position
    )


def _about_overlap(experiment: Experiment, best: Best) -> Iterator[Finding]:
    """Which share of the test can be known by heart, where that may pass for what is to be learned.

    That is where the next token is nearly determined, and there are few sequences.
    """
    vocab, training = experiment.generator.vocabulary.size, experiment.training
    many = vocab ** (experiment.length + 1) > _FEW_SEQUENCES
    random = best.nll > _NEARLY_DETERMINED * math.log(vocab)
    if training.data == "fresh" or training.split == "held out" or many or random:
        return
    drawn = draw_data(experiment)
    if share := share_also_in(drawn.test, drawn.train_set):
        yield Finding(
            "split",
            f"{100 * share:.3g} % of the test sequences are also in the training set. Choose the "
            "test set 'held out' to test on other ones.",
        )


def _about_sight(experiment: Experiment, best: Best, reachable: Best | None) -> Iterator[Finding]:
    """What the readout cannot see, of the tokens or of their order."""
    options, position = options_of(experiment.model), experiment.read_position
    seen = experiment.model.sees(position, experiment.length)
    if len(seen) < experiment.length:
        days = "day " + ", ".join(str(index + 1) for index in seen)
        yield Finding(
            "readout",
            f"The prediction is read out at day {position + 1}, where the model sees only {days}. "
            f"Read out at the other end{', or change the `mask`' if 'mask' in options else ''}.",
        )
    known = reachable is not None and reachable.nll > best.nll + 1e-3
    if not experiment.model.sees_order() and known and len(seen) > 1:
        yield Finding(
            "position" if "position" in options else "model",
            "The order of the days is invisible to this model, apart from which one is read out, "
            "and this process depends on it."
            + " Choose another `position`; rotary needs a `d_attn` of 2 or more."
            * ("position" in options),
        )


def _about_process(experiment: Experiment, best: Best, most: int | None) -> list[Finding]:
    generator, length = experiment.generator, experiment.length
    findings = [*generator.findings(length)]
    if experiment.tests_more_than_trained:
        words = (
            f"The loss `{experiment.training.loss}` asks for the last token of the target alone, "
            "and all of them are tested. Choose the loss `next`."
        )
        findings.append(Finding("loss", words))
    unigram = next(rung for rung in ladder(generator, length, most) if rung.name == "unigram").best
    gains = best.accuracy - unigram.accuracy, unigram.nll - best.nll
    if max(gains) < _NOTHING_TO_LEARN:
        words = (
            "There is next to nothing to learn beyond how common each token is: that alone gives "
            f"{_figures(unigram)}, the best prediction {_figures(best)}."
        )
        findings.append(Finding("generator", words))
    return findings


def _figures(best: Best) -> str:
    if best.exact:
        return f"accuracy {best.accuracy:.3f} and loss {best.nll:.3f} nats"
    accuracy = show_measured(best.accuracy, best.accuracy_stderr)
    return f"accuracy {accuracy} and loss {show_measured(best.nll, best.nll_stderr)} nats"
