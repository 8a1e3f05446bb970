"""Results on the blog post's processes: ours, the post's, the ceiling, and a verdict."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from attnlab.comparisons.grid import Study
from attnlab.comparisons.intervals import LEVEL, Interval, normal_quantile, t_quantile
from attnlab.comparisons.paired import Comparison, common_seeds, compare_all
from attnlab.comparisons.summary import References, Row, figures_of, summarise
from attnlab.configuration.number_text import show_range
from attnlab.configuration.options import present
from attnlab.known_results.blog_post import PUBLISHED, Published, standard_error
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment

_NOTHING = Published()
# If the whole interval of the share learned is above this, nothing is left to learn.
_LEARNED = 0.9


@dataclasses.dataclass(frozen=True)
class PublishedRow:
    """A setting's runs, the post's numbers, and a verdict.

    `gain` is the accuracy minus that of the row before it, in the table (linear minus attention)
    and in the ladder. It is None for the first row of a process, and if fewer than two seeds are
    finished in both. `verdict` is empty without a result.
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
    part: Study,
    results: Iterable[RunSummary],
    *,
    references: Callable[[Experiment], References | None] | None = None,
) -> tuple[PublishedRow, ...]:
    """Return a row for every setting of the part, from the results of its runs.

    Args:
        part: One of `PARTS`, or some of its settings.
        results: Results of its runs, and possibly others.
        references: As in `summarise`; without a reference a row has no verdict.

    Returns:
        The rows in the order of the settings. The p-values of gains are adjusted for their number:
        in the part `ladder` within a process, in the part `table` over all processes.
    """
    kept = [result for result in results if part.has(result.experiment)]
    rows = summarise(kept, part.settings, references=references)
    gains = {} if part.name == "zoo" else _gains(rows, by_process=part.name == "ladder")
    return tuple(_published_row(part, row, gains.get(at)) for at, row in enumerate(rows))


def to_record(row: PublishedRow) -> dict[str, Any]:
    """Return a row as a JSON object. All but `floor` are accuracies; `floor` is a loss, in nats.

    `published` is the number of the English post, `low` and `high` the interval of `mean` over
    seeds. A row of the table or ladder also has its `gain` over the row before, with its interval.
    Unknown values are null.
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


def whole_gain(rows: Sequence[PublishedRow]) -> Comparison | None:
    """Return what all changes together add to the accuracy: the last row against the first.

    None if fewer than two seeds are finished in both.
    """
    pair = rows[0].row, rows[-1].row
    return compare_all([pair], "accuracy")[0] if len(common_seeds(*pair)) > 1 else None


def _published_row(part: Study, row: Row, gain: Comparison | None) -> PublishedRow:
    options = dict(row.setting.options)
    # The ladder begins with the published head; the other models are not in the post.
    model = options["model"].removeprefix(f"published-{options['process']}-")
    published = _NOTHING
    if part.name != "zoo":
        published = PUBLISHED.get((options["process"], model), _NOTHING)
    verdict = ""
    if row.results and row.references is not None:
        verdict = " ".join(filter(None, (gain_in_words(gain), verdict_of(row, published))))
    return PublishedRow(row, published, gain, verdict)


def _gains(rows: Sequence[Row], *, by_process: bool) -> dict[int, Comparison]:
    """Return the accuracy of each row minus that of the row before, by the index of the row."""
    groups: dict[str, dict[int, tuple[Row, Row]]] = {}
    for at, pair in enumerate(itertools.pairwise(rows), 1):
        before, after = (dict(row.setting.options)["process"] for row in pair)
        if before == after and len(common_seeds(*pair)) > 1:
            groups.setdefault(after if by_process else "", {})[at] = pair
    return {
        at: comparison
        for pairs in groups.values()
        for at, comparison in zip(pairs, compare_all(list(pairs.values()), "accuracy"), strict=True)
    }


def verdict_of(row: Row, published: Published = _NOTHING) -> str:
    """Describe how much of what is possible was learned, and whether the post agrees.

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
    """Describe the accuracy minus that of the row before, paired by seed; "" if unknown."""
    if gain is None:
        return ""
    mean, (low, high) = gain.difference.mean, gain.difference.ends
    if gain.within_noise and low * high <= 0:
        ends = f"{low:+.3f} to {high:+.3f}".replace("-", "−")
        return f"No significant difference from the row before ({ends})."
    least, most = sorted((abs(low), abs(high)))
    side = "above" if mean > 0 else "below"
    change = f"{abs(mean):.3f} {side} the row before ({show_range(least, most)})"
    noise = f": significant alone, but not among {gain.among} comparisons"
    return f"{change}{noise * gain.within_noise}."


def standard_errors_off(row: Row, figure: float) -> float:
    """Return a published accuracy minus ours, in standard errors of the difference.

    The published accuracy has the error of its test and, since it is one run, the standard
    deviation s between seeds; our mean has s/√n. Together: √(p (1 - p)/1,000 + s² (1 + 1/n)).
    """
    ours, of_test, of_seeds = _errors(row, figure)
    return (figure - ours) / math.hypot(of_test, of_seeds)


def disagrees(row: Row, figure: float) -> bool:
    """Return whether a published accuracy differs significantly from ours, at the 5 % level.

    The limit is √(a² + b²), where a is z times the error of the published test and b is
    t s √(1 + 1/n), with Student's t of n - 1 degrees of freedom: for few seeds, two standard errors
    would be too few.
    """
    ours, of_test, of_seeds = _errors(row, figure)
    z, t = normal_quantile((1 + LEVEL) / 2), t_quantile(LEVEL, len(row.finished) - 1)
    return abs(figure - ours) > math.hypot(z * of_test, t * of_seeds)


def _errors(row: Row, figure: float) -> tuple[float, float, float]:
    """Return our accuracy, and the errors of the difference: of the published test and of seeds."""
    ours = np.array(list(figures_of(row, "accuracy").values()))
    of_seeds = float(ours.std(ddof=1)) * math.sqrt(1 + 1 / ours.size)
    return float(ours.mean()), standard_error(figure), of_seeds


def learned_in_words(learned: Interval) -> str:
    """Return `78 % learned (64 to 92 %)`."""
    mean = f"{100 * learned.mean:.0f} % learned"
    if learned.low is None:
        return mean
    low, high = (100 * end for end in learned.ends)
    return f"{mean} ({show_range(low, high, places=0)} %)"


def _nearness(row: Row) -> Iterator[str]:
    accuracy, known = present(row.accuracy), present(row.references)
    least, learned = present(known.majority).accuracy, row.learned
    if learned is None or known.best.accuracy <= least:
        yield "No predictor beats always guessing the most common weather."
        return
    words = learned_in_words(learned)
    if learned.low is None or learned.high is None:
        yield f"{words} by one seed."
    elif learned.high >= 1 and learned.low >= _LEARNED:
        yield f"Nothing is left to learn: {words}."
    else:
        yield f"{words}."
    if (accuracy.mean if accuracy.low is None else accuracy.low) <= least:
        seen = ", as far as these seeds show" * (accuracy.mean > least)
        yield f"No better than always guessing the most common weather ({least:.3f}){seen}."


def _agreement(row: Row, published: Published) -> Iterator[str]:
    if not published.figures:
        return
    if len(row.finished) < 2:
        yield "One seed does not show how far other seeds are from the published result."
        return
    figures = dict.fromkeys(published.figures)
    agree = [figure for figure in figures if not disagrees(row, figure)]
    if agree:
        shown = " and ".join(f"{figure:.3f}" for figure in agree)
        which, verb = ("figure", "agrees") if len(agree) == 1 else ("figures", "agree")
        yield f"The published {which} {shown} {verb} with ours within the error."
    for figure in figures:
        if figure not in agree:
            off = standard_errors_off(row, figure)
            side = "above" if off > 0 else "below"
            yield f"The published {figure:.3f} is {abs(off):.1f} standard errors {side} ours."
