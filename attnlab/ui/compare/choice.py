"""The settings to compare: controls, labels, named comparisons, and address parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnlab.comparisons.grid import (
    MOST_SEEDS,
    PRESET,
    Grid,
    Setting,
    Varied,
    alternatives,
    as_alternatives,
    from_parameters,
    is_parameter,
    to_parameters,
)
from attnlab.comparisons.questions import COMPARISONS, FIRST_COMPARISON
from attnlab.comparisons.records import differing_options
from attnlab.comparisons.summary import Row
from attnlab.configuration.options import (
    OptionError,
    default_of,
    fields,
    label_of,
    options_of,
    present,
)
from attnlab.inspection import measure_label, measures_for
from attnlab.models import ALL_MODELS
from attnlab.runs.option_texts import parts_with
from attnlab.runs.run_summary import FIGURES
from attnlab.training.experiment import Experiment
from attnlab.training.presets import PRESETS
from attnlab.ui.controls.address import OwnParameters
from attnlab.ui.controls.address_controls import number_field
from attnlab.ui.controls.form_state import ask_for_receipt, fill_form, is_behind
from attnlab.ui.core.outside import draw_error

# Options whose values are clear without the option's name.
_SPEAKING = (PRESET, "generator", "model")


def option_label(name: str, *, unit: bool = True) -> str:
    """Return the label of an option on screen, with or without its unit."""
    kinds = parts_with(name)
    return label_of(name, options_of(kinds[0])[name], unit=unit) if kinds else name


def setting_labels(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return a short, unique name for every row, made of the options that differ between rows."""
    names = differing_options(rows)
    found = [_label(row, names) for row in rows]
    return tuple(
        label if found.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(found, 1)
    )


def _label(row: Row, names: Sequence[str]) -> str:
    options = dict(row.setting.options)
    parts = [
        options[name] if name in _SPEAKING else f"{option_label(name, unit=False)} {options[name]}"
        for name in names
        if name in options
    ]
    return " · ".join(parts) or "these settings"


def draw_menu(label: str, names: Sequence[str], key: str, default: int = 0, **options: Any) -> str:
    """Draw a menu, which keeps its choice as long as that is one of the names."""
    if st.session_state.get(key) not in names:
        st.session_state[key] = names[default]
    return st.selectbox(label, names, key=key, persist_state="session", **options)


SEEDS, MORE, PRESET_KEY = "compare_seeds", "compare_more", "compare_preset"
METRICS = "compare_metrics"
# The result that the user chose to see in the charts.
FIGURE = "compare_figure_chosen"
# Options that always have a control, in their order on screen.
FIRST = ("generator", "model")


def key_of(name: str) -> str:
    """Return the key of the control for an option's values."""
    return f"vary_{name}"


def choices_of(name: str) -> tuple[str, ...]:
    """Return the possible values of an option, or () if the option is not limited to choices.

    If several parts have an option of that name, return the values that any of them allows.
    """
    if name == "preset":
        return tuple(PRESETS)
    specs = [options_of(kind)[name] for kind in parts_with(name)]
    return tuple(dict.fromkeys(text for spec in specs for text in spec.registry or spec.choices))


def further_options(base: Experiment) -> tuple[str, ...]:
    """Return the names of further options that can be varied, `preset` first."""
    chosen = [
        ALL_MODELS[name] for name in _values("model") or (base.model.name,) if name in ALL_MODELS
    ]
    registry = present(options_of(Experiment)["generator"].registry)
    chosen += [registry[n] for n in _values("generator") or (base.generator.name,) if n in registry]
    chosen = [base.model if type(base.model) is kind else kind for kind in chosen]
    # The length of a task follows from its other options.
    names = dict.fromkeys([PRESET, "length"] if base.generator.own_length() is None else [PRESET])
    for part in (base.training, *chosen):
        names |= dict.fromkeys(field.name for field in fields(part))
    return tuple(name for name in names if name not in (*FIRST, "seed", "training"))


def varied() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each option that has values in its control, with these values."""
    names = (*FIRST, *st.session_state.get(MORE, ()))
    return tuple((name, values) for name in names if (values := _values(name)))


def _values(name: str) -> tuple[str, ...]:
    state = st.session_state.get(key_of(name), "")
    return alternatives(name, state) if isinstance(state, str) else tuple(state)


def seeds() -> int:
    """Return the number of seeds per setting."""
    return st.session_state.get(SEEDS, default_of(Grid, "seeds"))


def metrics() -> tuple[str, ...]:
    """Return the names of the measures to take besides those of every run."""
    return tuple(st.session_state.get(METRICS, ()))


def choose(grid: Grid) -> None:
    """Callback: set all controls to a grid of settings."""
    _fill(grid)
    if grid.base is not None:
        fill_form(grid.base)


def _fill(chosen: Grid | Varied) -> None:
    # Delete the values of controls that are not drawn; the session would keep them.
    for key in [key for key in st.session_state if str(key).startswith(key_of(""))]:
        del st.session_state[key]
    for name, values in {**dict.fromkeys(FIRST, ()), **dict(chosen.options)}.items():
        st.session_state[key_of(name)] = _state_of(name, values)
    st.session_state[MORE] = [name for name, _ in chosen.options if name not in FIRST]
    st.session_state[SEEDS] = chosen.seeds
    st.session_state[METRICS] = list(chosen.metrics)
    if chosen.metrics:
        # What was shown before says nothing about this question.
        st.session_state.pop(FIGURE, None)


def _state_of(name: str, values: tuple[str, ...]) -> str | list[str]:
    choices = choices_of(name)
    return [v for v in values if v in choices] if choices else as_alternatives(name, values)


def _fill_from(query: Mapping[str, str]) -> tuple[str, ...]:
    found = from_parameters(query)
    _fill(found)
    unknown = [
        f"`{name}` has no choice '{value}'."
        for name, values in found.options
        for value in values
        if (choices := choices_of(name)) and value not in choices
    ]
    return (*found.notices, *unknown)


def _read() -> dict[str, str]:
    if SEEDS not in st.session_state:
        # No link and no earlier visit chose a comparison.
        _fill(COMPARISONS[FIRST_COMPARISON].grid)
        st.session_state[PRESET_KEY] = FIRST_COMPARISON
    chosen = COMPARISONS.get(st.session_state.get(PRESET_KEY, _OWN))
    given = varied(), seeds(), metrics()
    if chosen and (chosen.grid.options, chosen.grid.seeds, chosen.grid.metrics) != given:
        # Choosing the same comparison again then restores its settings.
        st.session_state[PRESET_KEY] = _OWN
        ask_for_receipt()
    return to_parameters(*given)


PARAMETERS = OwnParameters(is_parameter, _read, _fill_from)


_OWN = "(custom comparison)"


def draw_choice(base: Experiment) -> Grid | None:
    """Draw the controls of what varies; return their grid, or None after showing an error.

    Options that are not varied have their values in `base`.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name in FIRST:
            _draw_alternatives(name, base)
        number_field(
            "seeds",
            1,
            MOST_SEEDS,
            key=SEEDS,
            width=130,
            persist_state="session",
            help="Number of runs per setting. They differ in data, initial weights and batches. "
            "All settings use the same seeds, and the same data if process, length and sizes are "
            "equal.",
        )
        for name in st.session_state.get(MORE, ()):
            _draw_alternatives(name, base)
    try:
        return Grid(varied(), seeds(), first_seed=base.seed, base=base, metrics=metrics())
    except OptionError as error:
        draw_error(str(error))
        return None


def draw_question(title: str, base: Experiment | OptionError) -> None:
    """Draw the page's title, the menu of questions, what is compared, and on what."""
    chosen = COMPARISONS.get(st.session_state.get(PRESET_KEY, _OWN))
    about = "Is the difference between settings real? What you do not vary is in the sidebar."
    if chosen is not None:
        about = chosen.description
    if isinstance(base, Experiment) and not {PRESET, "generator", "length"} & dict(varied()).keys():
        about += f" {base.generator.rule_in_words(base.length)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        st.selectbox(
            "question",
            [_OWN, *COMPARISONS],
            format_func=lambda name: COMPARISONS[name].title if name in COMPARISONS else name,
            key=PRESET_KEY,
            on_change=_apply_preset,
            persist_state="session",
            label_visibility="collapsed",
            width=430,
        )
    with st.container(key="compare_question"):
        st.markdown(about)


def _apply_preset() -> None:
    chosen = COMPARISONS.get(st.session_state[PRESET_KEY])
    # A click on its way may carry the previous choice, as `apply_preset` describes.
    if chosen is not None and not is_behind():
        choose(chosen.grid)


# Finding the sites of a model takes some hundredths of a second.
_MOST_WITH_SITES = 20


def draw_more(base: Experiment, settings: Sequence[Setting]) -> None:
    """Draw the choice of further options to vary, and that of further measures of the settings.

    Each of these options has a control in `draw_choice`.
    """
    names = further_options(base)
    # Options of parts that are no longer selected stay until the user removes them.
    st.multiselect(
        "vary also",
        list(dict.fromkeys((*names, *st.session_state.get(MORE, ())))),
        format_func=option_label,
        key=MORE,
        placeholder="further options",
        persist_state="session",
    )
    shown = (each.experiment or base for each in settings[:_MOST_WITH_SITES])
    st.multiselect(
        "also measure",
        [name for name in dict.fromkeys((*measures_for(shown), *metrics())) if name not in FIGURES],
        format_func=measure_label,
        key=METRICS,
        placeholder="further measures",
        persist_state="session",
    )


def _draw_alternatives(name: str, base: Experiment) -> None:
    """Draw the control of one option's values; while it is empty, it shows the sidebar's value."""
    choices, label = choices_of(name), option_label(name)
    if choices:
        st.multiselect(
            label,
            choices,
            key=key_of(name),
            placeholder=_value_of(name, base),
            width=520 if name == "model" else 200,
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
        help="Separate values with commas; separate lists and tables with |.",
    )


def _value_of(name: str, base: Experiment) -> str:
    """Return the option's value in the sidebar's settings, as the placeholder of its control."""
    if name == PRESET:
        return "none"
    value = getattr(base, name, getattr(base.model, name, getattr(base.training, name, None)))
    if value is None:
        return "unchanged"
    return str(getattr(value, "name", value))
