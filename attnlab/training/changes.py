"""Settings that a run goes on with part of the way."""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp

from attnlab.configuration.options import check_option, default_of, options_of, quoted
from attnlab.training.optimisers import Constant
from attnlab.training.steps import AMENDABLE, Training

_NAMES = ", ".join(f"`{name}`" for name in AMENDABLE)
REFUSAL = f"A run goes on only with another {_NAMES}. Reset to change the rest."


@dataclasses.dataclass(frozen=True)
class Change:
    """After `step` a run went on with other `options`: name, value before and value after.

    >>> print(Change(200, (("learning_rate", 0.005, 0.001), ("batch", 100, 50))))
    learning rate 0.005 → 0.001, batch 100 → 50
    """

    step: int
    options: tuple[tuple[str, float, float], ...]

    def __str__(self):
        return ", ".join(
            f"{name.replace('_', ' ')} {old:g} → {new:g}" for name, old, new in self.options
        )


def change_between(before: Training, after: Training, *, step: int) -> Change:
    """What changes. Refused: a difference that needs another model or other data."""
    kept = {name: getattr(before, name) for name in AMENDABLE}
    if dataclasses.replace(after, **kept) != before:
        raise ValueError(REFUSAL)
    pairs = [(name, old, getattr(after, name)) for name, old in kept.items()]
    return Change(step, tuple(pair for pair in pairs if pair[1] != pair[2]))


def rescheduled(before: Training, after: Training, *, step: int) -> str:
    """Return what another number of steps does to a scheduled learning rate, or nothing.

    A schedule is in shares of all steps, so a run that gets more of them moves back on it.
    """
    if isinstance(after.schedule, Constant) or after.steps == before.steps or step < 1:
        return ""
    # Of the update that was made last, and of the next one.
    now, then = _rate(before, step - 1), _rate(after, step)
    return (
        f"The schedule `{after.schedule.name}` now ends at step {after.steps:,}: "
        f"the learning rate goes from {now:.3g} to {then:.3g} at step {step:,}."
    )


def _rate(training: Training, step: int) -> float:
    done = (step + 1) / (training.steps + 1)
    return training.learning_rate * float(training.schedule.share(jnp.float32(done)))


def after_change(training: Training, change: Change) -> Training:
    """What a run goes on with. Refused: a change of another option, or from another value."""
    return _replaced(training, [(name, old, new) for name, old, new in change.options])


def before_changes(training: Training, changes: Sequence[Change]) -> Training:
    """What a run began with that ends with `training`. Refused: changes that do not lead there."""
    for change in reversed(changes):
        training = _replaced(training, [(name, new, old) for name, old, new in change.options])
    return training


def _replaced(training: Training, options: Sequence[tuple[str, float, float]]) -> Training:
    for name, present, _ in options:
        if name not in AMENDABLE:
            raise ValueError(REFUSAL)
        # The value that takes its place is checked as `Training` is made of it.
        check_option(name, options_of(Training)[name], present, default_of(Training, name))
        if getattr(training, name) != present:
            there = quoted(getattr(training, name))
            raise ValueError(f"`{name}` is {there} there, not {quoted(present)}.")
    if len({name for name, _, _ in options}) < len(options):
        raise ValueError("A change has one of its options twice. Change each once.")
    return dataclasses.replace(training, **{name: value for name, _, value in options})
