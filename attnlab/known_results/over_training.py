"""Numbers of whole runs, which follow from measures over training, and plots of one run."""

import math
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from attnlab.comparisons.shipped import Plot
from attnlab.configuration.options import present
from attnlab.inspection.fourier import fourier_circle, fourier_power
from attnlab.inspection.mechanisms import number_embeddings
from attnlab.runs.run_summary import RunSummary

_SOLVED, _HALF, _LATER = 0.95, 0.5, 500


def delay_of_test_accuracy(result: RunSummary) -> float:
    """Return the steps until the test set is solved over those until the training set is.

    A set is solved at an accuracy of 0.95. If it never is, the last step counts. The test set
    counts only once the training set is solved.
    """
    training = _series(result, "training_accuracy")
    test = {step: test.accuracy for step, test in result.tests}
    solved = [step for step, share in training.items() if share >= _SOLVED]
    both = [step for step in solved if test[step] >= _SOLVED]
    return next(iter(both), result.steps) / next(iter(solved), result.steps)


def steps_between_drop_and_heads(result: RunSummary) -> float:
    """Return the steps during which only one of prefix match and loss is past its midpoint.

    The midpoint is 0.5 for the prefix match, and half of the untrained loss above the floor.
    """
    match, excess = _series(result, "prefix_match"), _series(result, "expected_excess")
    first = next(iter(excess.values()))
    apart = [(match[step] >= _HALF) != (excess[step] <= first / 2) for step in match]
    return _steps(match, apart)


def steps_nearest_to_unigram(result: RunSummary) -> float:
    """Return the steps during which the in-context unigram is the nearest reference."""
    nearest = _series(result, "is_nearest_to_unigram")
    return _steps(nearest, nearest.values())


def rise_of_dimension(result: RunSummary) -> float:
    """Return the dimension of the activations at the end minus that at step 500."""
    found = _series(result, "dimension")
    return found[result.steps] - found[_LATER]


def _series(result: RunSummary, name: str) -> dict[int, float]:
    return dict(result.metrics[name])


def _steps(series: dict[int, float], are_counted: Iterable[float]) -> float:
    """Return how many steps are counted, by evenly spaced ones."""
    first, second, *_ = series
    return (second - first) * float(sum(are_counted))


class Number(NamedTuple):
    """A number of a run: its name on screen, its function, the measures it needs, its bounds."""

    label: str
    of: Callable[[RunSummary], float]
    metrics: tuple[str, ...]
    bounds: tuple[float, float] = (0.0, math.inf)


NUMBERS = MappingProxyType(
    {
        "delay_of_test_accuracy": Number(
            "delay of test accuracy (factor)", delay_of_test_accuracy, ("training_accuracy",)
        ),
        "steps_between_drop_and_heads": Number(
            "steps between the drop of the loss and induction heads",
            steps_between_drop_and_heads,
            ("prefix_match", "expected_excess"),
        ),
        "steps_nearest_to_unigram": Number(
            "steps nearest to the unigram",
            steps_nearest_to_unigram,
            ("is_nearest_to_unigram",),
            (0.0, 2_000.0),
        ),
        "rise_of_dimension": Number(
            "rise of the dimension",
            rise_of_dimension,
            ("dimension",),
            (-math.inf, math.inf),
        ),
    }
)


def plots_of_grokking(result: RunSummary) -> Iterator[Plot]:
    """Yield the plots of a run that learns to add modulo p."""
    lines = {
        "training": _series(result, "training_accuracy"),
        "test": {step: test.accuracy for step, test in result.tests},
        "new": _series(result, "accuracy_on_new_pairs"),
    }
    at = lines["training"]
    title = "Accuracy; new pairs were trained in neither order"
    points = [(name, step, line[step]) for name, line in lines.items() for step in at]
    yield Plot(title, "line", "step", "accuracy", tuple(points))
    norms = tuple(("", *each) for each in result.metrics["weight_norm"])
    yield Plot("Norm of all weights", "line", "step", "norm", norms)
    numbers = number_embeddings(present(result.run).state.model)
    power = fourier_power(numbers)
    bars = tuple(("", float(k), float(share)) for k, share in enumerate(power, 1))
    yield Plot("Power of the number embeddings by frequency", "bar", "frequency", "share", bars)
    strongest = int(power.argmax()) + 1
    circle = enumerate(fourier_circle(numbers, strongest).tolist())
    title = f"The numbers along the strongest frequency, {strongest}"
    yield Plot(title, "name", "cosine", "sine", tuple((str(a), x, y) for a, (x, y) in circle))


# By name of the known result: the plots of its first run, and the measures that they need.
PLOTS = MappingProxyType(
    {"grokking": (plots_of_grokking, ("accuracy_on_new_pairs", "weight_norm"))}
)
