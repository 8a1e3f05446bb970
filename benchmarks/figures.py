"""All figures by name, in the order they are printed."""

from types import MappingProxyType

from benchmarks import first_point, pytorch, sampling, step_loop

FIGURES = MappingProxyType(
    {
        "step-loop": step_loop.FIGURE,
        "pytorch": pytorch.FIGURE,
        "sampling": sampling.FIGURE,
        "first-point": first_point.FIGURE,
    }
)
