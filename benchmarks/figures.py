"""All figures by name, in the order they are printed."""

from types import MappingProxyType

from benchmarks import (
    attention_memory,
    first_chart,
    first_point,
    pytorch,
    sampling,
    slider,
    step_loop,
    watched,
)

FIGURES = MappingProxyType(
    {
        "step-loop": step_loop.FIGURE,
        "pytorch": pytorch.FIGURE,
        "sampling": sampling.FIGURE,
        "first-chart": first_chart.FIGURE,
        "first-point": first_point.FIGURE,
        "by-depth": first_point.BY_DEPTH,
        "watched": watched.FIGURE,
        "slider": slider.FIGURE,
        "attention-memory": attention_memory.FIGURE,
    }
)
