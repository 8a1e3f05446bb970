"""Whether two experiments describe the same run, and how they differ."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from attnlab.configuration.options import Field, default_of, label_of
from attnlab.runs.links import controls
from attnlab.training.experiment import Experiment, to_json

# Named before all others, in this order: they matter more than any number.
_TELLING = ("generator", "model", "position", "mask", "loss", "readout", "scale", "initialisation")
_MOST_LETTERS = 40


class Identity(NamedTuple):
    """A key that is equal for two experiments if they describe the same run."""

    settings: str
    seed: int


def identity_of(experiment: Experiment) -> Identity:
    """Return the SHA-256 of the settings without the seed, in hexadecimal, and the seed.

    >>> one, other = identity_of(Experiment(seed=1)), identity_of(Experiment(seed=2))
    >>> one.settings == other.settings, one.seed, other.seed
    (True, 1, 2)
    """
    plain = dataclasses.replace(experiment, seed=default_of(Experiment, "seed"))
    text = json.dumps(json.loads(to_json(plain)), sort_keys=True, ensure_ascii=False)
    return Identity(hashlib.sha256(text.encode()).hexdigest(), experiment.seed)


class Difference(NamedTuple):
    """A setting that differs between two experiments: its label, and both values as text."""

    label: str
    before: str
    after: str

    def __str__(self):
        # Two whole tables of numbers are too long to read.
        if len(self.before + self.after) > _MOST_LETTERS:
            return f"other {self.label}"
        return f"{self.label} {self.before} → {self.after}"


def changes_between(before: Experiment, after: Experiment) -> tuple[Difference, ...]:
    """Return what changed from one experiment to the next, most important first.

    Options that only the newly chosen process, model or other part has are not listed.

    >>> [str(change) for change in changes_between(Experiment(), Experiment(seed=3))]
    ['seed 0 → 3']
    """
    old, new = controls(before), controls(after)
    differences = {
        key: Difference(_label(new[key]), _text(old[key]), _text(new[key]))
        for key in new
        if key in old and old[key].plain_value != new[key].plain_value
    }
    return tuple(differences[key] for key in sorted(differences, key=_rank))


def label_of_change(before: Experiment | None, after: Experiment) -> str:
    """Return the two most important of `changes_between` on one line.

    Without an earlier experiment, return the names of this one's process and model.
    """
    if before is None:
        return f"{after.generator.name}, {after.model.name}"
    changes = [str(change) for change in changes_between(before, after)]
    if not changes:
        return "the same again"
    rest = len(changes) - 2
    return ", ".join(changes[:2]) + (f", {rest} more" if rest > 0 else "")


def differing_settings(experiments: Sequence[Experiment]) -> dict[str, tuple[str, ...]]:
    """Return the settings that differ: label, and a text for each experiment.

    A setting that an experiment does not have, such as an option of another generator, is "–".
    """
    tables = [controls(experiment) for experiment in experiments]
    keys = sorted(dict.fromkeys(key for table in tables for key in table), key=_rank)
    columns = {}
    for key in keys:
        texts = tuple(_text(table[key]) if key in table else "–" for table in tables)
        if len(set(texts)) > 1:
            label = next(_label(table[key]) for table in tables if key in table)
            # Two models may have options of the same name.
            columns[key if label in columns else label] = texts
    return columns


def _rank(key: str) -> int:
    name = next((name for name in _TELLING if key == name or key.endswith(f"_{name}")), None)
    return len(_TELLING) if name is None else _TELLING.index(name)


def _label(field: Field) -> str:
    return label_of(field.name, field.option, unit=False)


def _text(field: Field) -> str:
    return _value_text(field.plain_value)


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        separator = "; " if isinstance(value[0], tuple) else " "
        return separator.join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
