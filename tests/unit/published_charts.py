"""Charts of the published comparison: drawn from little, with what they are made of."""

import functools

from attnlab import charts
from attnlab.comparisons.published import part_named
from attnlab.comparisons.summary import References
from attnlab.comparisons.verdicts import rows_of
from attnlab.optimum import Best
from tests.unit.made_up_results import finished

KNOWN = References(Best(0.3, 0.9), Best(1.1, 1 / 3), Best(1.0, 0.4), Best(0.6, 0.7))


@functools.cache
def rows(name, process):
    """Two seeds of every setting."""
    part = part_named(name, [process])
    results = [
        finished(setting.experiment, 1.0, seed=seed, accuracy=0.4 + 0.03 * place + 0.01 * seed)
        for place, setting in enumerate(part.settings)
        for seed in (0, 1)
    ]
    return rows_of(part, results, references=lambda _: KNOWN)


def _three(found):
    inner, labels = [row.row for row in found], tuple(row.model for row in found)
    return (
        charts.seeds_table(inner, labels, "accuracy"),
        charts.means_table(inner, labels, "accuracy"),
        charts.references_table(inner, "accuracy"),
    ), labels


def published_chart():
    found = rows("table", "recall")
    tables, labels = _three(found)
    return charts.published_chart(*tables, charts.published_table(found), labels=labels, dark=False)


def climb_chart():
    tables, labels = _three(rows("ladder", "dotmod"))
    return charts.climb_chart(*tables, labels=labels, dark=False)


def gains_chart():
    found = rows("ladder", "dotmod")
    labels = tuple(row.model for row in found)
    return charts.gains_chart(charts.gains_table(found, labels), labels=labels, dark=False)


_KNOWN = "rule x=value y=above y2=below strokeDash=reference"
_SEEDS = "circle x=value y=place"
_SPANS = "rule x=low x2=high y=place"
_MEANS = "point x=value y=place"
_NAMES = "text y=place text=name"

# Marks as `marks_of` says them, and items as `drawn` counts them; see there.
EXPECTED = {
    "published_chart": (
        [_KNOWN, _SPANS, _SEEDS, _MEANS, _NAMES, "point x=value y=place shape=post"],
        # Of two rows: four references each, two runs, a mean; and four published figures.
        {"rule": 10, "symbol": 10, "text": 2},
    ),
    "climb_chart": (
        [_KNOWN, "line x=value y=place", _SPANS, _SEEDS, _MEANS, _NAMES],
        {"rule": 55, "line": 11, "symbol": 33, "text": 11},
    ),
    "gains_chart": (
        [
            "rule x=gain",
            "rule x=low x2=high y=place color=noise",
            "point x=gain y=place color=noise",
            _NAMES,
        ],
        {"rule": 11, "symbol": 10, "text": 11},
    ),
}
