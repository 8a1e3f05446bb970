"""Modules by the names that they had in version 0.1.0, for scripts that import them; deprecated."""

import sys
from importlib import import_module
from types import MappingProxyType

EARLIER_NAMES = MappingProxyType(
    {
        "changes": "training.changes",
        "experiment": "training.experiment",
        "geometry": "lessons.geometry",
        "kernel_regression": "lessons.kernel_regression",
        "learned_kernel": "lessons.kernel_regression",
        "lessons.bottleneck.alignments": "lessons.small_models",
        "lessons.bottleneck.decoder_step": "lessons.small_models",
        "lessons.bottleneck.plan": "lessons.bottleneck",
        "lessons.bottleneck.shipped": "lessons.bottleneck",
        "lessons.bottleneck.small_models": "lessons.small_models",
        "lessons.learned_kernel": "lessons.kernel_regression",
        "number_text": "configuration.number_text",
        "options": "configuration.options",
        "regression_data": "lessons.regression_data",
        "saturation": "lessons.saturation",
        "scores": "attention.scores",
        "stages": "lessons.stages",
        "sweep": "lessons.sweep",
        "vocabulary": "generators.vocabulary",
    }
)

for _earlier, _now in EARLIER_NAMES.items():
    sys.modules[f"attnlab.{_earlier}"] = import_module(f"attnlab.{_now}")
