"""From results to the rows of a part: ours beside the post's, the ceiling, and a verdict."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attnlab.comparisons.paired import Comparison, common_seeds, compare, compare_all
from attnlab.comparisons.published.literature import PUBLISHED, Published
from attnlab.comparisons.published.parts import Part
from attnlab.comparisons.published.verdicts import gain_in_words, verdict_of
from attnlab.comparisons.summary import References, Row, summarise
from attnlab.runs.result import Result
from attnlab.training.experiment import Experiment


@dataclasses.dataclass(frozen=True)
class PublishedRow:
    """A setting's runs, what the post has of it, and what it says in words.

    `gain` is the accuracy less that of the row before it, of a row that is a switch; None where it
    is none, or where fewer than two seeds are finished in both. `verdict` is empty where there is
    no result yet.
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
        """The name of the model or, of a switch, of the preset."""
        return dict(self.row.setting.options)["model"]


def rows_of(
    part: Part,
    results: Iterable[Result],
    *,
    seeds: int | None = None,
    references: Callable[[Experiment], References | None] | None = None,
) -> tuple[PublishedRow, ...]:
    """A row for every setting of the part, in its order, from the results of its runs.

    With `seeds` only those with a seed below it count. `references` are as in `summarise`; with
    none that are known a row has no verdict. On the ladder the p-values of the switches of one
    process are adjusted for their number.
    """
    kept = [r for r in results if seeds is None or r.experiment.seed < seeds]
    asked = {setting.experiment for setting in part.settings}
    kept = [r for r in kept if dataclasses.replace(r.experiment, seed=0) in asked]
    rows = summarise(kept, part.settings, references=references)
    gains = _gains(rows) if part.name == "ladder" else {}
    return tuple(_published_row(part, row, gains.get(at)) for at, row in enumerate(rows))


def to_record(row: PublishedRow) -> dict[str, Any]:
    """A row as a JSON object. All but `floor` are accuracies; `floor` is a loss, in nats.

    `published` is the figure of the English post. `low` and `high` are the interval of `mean` over
    seeds. A switch has its `gain`, too, with an interval of its own. What is not known is null.
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
    """By process, how much more accurate the linear model is than attention, paired over seeds.

    Of those processes that have two finished seeds of both; p-values are adjusted for their number.
    """
    found = {(row.process, row.model): row.row for row in rows}
    pairs = {
        process: (found[process, "attention"], found[process, "linear"])
        for process in dict.fromkeys(row.process for row in rows)
        if {(process, "attention"), (process, "linear")} <= found.keys()
    }
    pairs = {process: pair for process, pair in pairs.items() if _is_comparable(*pair)}
    return dict(zip(pairs, compare_all(list(pairs.values()), "accuracy"), strict=True))


def whole_gain(rows: Sequence[PublishedRow]) -> Comparison | None:
    """What all switches together add to the accuracy: the last of the rows against the first.

    None where fewer than two seeds are finished in both.
    """
    first, last = rows[0].row, rows[-1].row
    return compare(first, last, "accuracy") if _is_comparable(first, last) else None


def _published_row(part: Part, row: Row, gain: Comparison | None) -> PublishedRow:
    options = dict(row.setting.options)
    # The ladder begins with the published head; the other models are none of the post's.
    model = options["model"].removeprefix(f"published-{options['process']}-")
    published = PUBLISHED.get((options["process"], model)) if part.name != "zoo" else None
    published = published or Published()
    verdict = ""
    if row.results and row.references is not None:
        verdict = " ".join(filter(None, (gain_in_words(gain), verdict_of(row, published))))
    return PublishedRow(row, published, gain, verdict)


def _gains(rows: Sequence[Row]) -> dict[int, Comparison]:
    """By the place of a row, its accuracy against the row before it."""
    pairs: dict[str, dict[int, tuple[Row, Row]]] = {}
    for at, (before, after) in enumerate(itertools.pairwise(rows), 1):
        process = dict(after.setting.options)["process"]
        if dict(before.setting.options)["process"] == process and _is_comparable(before, after):
            pairs.setdefault(process, {})[at] = before, after
    return {
        at: comparison
        for of_process in pairs.values()
        for at, comparison in zip(
            of_process, compare_all(list(of_process.values()), "accuracy"), strict=True
        )
    }


def _is_comparable(first: Row, second: Row) -> bool:
    return len(common_seeds(first, second)) > 1
