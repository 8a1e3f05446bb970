"""All figures by name, in the order they are printed."""

from types import MappingProxyType

from benchmarks import (
    attention_memory,
    first_chart,
    first_point,
    library,
    many_runs,
    pytorch,
    sampling,
    slider,
    step_loop,
    watched,
    writing,
)

FIGURES = MappingProxyType(
    {
        "step-loop": step_loop.FIGURE,
        "pytorch": pytorch.FIGURE,
        "pytorch-cards": pytorch.WITH_SOURCE,
        "writing": writing.FIGURE,
        "sampling": sampling.FIGURE,
        "first-chart": first_chart.FIGURE,
        "first-point": first_point.FIGURE,
        "by-depth": first_point.BY_DEPTH,
        "watched": watched.FIGURE,
        "slider": slider.FIGURE,
        "many-runs": many_runs.FIGURE,
        "attention-memory": attention_memory.FIGURE,
        "library": library.FIGURE,
    }
)
