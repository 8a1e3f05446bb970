"""Deprecated names of modules, classes and attributes, for scripts that use them."""

import sys
from importlib import import_module
from operator import attrgetter
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

EARLIER_ATTRIBUTES = MappingProxyType(
    {
        "generators.base.AbstractGenerator": {
            "asked": "loss_mask", "asks_several": "has_loss_mask", "given": "prompt_length",
        },
        "optimum.best.Optimum": {"asked": "in_loss"},
        "training.experiment.Setup": {"asked": "loss_mask", "given": "prompt_length"},
        "training.sources.Example": {"asked": "loss_mask"},
    }
)  # fmt: skip

for _earlier, _now in EARLIER_NAMES.items():
    _place, _, _name = _now.rpartition(".")
    if _name[0].isupper():
        _module, _, _former = _earlier.rpartition(".")
        _kind = getattr(import_module(f"attnlab.{_place}"), _name)
        setattr(import_module(f"attnlab.{_module}".rstrip(".")), _former, _kind)
    else:
        sys.modules[f"attnlab.{_earlier}"] = import_module(f"attnlab.{_now}")

for _place, _names in EARLIER_ATTRIBUTES.items():
    _module, _, _kind = _place.rpartition(".")
    _owner = getattr(import_module(f"attnlab.{_module}"), _kind)
    for _earlier, _now in _names.items():
        setattr(_owner, _earlier, property(attrgetter(_now)))
