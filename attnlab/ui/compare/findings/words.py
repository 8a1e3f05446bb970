"""What settings and figures are called in a comparison."""

from collections.abc import Sequence

from attnlab.comparisons.grid import PRESET
from attnlab.comparisons.intervals import LEVEL, Interval
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row
from attnlab.configuration.number_text import show_measured
from attnlab.configuration.options import label_of, options_of
from attnlab.runs.option_texts import EXPERIMENT_PARTS

# Names of parts say by themselves what they are.
_SPEAKING = (PRESET, "generator", "model")


def option_label(name: str) -> str:
    """What an option is called on screen."""
    kinds = [kind for kind in EXPERIMENT_PARTS if name in options_of(kind)]
    return label_of(name, options_of(kinds[0])[name]) if kinds else name


def setting_labels(rows: Sequence[Row]) -> tuple[str, ...]:
    """A short name for every row, from the options that differ."""
    names = differing_options(rows)
    found = [_label(row, names) for row in rows]
    return tuple(
        label if found.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(found, 1)
    )


def _label(row: Row, names: Sequence[str]) -> str:
    options = dict(row.setting.options)
    parts = [
        options[name] if name in _SPEAKING else f"{plain_label(name)} {options[name]}"
        for name in names
        if name in options
    ]
    return " · ".join(parts) or "these settings"


def plain_label(name: str) -> str:
    """What an option is called, without its unit."""
    return option_label(name).partition(" (")[0]


def interval_text(interval: Interval | None, *, places: int = 3) -> str:
    """`mean ± half of the interval`; a single run has its figure alone.

    >>> interval_text(Interval(0.5, 0.48, 0.52, 5)), interval_text(Interval(0.5, None, None, 1))
    ('0.500 ± 0.020', '0.500')
    >>> interval_text(Interval(1.0, 1.0, 1.0, 5)), interval_text(None)
    ('1.000 in all 5', '–')
    """
    if interval is None:
        return "–"
    if interval.low is None or interval.exact:
        return f"{interval.mean:.{places}f}".replace("-", "−")
    if interval.low == interval.high:
        return _of_all(f"{interval.mean:.{places}f}", interval)
    # Cut off at a bound, it is longer on the other side.
    half = max(interval.high - interval.mean, interval.mean - interval.low)
    return show_measured(interval.mean, half, most_places=places)


def share_text(interval: Interval | None) -> str:
    """A share and half of its interval in percent."""
    if interval is None:
        return "–"
    percent = Interval(*(v and 100 * v for v in (interval.mean, interval.low, interval.high)), 1)
    if interval.low is None:
        return f"{percent.mean:.1f} %".replace("-", "−")
    if interval.low == interval.high:
        return _of_all(f"{percent.mean:.1f} %", interval)
    half = max(percent.high - percent.mean, percent.mean - percent.low)
    return f"{show_measured(percent.mean, half, most_places=1)} %"


def _of_all(text: str, interval: Interval) -> str:
    # Equal figures do not say that the next seed's is equal, too.
    return f"{text} in all {interval.n}".replace("-", "−")


OF_SEEDS = f"{LEVEL:.0%} confidence interval over seeds (Student's t)"
