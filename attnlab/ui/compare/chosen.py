"""What is compared, as the controls say it, on the page and in the address."""

from collections.abc import Mapping

import streamlit as st

from attnlab.comparisons.grid import Grid, alternatives, as_alternatives
from attnlab.comparisons.planning.links import Varied, from_parameters, is_parameter, to_parameters
from attnlab.configuration.options import Option, default_of, fields, options_of
from attnlab.models import ALL_MODELS
from attnlab.runs.option_texts import parts_with
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.controls.link_bar import OwnParameters

SEEDS, MORE, PRESET_KEY = "compare_seeds", "compare_more", "compare_preset"
# Those that are always there, in their order.
FIRST = ("generator", "model", "length", "d_attn")


def key_of(name: str) -> str:
    """The key of the control of an option's alternatives."""
    return f"vary_{name}"


def choices_of(name: str) -> tuple[str, ...]:
    """What an option may be, where it is one of few; else nothing.

    Options of several parts may have one name: those that any of them allows.
    """
    if name == "preset":
        return tuple(PRESETS)
    specs = [options_of(kind)[name] for kind in parts_with(name)]
    return tuple(dict.fromkeys(text for spec in specs for text in _texts_of(spec)))


def _texts_of(spec: Option) -> tuple[str, ...]:
    return spec.choices if spec.registry is None else tuple(spec.registry)


def further_options(base: Experiment) -> tuple[str, ...]:
    """The names of the other options that the chosen parts have, and `preset`."""
    chosen = [
        ALL_MODELS[name] for name in _values("model") or (base.model.name,) if name in ALL_MODELS
    ]
    registry = options_of(Experiment)["generator"].registry
    chosen += [registry[n] for n in _values("generator") or (base.generator.name,) if n in registry]
    chosen = [base.model if type(base.model) is kind else kind for kind in chosen]
    names: dict[str, None] = {"preset": None}
    for part in (base.training, *chosen):
        names |= dict.fromkeys(field.name for field in fields(part))
    return tuple(name for name in names if name not in (*FIRST, "seed", "training"))


def varied() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The options that have alternatives, with these."""
    names = (*FIRST, *st.session_state.get(MORE, ()))
    return tuple((name, values) for name in names if (values := _values(name)))


def _values(name: str) -> tuple[str, ...]:
    state = st.session_state.get(key_of(name), "")
    return alternatives(name, state) if isinstance(state, str) else tuple(state)


def seeds() -> int:
    """How many seeds every setting is run with."""
    return st.session_state.get(SEEDS, default_of(Grid, "seeds"))


def choose(grid: Grid) -> None:
    """Set all controls to a comparison. For callbacks."""
    _fill(Varied(grid.options, grid.seeds))
    if grid.base is not None:
        fill_form(grid.base)


def _fill(asked: Varied) -> None:
    # Of controls that are not there the session would keep what they once said.
    for key in [key for key in st.session_state if str(key).startswith(key_of(""))]:
        del st.session_state[key]
    for name, values in ((name, ()) for name in FIRST):
        st.session_state[key_of(name)] = _state_of(name, values)
    for name, values in asked.options:
        st.session_state[key_of(name)] = _state_of(name, values)
    st.session_state[MORE] = [name for name, _ in asked.options if name not in FIRST]
    st.session_state[SEEDS] = asked.seeds


def _state_of(name: str, values: tuple[str, ...]) -> str | list[str]:
    choices = choices_of(name)
    return [v for v in values if v in choices] if choices else as_alternatives(name, values)


def _read() -> dict[str, str]:
    return to_parameters(varied(), seeds())


def _fill_from(query: Mapping[str, str]) -> tuple[str, ...]:
    asked = from_parameters(query)
    _fill(asked)
    unknown = [
        f"`{name}` has no choice '{value}'."
        for name, values in asked.options
        for value in values
        if (choices := choices_of(name)) and value not in choices
    ]
    return (*asked.notices, *unknown)


PARAMETERS = OwnParameters(is_parameter, _read, _fill_from)
