"""The sidebar: controls for all options of an experiment, generated from the registries."""

from collections.abc import Callable, Mapping
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
    present,
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
from attnlab.ui.core.display import QUESTION_PAGE
from attnlab.ui.core.outside import as_text, draw_error

# Options with more values are number fields: a slider cannot hit one of thousands.
_MOST_SLIDER_VALUES = 256
# Style of a control whose value is rejected.
_MARKED = "{ border-left: 3px solid #d9364f; padding-left: 0.5rem; }"


def draw_form() -> Experiment | OptionError:
    """Draw the controls; return the experiment that they describe, or why it cannot run.

    The controls of `_at_first_sight` are always visible, the others are in the panel “more”.
    """
    # In two containers, since Streamlit would close “more” whenever the controls above it change.
    at_first_sight, rest = st.container(), st.container()
    with at_first_sight:
        _draw_first()
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


def _draw_first() -> None:
    if "preset" not in _hidden():
        _draw_preset()
    model = chosen_part(Experiment, "model")
    _draw_kind(Experiment, "generator")
    _draw_side_by_side([_size_control(), (Experiment, "seed")])
    _draw_kind(Experiment, "model")
    widths = [(model, name) for name in ("heads", "d_attn") if name in options_of(model)]
    _draw_side_by_side(widths)
    if "position" in options_of(model):
        _draw_kind(model, "position")


def _size_control() -> tuple[type, str]:
    """Return class and name of the option that sets the size of sequences.

    It is the length, or an option of a process with a fixed length.
    """
    process = chosen_part(Experiment, "generator")
    return (process, process.size_option) if process.size_option else (Experiment, "length")


def _at_first_sight() -> set[tuple[type, str]]:
    model = chosen_part(Experiment, "model")
    return {
        _size_control(),
        *((Experiment, name) for name in ("generator", "length", "model", "seed")),
        *((model, name) for name in ("heads", "d_attn", "position")),
    }


def _draw_side_by_side(controls: list[tuple[type, str]]) -> None:
    shown = [(kind, name) for kind, name in controls if control_key(kind, name) not in _hidden()]
    for place, (kind, name) in zip(st.columns(max(1, len(shown))), shown, strict=False):
        with place:
            _draw_control(kind, name, unit=False)


def _draw_rest() -> None:
    """Draw the other controls: in a panel, or directly if a lesson names the visible controls."""
    groups = {
        "Process": chosen_part(Experiment, "generator"),
        "Model": chosen_part(Experiment, "model"),
        "Training": Training,
    }
    shown = {title: _rest_of(kind) for title, kind in groups.items()}
    # The panel's name is constant: Streamlit would close a panel whose name changes.
    has_more = any(shown.values()) and open_lesson().shown is None
    panel = st.expander("more", key="more", icon=":material/tune:") if has_more else st.container()
    for title, kind in groups.items():
        with panel:
            if shown[title]:
                st.markdown(f"**{title}**")
            _draw_options(kind)


def _rest_of(kind: type) -> list[str]:
    """Return the keys of the controls that “more” shows for a class, including its parts."""
    first, hidden = _at_first_sight(), _hidden()
    found = (field[:2] for field in fields(kind, in_form) if field[:2] not in first)
    keys = [control_key(owner, name) for owner, name in found if applies(owner, name)]
    return [key for key in keys if key not in hidden]


def draw_process_form() -> tuple[type[AbstractGenerator], dict[str, Any] | OptionError, int]:
    """Draw the controls of the process; return its class, its options by name, and the length.

    If an option cannot be read, its error replaces the options. Probabilities are left out, as is
    the length of a task, which follows from its options. The keys are those of the sidebar form, so
    both forms describe the same process.
    """
    st.subheader("Process", divider="gray")
    _draw_kind(Experiment, "generator")
    kind = chosen_part(Experiment, "generator")
    names = [name for name in options_of(kind) if name not in probability_options(kind)]
    controls = [(kind, name) for name in names if applies(kind, name)]
    if _size_control() == (Experiment, "length"):
        controls.append(_size_control())
    for owner, name in controls:
        _draw_control(owner, name)
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


def _hidden() -> tuple[str, ...]:
    return open_lesson().hidden


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
            st.page_link(QUESTION_PAGE, label="A published question", icon=":material/help_center:")


def _draw_kind(owner: type, name: str) -> None:
    """Draw the menu for an option whose value is a class of a registry."""
    spec, key = options_of(owner)[name], control_key(owner, name)
    if key in _hidden():
        return
    st.selectbox(
        label_of(name, spec),
        list(present(spec.registry)),
        key=key,
        help=f"{spec.help} Chosen: {chosen_part(owner, name).summary}",
        persist_state="session",
    )


def _draw_options(kind: type) -> bool:
    """Draw a class's options that are under “more”, with errors; return whether there was none."""
    is_good = True
    for name, spec in options_of(kind).items():
        is_seen = (kind, name) in _at_first_sight()
        if spec.registry is not None:
            if not is_seen:
                _draw_kind(kind, name)
            is_good &= _draw_options(chosen_part(kind, name))
        elif applies(kind, name) and not is_seen:
            is_good &= _draw_control(kind, name)
    return is_good and _is_readable(read_part, kind)


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
    spec, default, key = options_of(owner)[name], default_of(owner, name), control_key(owner, name)
    if key not in _hidden():
        common = {"key": key, "help": spec.help, "persist_state": "session"}
        _draw_widget(label_of(name, spec, unit=unit), spec, default, common)
    return _is_readable(read_option, owner, name)


def _draw_widget(label: str, spec: Option, default: Any, common: Mapping[str, Any]) -> None:
    if spec.choices:
        st.selectbox(label, spec.choices, **common)
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
