"""What the controls say: the state behind the form, which lives on every page."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from attnlab.configuration.number_text import read_numbers, show_numbers
from attnlab.configuration.options import OptionError, default_of, options_of
from attnlab.generators import AbstractTask
from attnlab.runs.links import control_key, control_values
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.controls.receipt import ask_for_receipt, is_behind
from attnlab.ui.core.hosting import limits

OWN_SETTINGS = "(own settings)"
# The values of all controls before and after they were last set, and the count of its receipt.
_FILLING = "form_filling"


def fill_form(experiment: Experiment, *, preset: str = OWN_SETTINGS) -> None:
    """Set every control to the experiment. Before the controls are drawn, as in a callback."""
    after = {
        key: show_numbers(value) if isinstance(value, tuple) else value
        for part in (*_other_choices(experiment), experiment)
        for key, value in control_values(part)
    }
    before = {key: st.session_state.get(key) for key in after}
    st.session_state.update(after)
    st.session_state["preset"] = preset
    st.session_state[_FILLING] = before, after, ask_for_receipt()


def begin_form() -> None:
    """Set the controls of a visitor who has not seen any yet. Once, before anything is drawn.

    A click that comes on the heels of a chosen preset brings along the values of all controls
    from before, of which the browser has not heard yet that they have changed. They are put right.
    """
    if "generator" not in st.session_state:
        fill_form(PRESETS[FIRST_PRESET].experiment, preset=FIRST_PRESET)
    # Set above, or when the controls were filled anew.
    before, after, count = st.session_state[_FILLING]
    if is_behind(count):
        for key in after:
            if st.session_state.get(key) == before[key]:
                st.session_state[key] = after[key]


def keep_form() -> None:
    """Hold all controls to what they say. On the way to another page, before anything is drawn.

    Between two pages that have the same controls Streamlit takes their defaults for one script.
    """
    _, after, _ = st.session_state[_FILLING]
    st.session_state.update({k: st.session_state[k] for k in after if k in st.session_state})


def read_form() -> Experiment | OptionError:
    """The experiment that the controls describe, or what is wrong with it on this server."""
    try:
        experiment = read_part(Experiment)
        check_limits(experiment, limits())
        return experiment
    except OptionError as error:
        return error


def read_part(kind: type) -> Any:
    """The configuration of that class that the controls describe.

    Refused, with an `OptionError`: what the controls or the class refuse.
    """
    return kind(**{name: read_option(kind, name) for name in options_of(kind)})


def read_option(kind: type, name: str) -> Any:
    """The value of one option; its default where it means nothing beside the others.

    Refused, with an `OptionError`: text that is not the numbers it should be.
    """
    spec, default = options_of(kind)[name], default_of(kind, name)
    if spec.registry is not None:
        return read_part(chosen_part(kind, name))
    if not applies(kind, name):
        return default
    state = st.session_state[control_key(kind, name)]
    return read_numbers(name, state, default) if isinstance(default, tuple) else state


def chosen_part(kind: type, name: str) -> type:
    """The class that is chosen for an option that is one of several."""
    registry = options_of(kind)[name].registry
    if len(registry) == 1:
        return next(iter(registry.values()))
    return registry[st.session_state[control_key(kind, name)]]


def applies(kind: type, name: str) -> bool:
    """Whether an option has a meaning beside the values of the others."""
    if name in _OF_TASKS and not issubclass(chosen_part(Experiment, "generator"), AbstractTask):
        return False
    ruled_by, value = _RULED.get(name, (None, None))
    if ruled_by is None or ruled_by not in options_of(kind):
        return True
    return st.session_state[control_key(kind, ruled_by)] == value


_OF_TASKS = ("scheduled_sampling",)
_RULED: Mapping[str, tuple[str, str]] = {
    "temperature": ("scale", "temperature"),
    "batch": ("batch_mode", "minibatch"),
    "train_size": ("data", "fixed"),
    "split": ("data", "fixed"),
    "warm_up": ("schedule", "warm-up-cosine"),
    "scheduled_sampling": ("loss", "next"),
}


def _other_choices(configuration: Any) -> Iterator[Any]:
    """Parts that stand ready for the day another class of their registry is chosen."""
    for name, spec in options_of(configuration).items():
        value = getattr(configuration, name)
        if not dataclasses.is_dataclass(value):
            continue
        for kind in spec.registry.values():
            part = value if kind is type(value) else kind()
            yield from _other_choices(part)
            yield part
