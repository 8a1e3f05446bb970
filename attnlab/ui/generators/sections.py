"""The sections of the Generators page, and their parameters in its address."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from attnlab.configuration.options import quoted
from attnlab.optimum import agreement, baselines_of, dependence, frequencies, optimum
from attnlab.ui.controls.address import OwnParameters

# By section: the functions whose results it shows, besides the sample.
SECTIONS: Mapping[str, tuple[Callable[..., Any], ...]] = MappingProxyType(
    {
        "Formula": (),
        "Frequencies": (frequencies, agreement),
        "Best possible": (optimum, baselines_of),
        "What matters": (dependence,),
    }
)
# Measures of dependence. `{word}` is the process's noun for a position.
MEASURES = MappingProxyType(
    {"replacement": "change of the prediction", "information": "loss without the {word}"}
)
SECTION_KEY, MEASURE_KEY = "generators_section", "dependence_measure"
_CHOICES = MappingProxyType({SECTION_KEY: tuple(SECTIONS), MEASURE_KEY: tuple(MEASURES)})


def _read() -> dict[str, str]:
    chosen = {key: st.session_state.setdefault(key, of[0]) for key, of in _CHOICES.items()}
    return {key: text for key, text in chosen.items() if text != _CHOICES[key][0]}


def _fill(query: Mapping[str, str]) -> tuple[str, ...]:
    for key, choices in _CHOICES.items():
        st.session_state[key] = query[key] if query.get(key) in choices else choices[0]
    return tuple(
        f"`{key}` has no choice {quoted(text)}."
        for key, text in query.items()
        if text not in _CHOICES[key]
    )


def _clear() -> None:
    _fill({})


PARAMETERS = OwnParameters(_CHOICES.__contains__, _read, _fill, _clear)
