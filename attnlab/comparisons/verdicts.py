"""Results of the published comparison: ours, the post's, the ceiling, and a verdict."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from attnlab.comparisons.intervals import LEVEL, Interval, normal_quantile, t_quantile
from attnlab.comparisons.paired import Comparison, common_seeds, compare_all
from attnlab.comparisons.published import PUBLISHED, Part, Published, standard_error
from attnlab.comparisons.summary import References, Row, figures_of, summarise
from attnlab.configuration.number_text import show_percent, show_range
from attnlab.configuration.options import present
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment

_Key = TypeVar("_Key")


@dataclasses.dataclass(frozen=True)
class PublishedRow:
    """A setting's runs, the post's numbers, and a verdict.

    `gain` is the accuracy of a switch minus that of the row before it; None if the row is not a
    switch, or if fewer than two seeds are finished in both. `verdict` is empty without a result.
    """

    row: Row
    published: Published
    gain: Comparison | None
    verdict: str

    @property
    def process(self) -> str:
        """The name of the process."""
        return dict(self.row.setting.options)["process"]

    @property
    def model(self) -> str:
        """The name of the model or, in the part `ladder`, of the preset."""
        return dict(self.row.setting.options)["model"]


def rows_of(
    part: Part,
    results: Iterable[RunSummary],
    *,
    seeds: int | None = None,
    references: Callable[[Experiment], References | None] | None = None,
) -> tuple[PublishedRow, ...]:
    """Return a row for every setting of the part, from the results of its runs.

    Args:
        part: The part.
        results: Results of its runs, and possibly others.
        seeds: If given, only smaller seeds count.
        references: As in `summarise`; without a reference a row has no verdict.

    Returns:
        The rows in the order of the settings. In the part `ladder`, the p-values of the switches of
        one process are adjusted for their number.
    """
    kept = [r for r in results if seeds is None or r.experiment.seed < seeds]
    wanted = {setting.experiment for setting in part.settings}
    kept = [r for r in kept if dataclasses.replace(r.experiment, seed=0) in wanted]
    rows = summarise(kept, part.settings, references=references)
    gains = _gains(rows) if part.name == "ladder" else {}
    return tuple(_published_row(part, row, gains.get(at)) for at, row in enumerate(rows))


def to_record(row: PublishedRow) -> dict[str, Any]:
    """Return a row as a JSON object. All but `floor` are accuracies; `floor` is a loss, in nats.

    `published` is the number of the English post, `low` and `high` the interval of `mean` over
    seeds. A switch also has its `gain`, with its interval. Unknown values are null.
    """
    accuracy, known = row.row.accuracy, row.row.references
    record = {
        "process": row.process,
        "model": row.model,
        "published": row.published.english,
        **{name: accuracy and getattr(accuracy, name) for name in ("mean", "low", "high")},
        "ceiling": known and known.best.accuracy,
        "floor": known and known.best.nll,
        "verdict": row.verdict,
    }
    if row.gain is not None:
        change = row.gain.difference
        record |= {"gain": change.mean, "gain_low": change.low, "gain_high": change.high}
    return record


def differences(rows: Sequence[PublishedRow]) -> dict[str, Comparison]:
    """Return the linear model's accuracy minus that of attention, by process, paired by seed.

    Processes without two finished seeds of both are left out; p-values are adjusted for the number
    of the others.
    """
    found = {(row.process, row.model): row.row for row in rows}
    pairs = {
        process: (found[process, "attention"], found[process, "linear"])
        for process in dict.fromkeys(row.process for row in rows)
        if {(process, "attention"), (process, "linear")} <= found.keys()
    }
    return _compared(pairs)


def whole_gain(rows: Sequence[PublishedRow]) -> Comparison | None:
    """Return what all switches together add to the accuracy: the last row against the first.

    None if fewer than two seeds are finished in both.
    """
    return _compared({"all": (rows[0].row, rows[-1].row)}).get("all")


def _compared(pairs: Mapping[_Key, tuple[Row, Row]]) -> dict[_Key, Comparison]:
    """Compare the accuracies of all pairs that have two common seeds."""
    pairs = {key: pair for key, pair in pairs.items() if len(common_seeds(*pair)) > 1}
    return dict(zip(pairs, compare_all(list(pairs.values()), "accuracy"), strict=True))


def _published_row(part: Part, row: Row, gain: Comparison | None) -> PublishedRow:
    options = dict(row.setting.options)
    # The ladder begins with the published head; the other models are not in the post.
    model = options["model"].removeprefix(f"published-{options['process']}-")
    published = PUBLISHED.get((options["process"], model)) if part.name != "zoo" else None
    published = published or Published()
    verdict = ""
    if row.results and row.references is not None:
        verdict = " ".join(filter(None, (gain_in_words(gain), verdict_of(row, published))))
    return PublishedRow(row, published, gain, verdict)


def _gains(rows: Sequence[Row]) -> dict[int, Comparison]:
    """Return the accuracy of each row minus that of the row before, by the index of the row."""
    pairs: dict[str, dict[int, tuple[Row, Row]]] = {}
    for at, (before, after) in enumerate(itertools.pairwise(rows), 1):
        process = dict(after.setting.options)["process"]
        if dict(before.setting.options)["process"] == process:
            pairs.setdefault(process, {})[at] = before, after
    return {
        at: comparison
        for of_process in pairs.values()
        for at, comparison in _compared(of_process).items()
    }


_NOTHING = Published()
# Distances in accuracy. A test of 10,000 sequences has a standard error of at most 0.005.
AT, NEAR, FAR = 0.005, 0.02, 0.1
# Below this share of the way from the most common token to the ceiling, no distance is small.
_NEARLY_ALL = 0.8
# If the whole interval of the share learned is above this, nothing was left to learn.
_LEARNED = 0.9


def verdict_of(row: Row, published: Published = _NOTHING) -> str:
    """Describe how near a row is to the ceiling and the floor, and whether the post agrees.

    Without a finished run, return why there is none.
    """
    if row.accuracy is None:
        reasons = dict.fromkeys(run.reason for run in row.unfinished)
        return " ".join(["No result.", *reasons])
    sentences = [*_nearness(row), *_agreement(row, published)]
    if row.unfinished:
        sentences.append(f"{len(row.unfinished)} of {len(row.results)} runs have no result.")
    return " ".join(sentences)


def gain_in_words(gain: Comparison | None) -> str:
    """Describe the change in accuracy due to a switch, paired by seed; "" if unknown."""
    if gain is None:
        return ""
    mean, (low, high) = gain.difference.mean, gain.difference.ends
    verb = "Gains" if mean > 0 else "Loses"
    least, most = sorted((abs(low), abs(high)))
    change = f"{verb} {abs(mean):.3f} ({show_range(least, most)})"
    if not gain.within_noise:
        return f"{change}."
    if low * high > 0:
        return f"{change}: clear by itself, but within the noise among {gain.among} switches."
    ends = f"{low:+.3f} to {high:+.3f}".replace("-", "−")
    return f"No change beyond the noise of the seeds ({ends})."


def share_of_way(row: Row) -> float | None:
    """Return (mean - m) / (ceiling - m), where m is the accuracy of the most common token.

    None without a finished run, or if the ceiling equals m.
    """
    known = present(row.references)
    ceiling, least = known.best.accuracy, present(known.majority).accuracy
    if row.accuracy is None or ceiling <= least:
        return None
    return (row.accuracy.mean - least) / (ceiling - least)


def standard_errors_off(row: Row, figure: float) -> float:
    """Return a published accuracy minus ours, in standard errors of the difference.

    The published accuracy has the error of its test and, since it is one run, the standard
    deviation s between seeds; our mean has s/√n. Together: √(p (1 - p)/1,000 + s² (1 + 1/n)).
    """
    ours = np.array(list(figures_of(row, "accuracy").values()))
    return (figure - float(ours.mean())) / math.sqrt(sum(_variances(row, figure)))


def disagrees(row: Row, figure: float) -> bool:
    """Return whether a published accuracy differs significantly from ours, at the 5 % level.

    The limit is √(a² + b²), where a is z times the error of the published test and b is
    t s √(1 + 1/n), with Student's t of n - 1 degrees of freedom: for few seeds, two standard errors
    would be too few.
    """
    of_test, of_seeds = np.sqrt(_variances(row, figure))
    ours = np.mean(list(figures_of(row, "accuracy").values()))
    z, t = normal_quantile((1 + LEVEL) / 2), t_quantile(LEVEL, len(row.finished) - 1)
    return bool(abs(figure - ours) > math.hypot(z * of_test, t * of_seeds))


def _variances(row: Row, figure: float) -> tuple[float, float]:
    """Return the variances of the difference in accuracy due to the published test and to seeds."""
    ours = np.array(list(figures_of(row, "accuracy").values()))
    return standard_error(figure) ** 2, float(ours.var(ddof=1)) * (1 + 1 / ours.size)


def learned_in_words(learned: Interval) -> str:
    """Return `78 % learned (64 to 92 %)`."""
    mean = f"{100 * learned.mean:.0f} % learned"
    if learned.low is None:
        return mean
    low, high = (100 * end for end in learned.ends)
    return f"{mean} ({show_range(low, high, places=0)} %)"


def _nearness(row: Row) -> Iterator[str]:
    accuracy, known = present(row.accuracy), present(row.references)
    mean, best, least = accuracy.mean, known.best, present(known.majority)
    gap, share = best.accuracy - mean, share_of_way(row)
    learned = None if row.learned is None else learned_in_words(row.learned)
    if share is None or row.learned is None:
        yield "No predictor beats always guessing the most common weather."
    elif abs(gap) <= AT and share >= _NEARLY_ALL:
        at = f"At the ceiling to within {AT}"
        low, high = row.learned.low, row.learned.high
        if low is None or high is None:
            yield f"{at}: {learned} by one seed."
        elif high < 1:
            yield f"{at}, but the loss is above the floor: {learned}."
        elif low < _LEARNED:
            yield f"{at}: {learned}. These seeds do not show whether anything was left."
        else:
            yield f"{at}, and the loss is at the floor: nothing was left to learn."
    elif abs(gap) <= NEAR and share >= _NEARLY_ALL:
        side = "below" if gap > 0 else "above"
        yield f"{abs(gap):.3f} {side} the ceiling: {learned}."
    else:
        far = "Far below" if gap > FAR else "Below"
        yield f"{far} the ceiling: {mean:.3f} of {best.accuracy:.3f}."
        naming = f"always guessing the most common weather ({least.accuracy:.3f})"
        if mean <= least.accuracy:
            yield f"No better than {naming}."
        elif accuracy.low is not None and accuracy.low <= least.accuracy:
            yield f"No better than {naming}, as far as these seeds show."
        else:
            way = show_percent(share)
            yield f"{way} of the way there from always guessing the most common weather."
        yield f"By the loss, {learned}."
        linear = known.linear
        if linear is not None and row.experiment.model.name == "linear":
            yield f"The linear predictor of lowest loss has {linear.accuracy:.3f}."


def _agreement(row: Row, published: Published) -> Iterator[str]:
    if not published.figures:
        return
    if len(row.finished) < 2:
        yield "One seed does not show how far other seeds are from the published result."
        return
    off = {figure: standard_errors_off(row, figure) for figure in published.figures}
    agree = [figure for figure in off if not disagrees(row, figure)]
    if agree:
        figures = " and ".join(f"{figure:.3f}" for figure in agree)
        which = "figure" if len(agree) == 1 else "figures"
        verb = "agrees" if len(agree) == 1 else "agree"
        yield f"The published {which} {figures} {verb} with ours within the error."
    for figure in off.keys() - set(agree):
        side = "above" if off[figure] > 0 else "below"
        yield f"The published {figure:.3f} is {abs(off[figure]):.1f} standard errors {side} ours."
