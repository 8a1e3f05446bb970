"""The values of the form's controls on all pages, and whether the browser has received them."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from attnlab.configuration.number_text import read_numbers, show_numbers
from attnlab.configuration.options import (
    Field,
    OptionError,
    build,
    default_of,
    options_of,
    present,
    registered,
)
from attnlab.generators import AbstractGenerator, AbstractTask
from attnlab.runs.links import control_key, control_values, controls
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.training.steps import Training
from attnlab.ui.core.server import limits

OWN_SETTINGS = "(own settings)"
# All control values before and after `fill_form` last ran, and the receipt number of that change.
_FILLING = "form_filling"
_RECEIPT, _COUNT = "receipt", "receipts_asked"


def fill_form(experiment: Experiment) -> None:
    """Set every control to the experiment. Call it in a callback, or before controls are drawn.

    Controls of parts that the experiment does not use get their defaults. The menu of presets shows
    the preset that the experiment is, with any seed.
    """
    values = {key: field.plain_value for key, field in controls(Experiment, registered).items()}
    values |= control_values(experiment)
    after = {k: show_numbers(v) if isinstance(v, tuple) else v for k, v in values.items()}
    matching = (name for name, preset in PRESETS.items() if preset.matches(experiment))
    after["preset"] = next(matching, OWN_SETTINGS)
    before = {key: st.session_state.get(key) for key in after}
    st.session_state.update(after)
    st.session_state[_FILLING] = before, after, ask_for_receipt()


def begin_form() -> None:
    """Set the controls of a new session, and correct the controls after a late click.

    Call it in every script run, before anything is drawn. A click directly after choosing a preset
    carries the old values of all controls, since the browser has not yet received the new ones.
    Then the controls are set to the preset's values again.
    """
    if "generator" not in st.session_state:
        fill_form(PRESETS[FIRST_PRESET].experiment)
    before, after, count = st.session_state[_FILLING]
    if is_behind(count):
        for key in after:
            if key == "preset" or st.session_state.get(key) == before[key]:
                st.session_state[key] = after[key]
    chosen = PRESETS.get(st.session_state["preset"])
    if chosen is not None and not chosen.matches(read_form()):
        # Choosing the same preset again then restores its settings.
        st.session_state["preset"] = OWN_SETTINGS
        ask_for_receipt()


def apply_preset() -> None:
    """Set every control to the preset chosen in the menu, which calls this.

    A click that the browser sends while the script changes the menu has the previous preset, which
    would undo what the user has just done. So a choice counts only if the browser shows the last
    change.
    """
    name = st.session_state["preset"]
    if name in PRESETS and not is_behind():
        fill_form(PRESETS[name].experiment)


def keep_form() -> None:
    """Keep all control values when the page changes. Call it before anything is drawn.

    Otherwise Streamlit would reset them for one script run, even if both pages have the controls.
    """
    _, after, _ = st.session_state[_FILLING]
    st.session_state.update({k: st.session_state[k] for k in after if k in st.session_state})


def read_form() -> Experiment | OptionError:
    """Return the experiment that the controls describe, or why this server cannot run it."""
    try:
        experiment = read_part(Experiment)
        check_limits(experiment, limits())
        return experiment
    except OptionError as error:
        return error


def read_part(kind: type) -> Any:
    """Return an instance of the class, with the option values of the controls.

    Raises:
        OptionError: If a control's value or the combination of values is not valid.
    """
    return build(kind, read_option)


def read_option(kind: type, name: str) -> Any:
    """Return an option's value, its default if the option has no effect, or a part's class.

    Raises:
        OptionError: If a text does not contain the numbers that the option needs.
    """
    spec, default = options_of(kind)[name], default_of(kind, name)
    if spec.registry is not None:
        return chosen_part(kind, name)
    if not applies(kind, name):
        return default
    state = st.session_state[control_key(kind, name)]
    return read_numbers(name, state, default) if isinstance(default, tuple) else state


def chosen_part(kind: type, name: str) -> type:
    """Return the class selected for an option whose value is a class of a registry."""
    registry = present(options_of(kind)[name].registry)
    if len(registry) == 1:
        return next(iter(registry.values()))
    key = control_key(kind, name)
    if st.session_state[key] not in registry:
        # Only a forged message names another class: the menu has no such choice.
        st.session_state[key] = default_of(kind, name).name
    return registry[st.session_state[key]]


def in_form(field: Field) -> Iterable[type]:
    """Return, for the walk `fields`, the class that the controls select for a field."""
    return (chosen_part(field.owner, field.name),)


def applies(kind: type, name: str) -> bool:
    """Return whether an option has an effect, given the values of the others."""
    process = chosen_part(Experiment, "generator")
    if name == "scheduled_sampling" and not issubclass(process, AbstractTask):
        return False
    if name == "loss_tokens" and process.loss_mask is AbstractGenerator.loss_mask:
        return False
    if name in ("batch_mode", "batch") and st.session_state[control_key(Training, "data")] == "law":
        return False
    ruled_by, value = _RULED.get(name, (None, None))
    if ruled_by is None or ruled_by not in options_of(kind):
        return True
    return st.session_state[control_key(kind, ruled_by)] == value


_RULED: Mapping[str, tuple[str, str]] = {
    "temperature": ("scale", "temperature"),
    "batch": ("batch_mode", "minibatch"),
    "train_size": ("data", "fixed"),
    "split": ("data", "fixed"),
    "scheduled_sampling": ("loss", "next"),
    "loss_tokens": ("loss", "next"),
    "parents": ("tree", "given"),
}


# The script can set controls or the address while a click is on its way with the old values. Those
# would look like a change by the user, or like the Back button. So these changes are numbered: a
# hidden field contains the number of the last one, and the browser sends it with every click.


def ask_for_receipt() -> int:
    """Increase the number of changes; return it. The browser will send it back with each click."""
    st.session_state[_COUNT] = st.session_state.get(_COUNT, 0) + 1
    return st.session_state[_COUNT]


def is_behind(count: int | None = None) -> bool:
    """Return whether the browser sent this request before it received change number `count`.

    Without `count`, the last change counts.
    """
    sent = st.session_state.get(_COUNT, 0) if count is None else count
    text = st.session_state.get(_RECEIPT, str(sent))
    return text.isdecimal() and int(text) < sent


def draw_receipt() -> None:
    """Draw the hidden field with the number of the last change.

    Call it once in every script run, after all calls of `is_behind`.
    """
    # Set in every run, since the browser may never have received the previous value.
    st.session_state[_RECEIPT] = str(st.session_state.get(_COUNT, 0))
    with st.container(key="unseen"):
        st.text_input("receipt", key=_RECEIPT, max_chars=9)
