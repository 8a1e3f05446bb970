"""Changes to a run's settings during training."""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp

from attnlab.configuration.options import check_option, default_of, options_of, quoted
from attnlab.training.optimisers import Constant
from attnlab.training.steps import AMENDABLE, Training

_NAMES = ", ".join(f"`{name}`" for name in AMENDABLE)
REFUSAL = f"A run can continue only with another {_NAMES}. Reset to change other settings."


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of training options after `step`; each option is (name, old value, new value).

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
    """Return the change from one training to another; raise an error if it needs a new run."""
    kept = {name: getattr(before, name) for name in AMENDABLE}
    if dataclasses.replace(after, **kept) != before:
        raise ValueError(REFUSAL)
    pairs = [(name, old, getattr(after, name)) for name, old in kept.items()]
    return Change(step, tuple(pair for pair in pairs if pair[1] != pair[2]))


def rescheduled(before: Training, after: Training, *, step: int) -> str:
    """Describe how a new number of steps changes a scheduled learning rate, or return "".

    A schedule depends on the share of all steps that is done, so more steps move a run back on it.
    """
    if isinstance(after.schedule, Constant) or after.steps == before.steps or step < 1:
        return ""
    # For the last update, and for the next one.
    now, then = _rate(before, step - 1), _rate(after, step)
    return (
        f"The schedule `{after.schedule.name}` now ends at step {after.steps:,}: "
        f"the learning rate goes from {now:.3g} to {then:.3g} at step {step:,}."
    )


def _rate(training: Training, step: int) -> float:
    done = (step + 1) / (training.steps + 1)
    return training.learning_rate * float(training.schedule.share(jnp.float32(done)))


def after_change(training: Training, change: Change) -> Training:
    """Return the training after a change; raise an error if the change does not fit it."""
    return _replaced(training, [(name, old, new) for name, old, new in change.options])


def before_changes(training: Training, changes: Sequence[Change]) -> Training:
    """Undo changes: return the training that a run began with, or raise if they do not fit."""
    for change in reversed(changes):
        training = _replaced(training, [(name, new, old) for name, old, new in change.options])
    return training


def _replaced(training: Training, options: Sequence[tuple[str, float, float]]) -> Training:
    for name, present, _ in options:
        if name not in AMENDABLE:
            raise ValueError(REFUSAL)
        # The new value is checked when `Training` is created with it.
        check_option(name, options_of(Training)[name], present, default_of(Training, name))
        if getattr(training, name) != present:
            there = quoted(getattr(training, name))
            raise ValueError(f"`{name}` is {there} there, not {quoted(present)}.")
    if len({name for name, _, _ in options}) < len(options):
        raise ValueError("A change has one of its options twice. Change each once.")
    return dataclasses.replace(training, **{name: value for name, _, value in options})
