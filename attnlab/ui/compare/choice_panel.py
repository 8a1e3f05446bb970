"""What is compared: chosen, or taken from a named comparison."""

import streamlit as st

from attnlab.comparisons.grid import MOST_SEEDS, PRESET, Grid
from attnlab.comparisons.planning.presets import COMPARISONS
from attnlab.configuration.options import OptionError
from attnlab.training.experiment import Experiment
from attnlab.ui.compare.chosen import (
    FIRST,
    MORE,
    PRESET_KEY,
    SEEDS,
    choices_of,
    choose,
    further_options,
    key_of,
    seeds,
    varied,
)
from attnlab.ui.compare.findings.words import option_label
from attnlab.ui.controls.number_field import number_field
from attnlab.ui.core.outside import draw_error

_OWN = "(own comparison)"


def draw_choice(base: Experiment) -> Grid | None:
    """The controls; the grid that they describe, or None where they cannot, which is told."""
    _draw_presets()
    # That of a task follows from other options.
    has_own_length = base.generator.own_length() is not None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name in FIRST:
            if name != "length" or st.session_state.get(key_of(name)) or not has_own_length:
                _draw_alternatives(name, base)
        st.session_state.setdefault(SEEDS, seeds())
        number_field(
            "seeds",
            1,
            MOST_SEEDS,
            key=SEEDS,
            width=130,
            persist_state="session",
            help="Runs of every setting, which differ in data, starting weights and batches. All "
            "settings have the same seeds. They meet the same data if process, length and the "
            "sizes of the data are equal.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _draw_more(base)
        for name in st.session_state.get(MORE, ()):
            _draw_alternatives(name, base)
    try:
        return Grid(varied(), seeds(), first_seed=base.seed, base=base)
    except OptionError as error:
        draw_error(str(error))
        return None


def _draw_presets() -> None:
    now = varied(), seeds()
    chosen = COMPARISONS.get(st.session_state.get(PRESET_KEY, _OWN))
    if chosen is not None and (chosen.grid.options, chosen.grid.seeds) != now:
        # To choose it again is then a change, which puts its settings back.
        st.session_state[PRESET_KEY], chosen = _OWN, None
    st.selectbox(
        "question",
        [_OWN, *COMPARISONS],
        format_func=lambda name: COMPARISONS[name].title if name in COMPARISONS else name,
        key=PRESET_KEY,
        on_change=_apply_preset,
        persist_state="session",
        width=420,
        help="A named comparison. Choosing one sets the controls below and, for most, the settings "
        "of the sidebar.",
    )
    if chosen is not None:
        st.caption(chosen.description)


def _apply_preset() -> None:
    chosen = COMPARISONS.get(st.session_state[PRESET_KEY])
    if chosen is not None:
        choose(chosen.grid)


def _draw_more(base: Experiment) -> None:
    names = further_options(base)
    # Those of parts that are no more chosen stay, to be removed by hand.
    st.multiselect(
        "vary also",
        list(dict.fromkeys((*names, *st.session_state.get(MORE, ())))),
        format_func=option_label,
        key=MORE,
        placeholder="add an option",
        width=300,
        persist_state="session",
        help="Any other option of the chosen process, model and training. Each gets a field for "
        "its alternatives.",
    )


def _draw_alternatives(name: str, base: Experiment) -> None:
    """The control of the alternatives of one option; empty, it has the value of the settings."""
    choices, label = choices_of(name), option_label(name)
    if choices:
        st.multiselect(
            label,
            choices,
            key=key_of(name),
            placeholder=_value_of(name, base),
            width=260,
            persist_state="session",
        )
        return
    st.text_input(
        label,
        key=key_of(name),
        placeholder=_value_of(name, base),
        width=170,
        max_chars=500,
        persist_state="session",
        help="Values, with commas between them; lists and tables with | between them.",
    )


def _value_of(name: str, base: Experiment) -> str:
    """What an option has without alternatives, for an empty control."""
    if name == PRESET:
        return "none"
    value = getattr(base, name, getattr(base.model, name, getattr(base.training, name, None)))
    if value is None:
        return "as it is"
    return str(getattr(value, "name", value))
