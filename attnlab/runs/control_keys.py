"""What the control of an option is called: on the page, in a link and in a lesson."""

from collections.abc import Iterator
from typing import Any

from attnlab.configuration.options import label_of, options_of
from attnlab.configuration.records import check_own_name
from attnlab.generators import PROCESSES
from attnlab.models import ALL_MODELS, AttentionOptions, LinearOptions
from attnlab.positions import POSITIONS
from attnlab.training.experiment import Experiment
from attnlab.training.optimisers import OPTIMISERS

# Families whose options of the same name mean different things, with bounds of their own.
# The two oldest models share theirs, as their links do.
_PREFIXED = (
    *PROCESSES.values(),
    *POSITIONS.values(),
    *OPTIMISERS.values(),
    *(kind for kind in ALL_MODELS.values() if kind not in (AttentionOptions, LinearOptions)),
)
_PRESET = "preset"


def control_key(owner: type, name: str) -> str:
    """The key of an option's control, which is also its name in a link."""
    return f"{owner.name}_{name}" if owner in _PREFIXED else name


def control_values(configuration: Any) -> Iterator[tuple[str, Any]]:
    """Key and value of every option of a configuration, those of its parts included.

    The value of an option that is one of several parts is the part's registered name.
    """
    for name, spec in options_of(configuration).items():
        key, value = control_key(type(configuration), name), getattr(configuration, name)
        if spec.registry is None:
            yield key, value
            continue
        check_own_name(name, value, spec.registry)
        if len(spec.registry) > 1:
            yield key, value.name
        yield from control_values(value)


def hideable_controls(experiment: Experiment) -> tuple[str, ...]:
    """The keys of the controls of one experiment that a lesson can leave out."""
    return tuple(labels_of(experiment))


def labels_of(experiment: Experiment) -> dict[str, str]:
    """What these controls are called on the page, by their keys."""
    return {_PRESET: _PRESET, **dict(_labels(experiment))}


def _labels(configuration: Any) -> Iterator[tuple[str, str]]:
    for name, spec in options_of(configuration).items():
        if spec.registry is None or len(spec.registry) > 1:
            yield control_key(type(configuration), name), label_of(name, spec)
        if spec.registry is not None:
            yield from _labels(getattr(configuration, name))


def all_but(shown: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of the controls of all experiments, without those to be `shown`."""
    keys = dict.fromkeys((_PRESET, *_keys_of(Experiment)))
    return tuple(key for key in keys if key not in shown)


def _keys_of(kind: type) -> Iterator[str]:
    for name, spec in options_of(kind).items():
        if spec.registry is None or len(spec.registry) > 1:
            yield control_key(kind, name)
        for part in (spec.registry or {}).values():
            yield from _keys_of(part)
