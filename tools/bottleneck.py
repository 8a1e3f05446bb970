"""Make what comes with the lesson on the bottleneck: `python -m tools.bottleneck`.

Writes `small_models.json` and, after every setting, `bottleneck.json` in `attnlab/lessons/`; with
`--models` only the first. Runs that are in the library are not trained again, so it can be
interrupted and resumed; `ATTNLAB_LIBRARY` names the folder. It takes up to an hour on one core.
"""

import argparse
import dataclasses
import datetime
import os
import platform
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path

import jax
import numpy as np

from attnlab.comparisons.many import run_all
from attnlab.comparisons.published.shipped import Made
from attnlab.inspection.targets import check_targets
from attnlab.lessons import bottleneck, small_models
from attnlab.lessons.bottleneck import SEEDS, SettingFigures, all_settings
from attnlab.lessons.small_models import SmallModel, all_small, rounded, share_aligned
from attnlab.models import AbstractModel
from attnlab.models.seq2seq import alignment_of
from attnlab.runs.library import Library, library_folder
from attnlab.runs.result import Result
from attnlab.training.experiment import prepare

_ROOT = Path(__file__).parents[1]
_FOLDER = Path(bottleneck.__file__).parent


def main(*, models_alone: bool) -> None:
    """Make all runs that the library does not hold, and write the files."""
    library, began = Library(library_folder(os.environ)), time.perf_counter()
    _write_models(library)
    if models_alone:
        library.close()
        return
    settings: list[SettingFigures] = []
    for setting in all_settings():
        runs = [dataclasses.replace(setting, seed=seed) for seed in range(SEEDS)]
        settings.append(_figures(run_all(runs, library=library)))
        text = bottleneck.to_text(_made(), settings)
        _FOLDER.joinpath(bottleneck.FILE).write_text(text, encoding="utf-8")
        seconds = time.perf_counter() - began
        task, model = setting.generator, setting.model
        print(
            f"{seconds:,.0f} s: {task.name}, {task.source_length} tokens, {model.name} "
            f"{model.hidden_size}, exact match {settings[-1].exact_match}",
            flush=True,
        )
    library.close()


def _write_models(library: Library) -> None:
    models = [_small(result, library) for result in run_all(all_small(), library=library)]
    order = {experiment: place for place, experiment in enumerate(all_small())}
    models.sort(key=lambda small: order[small.experiment])
    _FOLDER.joinpath(small_models.FILE).write_text(small_models.to_text(models), encoding="utf-8")


def _small(result: Result, library: Library) -> SmallModel:
    experiment, task = result.experiment, result.experiment.generator
    model, test = rounded(_model(result, library)), prepare(experiment).test
    found = check_targets(task, model, test)
    patterns = jax.vmap(lambda tokens: alignment_of(model, tokens)[-1].mean(axis=0))(test[:, :-1])
    truths = jax.vmap(task.true_alignment)(test[:, : task.given()])
    aligned = share_aligned(np.asarray(patterns), np.asarray(truths))
    print(
        f"{task.name} {experiment.model.name}: {found.exact_match:.3f}, {aligned:.3f}", flush=True
    )
    return SmallModel(experiment, model, found.exact_match, found.exact_match_stderr, aligned)


def _figures(results: Iterable[Result]) -> SettingFigures:
    ordered = sorted(results, key=lambda result: result.experiment.seed)
    return SettingFigures(
        dataclasses.replace(ordered[0].experiment, seed=0),
        ordered[0].parameters,
        tuple(result.experiment.seed for result in ordered),
        tuple(result.exact_match for result in ordered),
    )


def _model(result: Result, library: Library) -> AbstractModel:
    run = result.run or library.run_of(library.find(result.experiment).number)
    return run.state.model


def _made() -> Made:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Made(
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        project["version"],
        jax.__version__,
        f"one core of {platform.machine().replace('_', '-')}",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="store_true", help="train the small models alone")
    main(models_alone=parser.parse_args().models)
