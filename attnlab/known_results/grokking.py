"""Grokking: a model memorises sums modulo p long before it can add."""

import dataclasses
import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import cast

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Float

from attnlab.configuration.options import present
from attnlab.inspection.fourier import fourier_circle, fourier_power
from attnlab.known_results.entry import SHARE, Check, KnownResult, Plot
from attnlab.models import AbstractModel
from attnlab.models.transformer import Transformer
from attnlab.runs.run_summary import RunSummary
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Setup
from attnlab.training.optimisers import AdamW
from attnlab.training.presets import PRESETS
from attnlab.training.sources import FullSource

_START = PRESETS["grokking"].experiment
_PLAIN = dataclasses.replace(_START.training, optimiser=AdamW(weight_decay=0.0))
_DECAY, _NONE = "weight decay", "no weight decay"
_DELAY, _FOURIER = "delay of test accuracy (factor)", "power in four frequencies"
_TRAINING, _TEST, _NORM = "training accuracy", "test accuracy", "norm of all weights"
_NEW = "accuracy on pairs new in both orders"
_SOLVED, _FREQUENCIES = 0.95, 4
_LAST = _START.training.steps
# Evenly spaced on a logarithmic axis.
_STEPS = tuple(np.unique(np.geomspace(10, _LAST, 40).round().astype(int)).tolist())


def training_accuracy(model: AbstractModel, setup: Setup) -> float:
    """Return the accuracy on the training set."""
    return evaluate(model, cast(FullSource, setup.source).sequences, readout="last").accuracy


def tested_accuracy(model: AbstractModel, setup: Setup) -> float:
    """Return the accuracy on the test set."""
    return evaluate(model, setup.test, readout="last").accuracy


def new_accuracy(model: AbstractModel, setup: Setup) -> float:
    """Return the accuracy on the test pairs (a, b) for which (b, a) was not trained either."""
    trained = {(a, b) for a, b, *_ in np.asarray(cast(FullSource, setup.source).sequences).tolist()}
    new = np.array([(b, a) not in trained for a, b, *_ in np.asarray(setup.test).tolist()])
    return evaluate(model, setup.test[new], readout="last").accuracy


def solved(model: AbstractModel, setup: Setup) -> float:
    """Return 0 before the training accuracy is 0.95, then 1, and 2 if the test accuracy is too."""
    if training_accuracy(model, setup) < _SOLVED:
        return 0
    return 1 + (tested_accuracy(model, setup) >= _SOLVED)


def delay(found: list[float]) -> float:
    """Return the steps until the test set is solved over those until the training set is.

    A set is solved at an accuracy of 0.95. If it never is, the last step counts.
    """
    training, test = (
        next((step for step, many in zip(_STEPS, found, strict=True) if many >= least), _LAST)
        for least in (1, 2)
    )
    return test / training


def weight_norm(model: AbstractModel, setup: Setup) -> float:
    """Return the square root of the sum of all squared weights."""
    return float(optax.global_norm(jax.tree.leaves(eqx.filter(model, eqx.is_array))))


def _numbers(model: AbstractModel) -> Float[np.ndarray, "numbers width"]:
    """Return the embeddings of the numbers 0 … p - 1; the last token is the equals sign."""
    return np.asarray(cast(Transformer, model).tokens, np.float64)[:-1]


def power_in_few(model: AbstractModel, setup: Setup) -> float:
    """Return the share of the embedding's power in its four strongest frequencies."""
    return float(np.sort(fourier_power(_numbers(model)))[-_FREQUENCIES:].sum())


def plots(result: RunSummary) -> Iterator[Plot]:
    """Yield the plots of a run."""
    lines = {"training": _TRAINING, "test": _TEST, "new": _NEW}
    for title, y, names in (
        ("Accuracy; new pairs were trained in neither order", "accuracy", lines),
        ("Norm of all weights", "norm", {"": _NORM}),
    ):
        points = [(of, *at) for of, name in names.items() for at in result.metrics[name]]
        yield Plot(title, "line", "step", y, tuple(points))
    numbers = _numbers(present(result.run).state.model)
    power = fourier_power(numbers)
    bars = tuple(("", float(k), float(share)) for k, share in enumerate(power, 1))
    yield Plot("Power of the number embeddings by frequency", "bar", "frequency", "share", bars)
    strongest = int(power.argmax()) + 1
    circle = enumerate(fourier_circle(numbers, strongest).tolist())
    title = f"The numbers along the strongest frequency, {strongest}"
    yield Plot(title, "name", "cosine", "sine", tuple((str(a), x, y) for a, (x, y) in circle))


RESULT = KnownResult(
    name="grokking",
    title="Grokking: adding modulo 37",
    claim="A transformer first memorises its training pairs. With weight decay it generalises to "
    "the others, but only much later. It then represents numbers by a few frequencies.",
    source="Power et al. (2022), “Grokking: generalization beyond overfitting on small algorithmic "
    "datasets”; Nanda et al. (2023), “Progress measures for grokking via mechanistic "
    "interpretability”",
    settings=MappingProxyType(
        {_DECAY: _START, _NONE: dataclasses.replace(_START, training=_PLAIN)}
    ),
    checks=(
        Check(
            "With weight decay, the test accuracy is at least 0.95.", _DECAY, "accuracy", 0.95, 1.0
        ),
        Check(
            "Accuracy 0.95 takes at least 3 times as many steps on the test set as on the training "
            "set.",
            _DECAY,
            _DELAY,
            least=3,
        ),
        Check(
            "Without it, the accuracy on pairs that were trained in neither order is at most 0.1.",
            _NONE,
            _NEW,
            most=0.1,
        ),
        Check(
            "Four of 18 frequencies have at least 0.8 of the power of the number embeddings.",
            _DECAY,
            _FOURIER,
            least=0.8,
            most=1.0,
        ),
    ),
    metrics=MappingProxyType(
        {
            _DELAY: solved,
            _FOURIER: power_in_few,
            _TRAINING: training_accuracy,
            _TEST: tested_accuracy,
            _NEW: new_accuracy,
            _NORM: weight_norm,
        }
    ),
    checkpoints=_STEPS,
    over_training=MappingProxyType({_DELAY: delay}),
    bounds=MappingProxyType({_DELAY: (0.0, math.inf), _FOURIER: SHARE, _NEW: SHARE}),
    plots=plots,
    predicted="a + b is b + a, so a pair that was trained in the other order is easier. Before a "
    "model can add, only such pairs come out right.",
    differs="Power et al. add modulo 97 with half of the pairs, Nanda et al. modulo 113 with 0.3; "
    "here p is 37 with 0.6. A trial with 3,000 steps and a factor of 5 (seeds 10 to 14) left two "
    "runs at these limits, so both limits were relaxed.",
    first_seed=15,
    tuned_on=(*range(5), *range(10, 15)),
)
