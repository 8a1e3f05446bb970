"""Deprecated names of modules and classes, for scripts that import them."""

import sys
from importlib import import_module
from types import MappingProxyType

EARLIER_NAMES = MappingProxyType(
    {
        "Look": "training.loop.EvaluationEvent",
        "attention.chunked": "attention",
        "attention.head": "attention",
        "attention.scores": "attention",
        "changes": "training.changes",
        "comparisons.published.parts": "comparisons.published",
        "comparisons.published.rows": "comparisons.verdicts",
        "experiment": "training.experiment",
        "generators.rule_table": "generators.vocabulary",
        "generators.tasks.base": "generators.tasks",
        "geometry": "lessons.geometry",
        "kernel_regression": "lessons.kernel_regression",
        "learned_kernel": "lessons.kernel_regression",
        "lessons.bottleneck.alignments": "lessons.small_models",
        "lessons.bottleneck.decoder_step": "lessons.small_models",
        "lessons.bottleneck.plan": "lessons.bottleneck",
        "lessons.bottleneck.shipped": "lessons.bottleneck",
        "lessons.bottleneck.small_models": "lessons.small_models",
        "lessons.learned_kernel": "lessons.kernel_regression",
        "models.edits": "models.inside",
        "models.initialisation": "models.parts",
        "models.readout": "models.base",
        "number_text": "configuration.number_text",
        "options": "configuration.options",
        "positions.base": "positions",
        "regression_data": "lessons.regression_data",
        "runs.library.Entry": "runs.run_summary.RunSummary",
        "runs.result": "runs.run_summary",
        "runs.result.Result": "runs.run_summary.RunSummary",
        "saturation": "lessons.saturation",
        "scores": "attention",
        "stages": "lessons.stages",
        "sweep": "lessons.sweep",
        "training.feasibility": "training.limits",
        "training.loop.Look": "training.loop.EvaluationEvent",
        "training.schedule": "training.loop",
        "vocabulary": "generators.vocabulary",
    }
)

for _earlier, _now in EARLIER_NAMES.items():
    _place, _, _name = _now.rpartition(".")
    if _name[0].isupper():
        _module, _, _former = _earlier.rpartition(".")
        _kind = getattr(import_module(f"attnlab.{_place}"), _name)
        setattr(import_module(f"attnlab.{_module}".rstrip(".")), _former, _kind)
    else:
        sys.modules[f"attnlab.{_earlier}"] = import_module(f"attnlab.{_now}")
