"""The sidebar: controls for all options of an experiment, generated from the registries."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import streamlit as st

from attnlab.configuration.options import (
    MOST_CHARACTERS,
    MOST_TYPED,
    Option,
    OptionError,
    default_of,
    fields,
    label_of,
    options_of,
)
from attnlab.generators import AbstractGenerator
from attnlab.runs.links import control_key
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.training.steps import Training
from attnlab.ui.controls.address_controls import number_field
from attnlab.ui.controls.form_state import (
    OWN_SETTINGS,
    applies,
    apply_preset,
    chosen_part,
    in_form,
    read_form,
    read_option,
    read_part,
)
from attnlab.ui.controls.lesson_controls import open_lesson
from attnlab.ui.controls.own_text import draw_own_text, draw_understood
from attnlab.ui.core.display import KNOWN_PAGE
from attnlab.ui.core.outside import as_text, draw_error

# Options with more values are number fields: a slider cannot hit one of thousands.
_MOST_SLIDER_VALUES = 256
# Style of a control whose value is rejected.
_MARKED = "{ border-left: 3px solid #d9364f; padding-left: 0.5rem; }"


def draw_form() -> Experiment | OptionError:
    """Draw the controls; return the experiment that they describe, or why it cannot run.

    The controls of `_first_rows` are always visible, the others are in the panel “more”.
    """
    # In two containers, since Streamlit would close “more” whenever the controls above it change.
    at_first_sight, rest = st.container(), st.container()
    with at_first_sight:
        if "preset" not in open_lesson().hidden:
            _draw_preset()
        for row in _first_rows():
            shown = [each for each in row if control_key(*each) not in open_lesson().hidden]
            places = st.columns(len(shown)) if len(shown) > 1 else [nullcontext()]
            for place, (owner, name) in zip(places, shown, strict=False):
                with place:
                    _draw_control(owner, name, unit=False)
            if shown and shown == _of_own_text()[-1:]:
                draw_understood()
    with rest:
        _draw_rest()
    return read_form()


def draw_form_problem(error: OptionError) -> None:
    """Draw why the settings cannot run, and mark the control that causes the error."""
    draw_error(f"These settings cannot run. {in_control_words(error)}")
    if control := _control_of(error):
        st.html(f"<style>.st-key-{control_key(*control)} {_MARKED}</style>")


def in_control_words(error: OptionError) -> str:
    """Return an error's message, with the label on screen instead of the option's name."""
    control = _control_of(error)
    if control is None:
        return str(error)
    kind, name = control
    label = label_of(name, options_of(kind)[name], unit=False)
    # In the message, a table's name may be followed by one of its rows.
    return str(error).replace(f"`{name}", f"`{label}", 1)


def _control_of(error: OptionError) -> tuple[type, str] | None:
    """Return the class and name of the option that an error is about, if it has a control."""
    name, *_ = error.name.split()
    found = (each for each in fields(Experiment, in_form) if each.name == name)
    return next(((each.owner, name) for each in found), None)


def _first_rows() -> list[list[tuple[type, str]]]:
    """Return class and name of the options whose controls are always visible, row by row."""
    model = chosen_part(Experiment, "model")
    rows = (
        [(Experiment, "generator")],
        *([option] for option in _of_own_text()),
        [_size_control(), (Experiment, "seed")],
        [(Experiment, "model")],
        [(model, "heads"), (model, "d_attn")],
        [(model, "position")],
    )
    return [[(owner, name) for owner, name in row if name in options_of(owner)] for row in rows]


def _of_own_text() -> list[tuple[type, str]]:
    """Return class and name of the options of a process that is a text of the user."""
    process = chosen_part(Experiment, "generator")
    return [(process, name) for name in options_of(process)] if not process.has_law else []


def _size_control() -> tuple[type, str]:
    """Return class and name of the option that sets the size of sequences.

    It is the length, or an option of a process with a fixed length.
    """
    process = chosen_part(Experiment, "generator")
    return (process, process.size_option) if process.size_option else (Experiment, "length")


def _is_in_rest(owner: type, name: str) -> bool:
    first = [(Experiment, "length"), *(each for row in _first_rows() for each in row)]
    return applies(owner, name) and (owner, name) not in first


def _draw_rest() -> None:
    """Draw the other controls: in a panel, or directly if a lesson names the visible controls."""
    groups = {
        "Process": chosen_part(Experiment, "generator"),
        "Model": chosen_part(Experiment, "model"),
        "Training": Training,
    }
    hidden, shown = open_lesson().hidden, {}
    for title, kind in groups.items():
        rest = [field[:2] for field in fields(kind, in_form) if _is_in_rest(*field[:2])]
        shown[title] = any(control_key(*each) not in hidden for each in rest)
    # The panel's name is constant: Streamlit would close a panel whose name changes.
    has_more = any(shown.values()) and open_lesson().shown is None
    panel = st.expander("more", key="more", icon=":material/tune:") if has_more else st.container()
    with panel:
        for title, kind in groups.items():
            if shown[title]:
                st.markdown(f"**{title}**")
            _draw_options(kind)


def _draw_options(kind: type) -> bool:
    """Draw a class's options that are under “more”, with errors; return whether there was none."""
    is_good = True
    for name, spec in options_of(kind).items():
        if _is_in_rest(kind, name):
            is_good &= _draw_control(kind, name)
        if spec.registry is not None:
            is_good &= _draw_options(chosen_part(kind, name))
    return is_good and _is_readable(read_part, kind)


def draw_process_form() -> tuple[type[AbstractGenerator], dict[str, Any] | OptionError, int]:
    """Draw the controls of the process; return its class, its options by name, and the length.

    If an option cannot be read, its error replaces the options. Probabilities are left out, as is
    the length of a task, which follows from its options. The keys are those of the sidebar form, so
    both forms describe the same process.
    """
    st.subheader("Process", divider="gray")
    _draw_control(Experiment, "generator")
    kind = chosen_part(Experiment, "generator")
    names = [name for name in options_of(kind) if name not in probability_options(kind)]
    controls = [(kind, name) for name in names if applies(kind, name)]
    if _size_control() == (Experiment, "length"):
        controls.append(_size_control())
    for owner, name in controls:
        _draw_control(owner, name)
    if not kind.has_law:
        draw_understood()
    values: dict[str, Any] | OptionError
    try:
        values = {name: read_option(kind, name) for name in names}
    except OptionError as error:
        values = error
    return kind, values, read_option(Experiment, "length")


def probability_options(kind: type) -> tuple[str, ...]:
    """Return the names of the options that are rows or tables of probabilities."""

    def holds_fractions(value: Any) -> bool:
        return isinstance(value, float) or (isinstance(value, tuple) and holds_fractions(value[0]))

    defaults = {name: default_of(kind, name) for name in options_of(kind)}
    return tuple(
        name
        for name, value in defaults.items()
        if isinstance(value, tuple) and holds_fractions(value)
    )


def _draw_preset() -> None:
    st.selectbox(
        "preset",
        [OWN_SETTINGS, *PRESETS],
        format_func=lambda name: PRESETS[name].label if name in PRESETS else name,
        key="preset",
        on_change=apply_preset,
        persist_state="session",
        help="A named experiment. Choosing one sets every control below.",
    )
    if (chosen := PRESETS.get(st.session_state["preset"])) is not None:
        # The menu itself cuts a long name.
        st.caption(f"**{as_text(chosen.title)}**  \n{chosen.description}")
        if chosen.of_post:
            st.page_link(KNOWN_PAGE, label="Known results", icon=":material/fact_check:")


def _is_readable(read: Callable[..., Any], *what: Any) -> bool:
    """Return whether a value can be read from the controls; if not, show the error."""
    try:
        read(*what)
    except OptionError as error:
        draw_error(in_control_words(error))
        return False
    return True


def _draw_control(owner: type, name: str, *, unit: bool = True) -> bool:
    """Draw the control of an option; return whether its value is valid, or show the error."""
    spec, key = options_of(owner)[name], control_key(owner, name)
    if key not in open_lesson().hidden:
        label, help = label_of(name, spec, unit=unit), spec.help
        if spec.registry is not None:
            help += f" Chosen: {chosen_part(owner, name).summary}"
        common = {"key": key, "help": help, "persist_state": "session"}
        _draw_widget(label, spec, default_of(owner, name), common)
    return _is_readable(read_option, owner, name)


def _draw_widget(label: str, spec: Option, default: Any, common: Mapping[str, Any]) -> None:
    if choices := spec.registry or spec.choices:
        st.selectbox(label, list(choices), **common)
    elif spec.long_text:
        draw_own_text(label, dict(common))
    elif isinstance(default, tuple) and isinstance(default[0], tuple):
        rows = f"{label}, one row per line"
        st.text_area(rows, height="content", max_chars=MOST_TYPED, **common)
    elif isinstance(default, str | tuple):
        most = MOST_CHARACTERS if isinstance(default, str) else MOST_TYPED
        st.text_input(label, max_chars=most, **common)
    elif isinstance(default, int):
        low, high = map(int, spec.bounds)
        if high - low <= _MOST_SLIDER_VALUES:
            st.slider(label, low, high, **common)
        else:
            step = 100 if high >= 5_000 and low <= 100 and high < 2**30 else 1
            number_field(label, low, high, step=step, **common)
    else:
        low, high = map(float, spec.bounds)
        step = st.session_state[common["key"]] / 10 if spec.logarithmic else 0.01
        number_field(label, low, high, step=float(step), format="%g", **common)
