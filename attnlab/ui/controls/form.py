"""The sidebar: an experiment as controls, drawn from the registries."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from attnlab.configuration.options import Option, OptionError, default_of, label_of, options_of
from attnlab.generators import AbstractGenerator
from attnlab.runs.links import Lesson, control_key, control_values
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training
from attnlab.ui.controls.form_state import (
    OWN_SETTINGS,
    applies,
    chosen_part,
    fill_form,
    read_form,
    read_option,
    read_part,
)
from attnlab.ui.core.outside import draw_error

# Wider ranges are typed: a slider could not hit one value of thousands.
_MOST_SLIDER_VALUES = 200


def draw_form(problems: list[OptionError]) -> Experiment | OptionError:
    """Draw the controls; the experiment they describe, or what is wrong with it.

    What is said at the controls is added to `problems`.
    """
    if "preset" not in _hidden():
        _draw_preset()
    generator = _heading("Generator")
    _draw_choice(Experiment, "generator", problems)
    _draw_control(Experiment, "length", problems)
    model = _heading("Model")
    _draw_choice(Experiment, "model", problems)
    training = _heading("Training")
    _draw_options(Training, problems)
    _draw_control(Experiment, "seed", problems)
    form = read_form()
    if isinstance(form, Experiment):
        # A group of which a lesson leaves nothing has no heading either.
        _draw_heading(generator, "Generator", {"generator", "length"}, form.generator)
        _draw_heading(model, "Model", {"model"}, form.model)
        _draw_heading(training, "Training", {"seed"}, form.training)
    return form


def draw_process_form(
    problems: list[OptionError],
) -> tuple[type[AbstractGenerator], dict[str, Any], int]:
    """The controls of the process alone: its class, its options and the length.

    Options that are probabilities have no control here and are left out. The keys are those of
    the whole form, so that a process that is chosen in one place is chosen everywhere.
    """
    st.subheader("Generator", divider="gray")
    _draw_kind(Experiment, "generator")
    kind, values = chosen_part(Experiment, "generator"), {}
    for name in options_of(kind):
        if name in probability_options(kind):
            continue
        if _draw_control(kind, name, problems):
            values[name] = read_option(kind, name)
    _draw_control(Experiment, "length", problems)
    return kind, values, read_option(Experiment, "length")


def probability_options(kind: type) -> tuple[str, ...]:
    """The options that are a row or a table of probabilities."""

    def holds_fractions(value: Any) -> bool:
        return isinstance(value, float) or (isinstance(value, tuple) and holds_fractions(value[0]))

    defaults = {name: default_of(kind, name) for name in options_of(kind)}
    return tuple(
        name
        for name, value in defaults.items()
        if isinstance(value, tuple) and holds_fractions(value)
    )


def _hidden() -> tuple[str, ...]:
    return st.session_state.get("lesson", Lesson()).hidden


def _heading(title: str):
    place = st.container()
    if not _hidden():
        place.subheader(title, divider="gray")
    return place


def _draw_heading(place, title: str, keys: set[str], part: Any) -> None:
    keys = keys | {key for key, _ in control_values(part)}
    if _hidden() and not keys <= set(_hidden()):
        place.subheader(title, divider="gray")


def _draw_preset() -> None:
    st.selectbox(
        "preset",
        [OWN_SETTINGS, *PRESETS],
        key="preset",
        on_change=_apply_preset,
        persist_state="session",
        help="A named experiment. Choosing one sets every control below.",
    )
    if st.session_state["preset"] in PRESETS:
        st.caption(PRESETS[st.session_state["preset"]].description)


def _apply_preset() -> None:
    name = st.session_state["preset"]
    if name in PRESETS:
        fill_form(PRESETS[name].experiment, preset=name)


def _draw_choice(owner: type, name: str, problems: list[OptionError]) -> None:
    """A menu of the registry, and the options of the chosen class below it."""
    _draw_kind(owner, name)
    _draw_options(chosen_part(owner, name), problems)


def _draw_kind(owner: type, name: str) -> None:
    spec, key = options_of(owner)[name], control_key(owner, name)
    if key in _hidden():
        return
    st.selectbox(
        label_of(name, spec),
        list(spec.registry),
        key=key,
        help=spec.help,
        persist_state="session",
    )
    st.caption(chosen_part(owner, name).summary)


def _draw_options(kind: type, problems: list[OptionError]) -> None:
    """Every option of the class, and what it refuses about them."""
    before = len(problems)
    for name in options_of(kind):
        if options_of(kind)[name].registry is not None:
            _draw_choice(kind, name, problems)
        elif applies(kind, name):
            _draw_control(kind, name, problems)
    if len(problems) == before:
        try:
            read_part(kind)
        except OptionError as error:
            _tell(error, problems)


def _tell(error: OptionError, problems: list[OptionError]) -> None:
    draw_error(str(error))
    problems.append(error)


def _draw_control(owner: type, name: str, problems: list[OptionError]) -> bool:
    """One control for one option; whether its value could be read. If not, why is shown."""
    spec, default, key = options_of(owner)[name], default_of(owner, name), control_key(owner, name)
    if key not in _hidden():
        common = {"key": key, "help": spec.help, "persist_state": "session"}
        _draw_widget(label_of(name, spec), spec, default, common)
    try:
        read_option(owner, name)
    except OptionError as error:
        _tell(error, problems)
        return False
    return True


def _draw_widget(label: str, spec: Option, default: Any, common: Mapping[str, Any]) -> None:
    if spec.choices:
        st.selectbox(label, spec.choices, **common)
    elif isinstance(default, tuple) and isinstance(default[0], tuple):
        st.text_area(f"{label}, a row a line", height="content", **common)
    elif isinstance(default, str | tuple):
        st.text_input(label, **common)
    elif isinstance(default, int) and spec.high - spec.low <= _MOST_SLIDER_VALUES:
        st.slider(label, int(spec.low), int(spec.high), **common)
    elif isinstance(default, int):
        st.number_input(label, int(spec.low), int(spec.high), step=_step(spec), **common)
    else:
        step = st.session_state[common["key"]] / 10 if spec.logarithmic else 0.01
        st.number_input(
            label, float(spec.low), float(spec.high), step=float(step), format="%g", **common
        )


def _step(spec: Option) -> int:
    return 100 if spec.high >= 5_000 and spec.low <= 100 and spec.high < 2**30 else 1
