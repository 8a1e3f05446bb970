"""What differs between experiments, in words and as a table."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from attnlab.configuration.options import label_of, options_of
from attnlab.runs.links import control_key
from attnlab.training.experiment import Experiment

# Said before all others, in this order: they change more than any number.
_TELLING = ("generator", "model", "position", "mask", "loss", "readout", "scale", "initialisation")
_MOST_LETTERS = 40


class Difference(NamedTuple):
    """A setting of which two experiments have different values: its name, and both as text."""

    label: str
    before: str
    after: str

    def __str__(self):
        # Of a whole table nobody wants to read all numbers twice.
        if len(self.before + self.after) > _MOST_LETTERS:
            return f"other {self.label}"
        return f"{self.label} {self.before} → {self.after}"


class _Setting(NamedTuple):
    """An option's name on screen, and its value; of one of several parts the part's name."""

    label: str
    value: Any


def changes_between(before: Experiment, after: Experiment) -> tuple[Difference, ...]:
    """What changed from one experiment to the next, most telling first.

    Options that only the new choice of a part has belong to that choice, and are not named.

    >>> [str(change) for change in changes_between(Experiment(), Experiment(seed=3))]
    ['seed 0 → 3']
    """
    old, new = _settings(before), _settings(after)
    changed = [key for key in new if key in old and old[key] != new[key]]
    return tuple(
        Difference(new[key].label, _text(old[key].value), _text(new[key].value))
        for key in sorted(changed, key=_rank)
    )


def label_of_change(before: Experiment | None, after: Experiment, *, most: int = 2) -> str:
    """The most telling of `changes_between` on one line.

    Without an experiment before, what this one is about.
    """
    if before is None:
        return f"{after.generator.name}, {after.model.name}"
    changes = [str(change) for change in changes_between(before, after)]
    if not changes:
        return "the same again"
    rest = len(changes) - most
    return ", ".join(changes[:most]) + (f", {rest} more" if rest > 0 else "")


def differing_settings(experiments: Sequence[Experiment]) -> dict[str, tuple[str, ...]]:
    """Name and texts, one an experiment, of every setting that is not the same in all of them.

    A setting that an experiment does not have, such as the option of another generator, is "–".
    """
    tables = [_settings(experiment) for experiment in experiments]
    keys = sorted({key for table in tables for key in table}, key=_rank)
    columns = {}
    for key in keys:
        texts = tuple(_text(table[key].value) if key in table else "–" for table in tables)
        if len(set(texts)) > 1:
            label = next(table[key].label for table in tables if key in table)
            # Options of two models may have one name.
            columns[key if label in columns else label] = texts
    return columns


def _settings(experiment: Experiment) -> dict[str, _Setting]:
    return dict(_named_values(experiment))


def _named_values(configuration: Any) -> Iterator[tuple[str, _Setting]]:
    for name, spec in options_of(configuration).items():
        key, value = control_key(type(configuration), name), getattr(configuration, name)
        label = label_of(name, dataclasses.replace(spec, unit=""))
        if spec.registry is None:
            yield key, _Setting(label, value)
            continue
        if len(spec.registry) > 1:
            yield key, _Setting(label, value.name)
        yield from _named_values(value)


def _rank(key: str) -> int:
    name = next((name for name in _TELLING if key == name or key.endswith(f"_{name}")), None)
    return len(_TELLING) if name is None else _TELLING.index(name)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return (
            "; ".join(map(_text, value))
            if isinstance(value[0], tuple)
            else " ".join(map(_text, value))
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
