"""The sections of the Processes page, and their parameters in its address."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attnlab.optimum import agreement, baselines_of, dependence, frequencies, optimum
from attnlab.testing.law_report import usual_report
from attnlab.ui.controls.address import choices_in_address

# By section: the functions whose results it shows, besides the sample.
SECTIONS: Mapping[str, tuple[Callable[..., Any], ...]] = MappingProxyType(
    {
        "Formula": (),
        "Frequencies": (frequencies, agreement),
        "Best possible": (optimum, baselines_of),
        "What matters": (dependence,),
        "Laws": (usual_report,),
    }
)
NEED_LAW = ("What matters", "Laws")
# Measures of dependence. `{word}` is the process's noun for a position.
MEASURES = MappingProxyType(
    {"replacement": "change of the prediction", "information": "loss without the {word}"}
)
SECTION_KEY, MEASURE_KEY = "generators_section", "dependence_measure"
PARAMETERS = choices_in_address({SECTION_KEY: tuple(SECTIONS), MEASURE_KEY: tuple(MEASURES)})
