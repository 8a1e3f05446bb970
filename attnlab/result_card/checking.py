"""Checking a card: its runs are trained again, and the new card is compared with it."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attnlab import __version__
from attnlab.comparisons.grid import Setting, Study
from attnlab.comparisons.intervals import LEVEL, normal_quantile, t_quantile
from attnlab.comparisons.many import run_all
from attnlab.configuration.options import OptionError
from attnlab.known_results import KNOWN_RESULTS, number_label
from attnlab.result_card.card import KNOWN, RUN, CardSetting, ResultCard
from attnlab.result_card.making import card_of_comparison, card_of_known_result, card_of_run
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import prepare
from attnlab.training.limits import steps_at_once
from attnlab.training.loop import EvaluationPlan, NotFiniteError, run

# Exact floors agree up to rounding, in nats.
_ROUNDING = 1e-5
TO_THE_DIGIT, WITHIN = "agrees to the last digit", "agrees within the intervals"
DIFFERS = "differs"


class CardDifference(NamedTuple):
    """A number of a card beside the one found now.

    `stderr` is the standard error of their difference, 0 if neither has one, and `allowed` the
    largest difference that agrees.
    """

    label: str
    before: float
    after: float
    stderr: float = 0.0
    allowed: float = 0.0

    @property
    def off(self) -> float:
        """The difference in units of what is allowed; up to 1 it agrees."""
        difference = abs(self.after - self.before)
        return difference / self.allowed if self.allowed else (math.inf if difference else 0.0)

    def __str__(self):
        difference = self.after - self.before
        errors = f" ({difference / self.stderr:+.2g} standard errors)" if self.stderr else ""
        errors += f", ±{self.allowed:.2g} allowed,"
        numbers = f"{self.after:.6g} here, {self.before:.6g} on the card"
        return f"{difference:+.3g}{errors} in {self.label}: {numbers}".replace("-", "−")


@dataclasses.dataclass(frozen=True)
class CardCheck:
    """The result of training the runs of a card again.

    Attributes:
        says: "agrees to the last digit", "agrees within the intervals" or "differs".
        sentences: What agrees and what differs.
        differences: The means and floors of the card beside the new ones, the farthest off first.
        again: The card of the new runs; None if they have no result.
    """

    says: str
    sentences: tuple[str, ...]
    differences: tuple[CardDifference, ...] = ()
    again: ResultCard | None = None


def check_card(
    card: ResultCard,
    train: Callable[..., Sequence[RunSummary]] = lambda runs, **how: list(run_all(runs, **how)),
) -> CardCheck:
    """Train all runs of a card again, and compare the numbers.

    They agree to the last digit if every number is equal. They agree within the intervals if every
    mean differs by at most q √(e² + e'²), where e and e' are its old and its new standard error,
    and q is the two-sided quantile of Student's t with 2 (n − 1) degrees of freedom for n seeds
    (with one seed: of the normal distribution) at the level 95 %, corrected for the number of means
    (Bonferroni). `train` trains experiments, and takes further arguments of `run_all`.
    """
    try:
        again = _again(card, train)
    except (NotFiniteError, OptionError) as error:
        return CardCheck(DIFFERS, (f"The card differs: its runs have no result here. {error}",))
    differences = sorted(_differences(card, again), key=lambda each: each.off, reverse=True)
    farthest, equal = differences[0], card.settings == again.settings
    new_words = card.sentence != again.sentence
    if farthest.off > 1:
        says, more = DIFFERS, f" by {farthest}"
    elif equal and new_words and card.versions.attnlab == __version__:
        says, more = DIFFERS, " in its sentence, although all numbers are equal"
    elif equal:
        says, more = TO_THE_DIGIT, ""
    else:
        says = WITHIN
        more = f"; farthest off by {farthest}" if farthest.off else "; all means are equal"
    sentences = [f"The card {says}{more}."]
    if not equal and (card.versions, card.machine) == (again.versions, again.machine):
        sentences.append(
            "It names these versions and this kind of machine, which give equal digits, so it may "
            "have been changed."
        )
    if new_words:
        sentences.append(f"The sentence of the new runs: {again.sentence}")
    return CardCheck(says, tuple(sentences), tuple(differences), again)


def _again(card: ResultCard, train: Callable[..., Sequence[RunSummary]]) -> ResultCard:
    """Return the card of the same runs, trained here."""
    if card.kind == RUN:
        return card_of_run(_trained(card.settings[0]))
    if card.kind == KNOWN:
        seeds = card.settings[0].seeds
        known = KNOWN_RESULTS[card.name].with_seeds(len(seeds), seeds[0])
        return card_of_known_result(known, train(known.study.runs, **known.study.recording))
    settings = tuple(
        Setting((("setting", each.label),), dataclasses.replace(each.experiment, seed=0))
        for each in card.settings
    )
    metrics = dict.fromkeys(name for each in card.settings for name in each.by_name)
    results = train(card.runs, **Study(settings, metrics=tuple(metrics)).recording)
    labels = [setting.label for setting in card.settings]
    return card_of_comparison(results, settings, labels, figure=card.figure)


def _trained(setting: CardSetting) -> Run:
    """Return the run of a setting, tested at the steps of its curve."""
    setup, chunk = prepare(setting.experiment), steps_at_once(setting.experiment)
    plan = EvaluationPlan(tuple(step for step, _ in setting.curve), ())
    record = Run(setting.experiment, setup.state)
    for event in run(setting.experiment, setup=setup, chunk=chunk, plan=plan):
        record = record.after(event)
    return record


def _differences(card: ResultCard, again: ResultCard) -> Iterator[CardDifference]:
    level = 1 - (1 - LEVEL) / sum(len(setting.measures) for setting in card.settings)
    normal = normal_quantile((1 + level) / 2)
    found = {setting.label: setting for setting in again.settings}
    for before in card.settings:
        after, of = found.get(before.label), f" of {before.label}" * bool(before.label)
        for old in before.measures:
            name, new = f"{number_label(old.name)}{of}", after and after.by_name.get(old.name)
            if new is None or new.n != old.n:
                yield CardDifference(f"number of results for {name}", old.n, new.n if new else 0)
                continue
            stderr = math.hypot(old.stderr or 0.0, new.stderr or 0.0)
            times = t_quantile(level, 2 * old.n - 2) if old.n > 1 else normal
            yield CardDifference(name, old.value, new.value, stderr, times * stderr)
        if after is None or before.floor is None or after.floor is None:
            continue
        words = before.experiment.generator.best_words
        for label, name in ((words.floor, "nll"), (words.ceiling, "accuracy")):
            old, new = (getattr(each.floor, name) for each in (before, after))
            stderr = math.hypot(
                *(getattr(each.floor, f"{name}_stderr") for each in (before, after))
            )
            yield CardDifference(f"{label}{of}", old, new, stderr, normal * stderr + _ROUNDING)
