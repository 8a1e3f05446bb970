"""What differs between experiments, in words and as a table."""

from collections.abc import Sequence
from typing import Any

from attnlab.runs.links import control_values
from attnlab.training.experiment import Experiment

# Said before all others, in this order: they change more than any number.
_TELLING = ("generator", "model", "position", "mask", "loss", "readout", "scale", "initialisation")


def label_of_change(before: Experiment | None, after: Experiment, *, most: int = 2) -> str:
    """The most telling changes from one experiment to the next, such as "+ causal mask, seed 3".

    Without one before, what the experiment is about.
    """
    if before is None:
        return f"{after.generator.name}, {after.model.name}"
    changes = [_phrase(key, value) for key, value in _changes(before, after)]
    if not changes:
        return "the same again"
    rest = len(changes) - most
    return "+ " + ", ".join(changes[:most]) + (f", {rest} more" if rest > 0 else "")


def differing_settings(experiments: Sequence[Experiment]) -> dict[str, tuple[str, ...]]:
    """Key and texts, one an experiment, of every setting that is not the same in all of them.

    A setting that an experiment does not have, such as the option of another generator, is "–".
    """
    tables = [dict(control_values(experiment)) for experiment in experiments]
    keys = sorted({key for table in tables for key in table}, key=_rank)
    columns = {
        key: tuple(_text(table[key]) if key in table else "–" for table in tables) for key in keys
    }
    return {key: texts for key, texts in columns.items() if len(set(texts)) > 1}


def _changes(before: Experiment, after: Experiment) -> list[tuple[str, Any]]:
    old = dict(control_values(before))
    # Options that only the new choice has are part of that choice.
    changed = [(k, value) for k, value in control_values(after) if k in old and old[k] != value]
    return sorted(changed, key=lambda change: _rank(change[0]))


def _rank(key: str) -> int:
    return _TELLING.index(key) if key in _TELLING else len(_TELLING)


def _phrase(key: str, value: Any) -> str:
    name = key.replace("_", " ")
    if key in ("generator", "model"):
        return _text(value)
    if isinstance(value, str):
        return f"{value} {name}"
    return f"other {name}" if isinstance(value, tuple) else f"{name} {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return (
            "; ".join(map(_text, value))
            if isinstance(value[0], tuple)
            else " ".join(map(_text, value))
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
