"""Published results, the runs that test them here, and the verdicts."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnlab.comparisons.grid import Setting, Study, experiment_of
from attnlab.configuration.options import present
from attnlab.known_results.blog_post import BLOG_POST
from attnlab.known_results.entry import AGREES as AGREES
from attnlab.known_results.entry import DISAGREES as DISAGREES
from attnlab.known_results.entry import OPEN as OPEN
from attnlab.known_results.entry import Check as Check
from attnlab.known_results.entry import KnownResult as KnownResult
from attnlab.known_results.entry import Numbers as Numbers
from attnlab.known_results.entry import Verdict as Verdict
from attnlab.known_results.entry import number_label as number_label
from attnlab.known_results.entry import number_text as number_text
from attnlab.known_results.entry import overall as overall
from attnlab.known_results.entry import verdict_on as verdict_on
from attnlab.known_results.over_training import NUMBERS, PLOTS
from attnlab.runs.run_summary import FIGURES

_SEEDS, _FIRST_SEED = 5, 10
# Results of every test.
_TESTED = (*FIGURES, "excess")


def _known_results() -> dict[str, KnownResult]:
    text = Path(__file__).with_name("known_results.toml").read_text(encoding="utf-8")
    return {name: _known_result(name, record) for name, record in tomllib.loads(text).items()}


def _known_result(name: str, record: dict[str, Any]) -> KnownResult:
    base, settings = record.pop("base"), record.pop("settings")
    checks = tuple(Check(**check) for check in record.pop("checks"))
    found = tuple(
        Setting((("setting", label),), experiment_of({**base, **options}))
        for label, options in settings.items()
    )
    study = Study(
        found,
        seeds=record.pop("seeds", _SEEDS),
        first_seed=record.pop("first_seed", _FIRST_SEED),
        metrics=_metrics(name, checks),
        checkpoints=_checkpoints(record, present(found[0].experiment).training.steps),
    )
    tuned_on = tuple(record.pop("tuned_on"))
    return KnownResult(name, study=study, checks=checks, tuned_on=tuned_on, **record)


def _metrics(name: str, checks: tuple[Check, ...]) -> tuple[str, ...]:
    """Return the measures that the claims and plots need, without those of every test."""
    needed = dict.fromkeys(
        metric
        for check in checks
        for metric in (
            NUMBERS[check.measure].metrics if check.measure in NUMBERS else (check.measure,)
        )
    )
    _, of_plots = PLOTS.get(name, (None, ()))
    return tuple(metric for metric in [*needed, *of_plots] if metric not in _TESTED)


def _checkpoints(record: dict[str, Any], steps: int) -> tuple[int, ...]:
    if (every := record.pop("every", None)) is not None:
        return tuple(range(0, steps, every))
    return tuple(record.pop("checkpoints", ()))


KNOWN_RESULTS: Mapping[str, KnownResult] = MappingProxyType(
    {BLOG_POST.name: BLOG_POST, **_known_results()}
)
