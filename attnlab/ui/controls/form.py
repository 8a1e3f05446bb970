"""The sidebar: an experiment as controls, drawn from the registries."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from attnlab.configuration.options import (
    MOST_CHARACTERS,
    MOST_TYPED,
    Option,
    OptionError,
    default_of,
    label_of,
    options_of,
)
from attnlab.generators import AbstractGenerator, AbstractTask
from attnlab.runs.links import Lesson, control_key
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
from attnlab.ui.controls.number_field import number_field
from attnlab.ui.core.outside import draw_error

# Wider ranges are typed: a slider could not hit one value of thousands.
_MOST_SLIDER_VALUES = 200
# How a control looks whose value is refused.
_MARKED = "{ border-left: 3px solid #d9364f; padding-left: 0.5rem; }"


def draw_form() -> Experiment | OptionError:
    """Draw the controls; the experiment they describe, or what is wrong with it.

    Those of `_at_first_sight` are seen at once, the others under “more”.
    """
    problems: list[OptionError] = []
    # Each has a place of its own: if the number of controls above “more” changed, it would be made
    # anew, and closed.
    at_first_sight, rest = st.container(), st.container()
    with at_first_sight:
        _draw_first(problems)
    with rest:
        _draw_rest(problems)
    return read_form()


def draw_form_problem(error: OptionError) -> None:
    """Draw why the controls describe no experiment, and mark the control that it is about."""
    draw_error(f"These settings cannot run. {in_control_words(error)}")
    if control := _control_of(error):
        st.html(f"<style>.st-key-{control_key(*control)} {_MARKED}</style>")


def in_control_words(error: OptionError) -> str:
    """Return the message of an error, with the label of a control in place of an option's name."""
    control = _control_of(error)
    if control is None:
        return str(error)
    kind, name = control
    label = label_of(name, dataclasses.replace(options_of(kind)[name], unit=""))
    # Behind the name there may be the row of a table.
    return str(error).replace(f"`{name}", f"`{label}", 1)


def _control_of(error: OptionError) -> tuple[type, str] | None:
    """The class and the name of the option that an error is about, if it has a control."""
    name, *_ = error.name.split()
    parts = _chosen_parts(Experiment)
    return next(((kind, name) for kind in parts if name in options_of(kind)), None)


def _chosen_parts(kind: type) -> Iterator[type]:
    yield kind
    for name, spec in options_of(kind).items():
        if spec.registry is not None:
            yield from _chosen_parts(chosen_part(kind, name))


def _draw_first(problems: list[OptionError]) -> None:
    if "preset" not in _hidden():
        _draw_preset()
    model = chosen_part(Experiment, "model")
    _draw_kind(Experiment, "generator")
    _draw_side_by_side([_size_control(), (Experiment, "seed")], problems)
    _draw_kind(Experiment, "model")
    widths = [(model, name) for name in ("heads", "d_attn") if name in options_of(model)]
    _draw_side_by_side(widths, problems)
    if "position" in options_of(model):
        _draw_kind(model, "position")


def _size_control() -> tuple[type, str]:
    """The option that says how long a sequence is; that of a task follows from its source."""
    process = chosen_part(Experiment, "generator")
    if issubclass(process, AbstractTask):
        return process, process.size_option
    return Experiment, "length"


def _at_first_sight() -> set[tuple[type, str]]:
    model = chosen_part(Experiment, "model")
    return {
        _size_control(),
        *((Experiment, name) for name in ("generator", "length", "model", "seed")),
        *((model, name) for name in ("heads", "d_attn", "position")),
    }


def _draw_side_by_side(controls: list[tuple[type, str]], problems: list[OptionError]) -> None:
    shown = [(kind, name) for kind, name in controls if control_key(kind, name) not in _hidden()]
    for place, (kind, name) in zip(st.columns(max(1, len(shown))), shown, strict=False):
        with place:
            _draw_control(kind, name, problems, unit=False)


def _draw_rest(problems: list[OptionError]) -> None:
    """Draw all other controls: in a panel, or openly where a lesson names those that are shown."""
    groups = {
        "Process": chosen_part(Experiment, "generator"),
        "Model": chosen_part(Experiment, "model"),
        "Training": Training,
    }
    shown = {title: _rest_of(kind) for title, kind in groups.items()}
    # Always of one name: with another one Streamlit would close it under the hand that changed it.
    has_more = any(shown.values()) and _lesson().shown is None
    panel = st.expander("more", key="more", icon=":material/tune:") if has_more else st.container()
    for title, kind in groups.items():
        with panel:
            if shown[title]:
                st.markdown(f"**{title}**")
            _draw_options(kind, problems)


def _rest_of(kind: type) -> list[str]:
    """The keys of the controls of a class and its parts that “more” shows."""
    keys = []
    for name, spec in options_of(kind).items():
        key = control_key(kind, name)
        if applies(kind, name) and (kind, name) not in _at_first_sight() and key not in _hidden():
            keys.append(key)
        if spec.registry is not None:
            keys += _rest_of(chosen_part(kind, name))
    return keys


def draw_process_form(
    problems: list[OptionError],
) -> tuple[type[AbstractGenerator], dict[str, Any], int]:
    """The controls of the process alone: its class, its options and the length.

    The length of a task follows from its options and has no control. Options that are
    probabilities have none here and are left out. The keys are those of the whole form, so that a
    process that is chosen in one place is chosen everywhere.
    """
    st.subheader("Process", divider="gray")
    _draw_kind(Experiment, "generator")
    kind, values = chosen_part(Experiment, "generator"), {}
    for name in options_of(kind):
        if name in probability_options(kind):
            continue
        if _draw_control(kind, name, problems):
            values[name] = read_option(kind, name)
    if _size_control() == (Experiment, "length"):
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
    return _lesson().hidden


def _lesson() -> Lesson:
    return st.session_state.get("lesson", Lesson())


def _draw_preset() -> None:
    chosen = PRESETS.get(st.session_state["preset"])
    if chosen is not None and not _is_but_for_the_seed(chosen.experiment, read_form()):
        # To choose the preset again is then a change, which puts its settings back.
        st.session_state["preset"], chosen = OWN_SETTINGS, None
    about = f" Chosen: {chosen.description}" if chosen else ""
    st.selectbox(
        "preset",
        [OWN_SETTINGS, *PRESETS],
        key="preset",
        on_change=_apply_preset,
        persist_state="session",
        help=f"A named experiment. Choosing one sets every control below.{about}",
    )


def _is_but_for_the_seed(experiment: Experiment, form: Experiment | OptionError) -> bool:
    return isinstance(form, Experiment) and dataclasses.replace(form, seed=experiment.seed) == (
        experiment
    )


def _apply_preset() -> None:
    name = st.session_state["preset"]
    if name in PRESETS:
        fill_form(PRESETS[name].experiment, preset=name)


def _draw_kind(owner: type, name: str) -> None:
    """A menu of a registry."""
    spec, key = options_of(owner)[name], control_key(owner, name)
    if key in _hidden():
        return
    st.selectbox(
        label_of(name, spec),
        list(spec.registry),
        key=key,
        help=f"{spec.help} Chosen: {chosen_part(owner, name).summary}",
        persist_state="session",
    )


def _draw_options(kind: type, problems: list[OptionError]) -> None:
    """Every option of the class that is not seen at once, and what it refuses about them."""
    before = len(problems)
    for name, spec in options_of(kind).items():
        is_seen = (kind, name) in _at_first_sight()
        if spec.registry is not None:
            if not is_seen:
                _draw_kind(kind, name)
            _draw_options(chosen_part(kind, name), problems)
        elif applies(kind, name) and not is_seen:
            _draw_control(kind, name, problems)
    if len(problems) == before:
        try:
            read_part(kind)
        except OptionError as error:
            _tell(error, problems)


def _tell(error: OptionError, problems: list[OptionError]) -> None:
    draw_error(in_control_words(error))
    problems.append(error)


def _draw_control(
    owner: type, name: str, problems: list[OptionError], *, unit: bool = True
) -> bool:
    """One control for one option; whether its value could be read. If not, why is shown."""
    spec, default, key = options_of(owner)[name], default_of(owner, name), control_key(owner, name)
    if key not in _hidden():
        common = {"key": key, "help": spec.help, "persist_state": "session"}
        label = label_of(name, spec if unit else dataclasses.replace(spec, unit=""))
        _draw_widget(label, spec, default, common)
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
        rows = f"{label}, one row per line"
        st.text_area(rows, height="content", max_chars=MOST_TYPED, **common)
    elif isinstance(default, str | tuple):
        most = MOST_CHARACTERS if isinstance(default, str) else MOST_TYPED
        st.text_input(label, max_chars=most, **common)
    elif isinstance(default, int) and spec.high - spec.low <= _MOST_SLIDER_VALUES:
        st.slider(label, int(spec.low), int(spec.high), **common)
    elif isinstance(default, int):
        number_field(label, int(spec.low), int(spec.high), step=_step(spec), **common)
    else:
        step = st.session_state[common["key"]] / 10 if spec.logarithmic else 0.01
        number_field(
            label, float(spec.low), float(spec.high), step=float(step), format="%g", **common
        )


def _step(spec: Option) -> int:
    return 100 if spec.high >= 5_000 and spec.low <= 100 and spec.high < 2**30 else 1
