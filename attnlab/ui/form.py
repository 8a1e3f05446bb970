"""The sidebar: an experiment as controls, drawn from the registries."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from attnlab.experiment import Experiment
from attnlab.generators import GENERATORS, AbstractGenerator
from attnlab.limits import check_limits
from attnlab.models import MODELS
from attnlab.number_text import read_numbers, show_numbers
from attnlab.options import Option, OptionError, default_of, label_of, options_of
from attnlab.positions import POSITIONS
from attnlab.presets import PRESETS
from attnlab.training import Training
from attnlab.ui.hosting import limits

_CUSTOM = "(own settings)"
# Wider ranges are typed: a slider could not hit one value of thousands.
_MOST_SLIDER_VALUES = 200
# Families whose options of the same name mean different things, with bounds of their own.
_PREFIXED = (*GENERATORS.values(), *POSITIONS.values())


def fill_form(experiment: Experiment) -> None:
    """Set every control to the experiment. For callbacks, before the controls are drawn."""
    for key, value in _values_of(experiment):
        st.session_state[key] = value


def draw_form() -> Experiment | OptionError:
    """Draw the controls; the experiment they describe, or what is wrong with it."""
    _fill_first_form()
    _draw_preset()
    problems: list[OptionError] = []
    st.subheader("Generator", divider="gray")
    generator = _draw_choice(Experiment, "generator", GENERATORS, problems)
    length = _draw_control(Experiment, "length", problems)
    st.subheader("Model", divider="gray")
    model = _draw_choice(Experiment, "model", MODELS, problems)
    st.subheader("Training", divider="gray")
    training = _draw_options(Training, problems)
    seed = _draw_control(Experiment, "seed", problems)
    if not problems:
        try:
            experiment = Experiment(generator, length, model, training, seed)
            check_limits(experiment, limits())
            return experiment
        except OptionError as error:
            problems.append(error)
    return problems[0]


def draw_process_form(
    problems: list[OptionError],
) -> tuple[type[AbstractGenerator], dict[str, Any], int]:
    """The controls of the process alone: its class, its options and the length.

    Options that are probabilities have no control here and are left out. The keys are those of
    the whole form, so that a process that is chosen in one place is chosen everywhere.
    """
    _fill_first_form()
    st.subheader("Generator", divider="gray")
    kind = _draw_kind(Experiment, "generator", GENERATORS)
    values = _draw_values(kind, problems, without=probability_options(kind))
    return kind, values, _draw_control(Experiment, "length", problems)


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


def _fill_first_form() -> None:
    if "generator" not in st.session_state:
        fill_form(Experiment())
        st.session_state["preset"] = "corrected-markov"


def _draw_preset() -> None:
    names = [_CUSTOM, *PRESETS]
    st.selectbox(
        "preset",
        names,
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
        fill_form(PRESETS[name].experiment)


def _draw_choice(
    owner: type, name: str, registry: Mapping[str, type], problems: list[OptionError]
) -> Any:
    """A menu of the registry, and the options of the chosen class below it."""
    return _draw_options(_draw_kind(owner, name, registry), problems)


def _draw_kind(owner: type, name: str, registry: Mapping[str, type]) -> type:
    chosen = st.selectbox(
        label_of(name, options_of(owner)[name]),
        list(registry),
        key=control_key(owner, name),
        help=options_of(owner)[name].help,
        persist_state="session",
    )
    kind = registry[chosen]
    st.caption(kind.summary)
    return kind


def _draw_options(kind: type, problems: list[OptionError]) -> Any:
    """Every option of the class, and the instance they describe, or None with a problem noted."""
    before = len(problems)
    values = _draw_values(kind, problems)
    if len(problems) > before:
        return None
    try:
        return kind(**values)
    except OptionError as error:
        st.error(str(error), icon=":material/error:")
        problems.append(error)
        return None


def _draw_values(
    kind: type, problems: list[OptionError], *, without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The value of every option of the class, but for those `without` a control here."""
    values: dict[str, Any] = {}
    for name, spec in options_of(kind).items():
        if name in without:
            continue
        if not _applies(kind, name, values):
            values[name] = default_of(kind, name)
        elif spec.registry is not None:
            values[name] = _draw_choice(kind, name, spec.registry, problems)
        else:
            values[name] = _draw_control(kind, name, problems)
    return values


def _applies(kind: type, name: str, values: Mapping[str, Any]) -> bool:
    """Whether the option has a meaning beside the values of the options before it."""
    if name == "temperature":
        return values["scale"] == "temperature"
    if name == "batch":
        return values["batch_mode"] == "minibatch"
    if name == "train_size":
        return values["data"] == "fixed"
    return True


def _draw_control(owner: type, name: str, problems: list[OptionError]) -> Any:
    """One control for one option; its value, or None with the problem noted and shown."""
    spec, default, key = options_of(owner)[name], default_of(owner, name), control_key(owner, name)
    label, common = (
        label_of(name, spec),
        {"key": key, "help": spec.help, "persist_state": "session"},
    )
    if spec.choices:
        return st.selectbox(label, spec.choices, **common)
    if isinstance(default, str):
        return st.text_input(label, **common)
    if isinstance(default, tuple):
        text = _draw_numbers(label, default, common)
        try:
            return read_numbers(name, text, default)
        except OptionError as error:
            st.error(str(error), icon=":material/error:")
            problems.append(error)
            return None
    if isinstance(default, int) and spec.high - spec.low <= _MOST_SLIDER_VALUES:
        return st.slider(label, int(spec.low), int(spec.high), **common)
    if isinstance(default, int):
        return st.number_input(label, int(spec.low), int(spec.high), step=_step(spec), **common)
    step = st.session_state[key] / 10 if spec.logarithmic else 0.01
    return st.number_input(
        label, float(spec.low), float(spec.high), step=float(step), format="%g", **common
    )


def _step(spec: Option) -> int:
    return 100 if spec.high >= 5_000 and spec.low <= 100 and spec.high < 2**30 else 1


def _draw_numbers(label: str, default: tuple, common: Mapping[str, Any]) -> str:
    if isinstance(default[0], tuple):
        return st.text_area(f"{label}, a row a line", height="content", **common)
    return st.text_input(label, **common)


def control_key(owner: type, name: str) -> str:
    """The key of a control, which is also its name in tests and links."""
    return f"{owner.name}_{name}" if owner in _PREFIXED else name


def _values_of(configuration: Any) -> Iterator[tuple[str, Any]]:
    """The state of every control of a configuration, nested ones included."""
    for name, spec in options_of(configuration).items():
        value = getattr(configuration, name)
        if dataclasses.is_dataclass(value):
            if spec.registry and len(spec.registry) > 1:
                yield control_key(type(configuration), name), value.name
                yield from _defaults_of_others(spec.registry, value)
            yield from _values_of(value)
        else:
            key = control_key(type(configuration), name)
            yield key, show_numbers(value) if isinstance(value, tuple) else value


def _defaults_of_others(registry: Mapping[str, type], chosen: Any) -> Iterator[tuple[str, Any]]:
    """Controls that stand ready for the day another class of the registry is chosen."""
    for kind in registry.values():
        if kind is not type(chosen):
            yield from _values_of(kind())
