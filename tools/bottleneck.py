"""Make what comes with the lesson on the bottleneck: `python -m tools.bottleneck`.

Writes `small_models.json` and, after every setting, `bottleneck.json` in `attnlab/lessons/`; with
`--models` only the first. Runs that are in the library are not trained again, so it can be
interrupted and resumed; `ATTNLAB_LIBRARY` names the folder. It takes up to an hour on one core.
"""

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from attnlab.comparisons.many import run_all
from attnlab.comparisons.published import Made
from attnlab.inspection.targets import check_targets
from attnlab.lessons import bottleneck, small_models
from attnlab.lessons.bottleneck import SEEDS, SettingFigures, all_settings
from attnlab.lessons.small_models import DIGITS, SmallModel, all_small, share_aligned
from attnlab.models import AbstractModel
from attnlab.models.seq2seq import AbstractSourceModel, alignment_of
from attnlab.runs.library import Library, library_folder
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import prepare, to_json
from tools.published import made

_FOLDER = Path(bottleneck.__file__).parent


def main(*, models_alone: bool) -> None:
    """Make all runs that the library does not hold, and write the files."""
    library, began = Library(library_folder(os.environ)), time.perf_counter()
    _write_models(library)
    if models_alone:
        return
    settings: list[SettingFigures] = []
    for setting in all_settings():
        runs = [dataclasses.replace(setting, seed=seed) for seed in range(SEEDS)]
        settings.append(_figures(run_all(runs, library=library)))
        text = runs_text(made("one core"), settings)
        _FOLDER.joinpath(bottleneck.FILE).write_text(text, encoding="utf-8")
        seconds = time.perf_counter() - began
        task, model = setting.generator, setting.model
        print(
            f"{seconds:,.0f} s: {task.name}, {task.source_length} tokens, {model.name} "
            f"{model.hidden_size}, exact match {settings[-1].exact_match}",
            flush=True,
        )


def _write_models(library: Library) -> None:
    models = [_small(result, library) for result in run_all(all_small(), library=library)]
    order = {experiment: place for place, experiment in enumerate(all_small())}
    models.sort(key=lambda small: order[small.experiment])
    _FOLDER.joinpath(small_models.FILE).write_text(models_text(models), encoding="utf-8")


def _small(result: RunSummary, library: Library) -> SmallModel:
    experiment, task = result.experiment, result.experiment.generator
    model, test = _rounded(_model(result, library)), prepare(experiment).test
    found = check_targets(task, model, test)
    patterns = jax.vmap(lambda tokens: alignment_of(model, tokens)[-1].mean(axis=0))(test[:, :-1])
    truths = jax.vmap(task.true_alignment)(test[:, : task.prompt_length()])
    aligned = share_aligned(np.asarray(patterns), np.asarray(truths))
    print(
        f"{task.name} {experiment.model.name}: {found.exact_match:.3f}, {aligned:.3f}", flush=True
    )
    return SmallModel(experiment, model, found.exact_match, found.exact_match_stderr, aligned)


def _figures(results: Iterable[RunSummary]) -> SettingFigures:
    ordered = sorted(results, key=lambda result: result.experiment.seed)
    return SettingFigures(
        dataclasses.replace(ordered[0].experiment, seed=0),
        ordered[0].parameters,
        tuple(result.experiment.seed for result in ordered),
        tuple(result.exact_match for result in ordered),
    )


def _model(result: RunSummary, library: Library) -> AbstractModel:
    run = result.run or library.run_of(library.find(result.experiment).number)
    return run.state.model


def runs_text(made: Made, settings: Iterable[SettingFigures]) -> str:
    """Return the text of the file: a line for every setting."""
    lines = ",\n".join(json.dumps(_runs_record(each), ensure_ascii=False) for each in settings)
    head = json.dumps(dataclasses.asdict(made))
    return f'{{"made": {head},\n"settings": [\n{lines}\n]}}\n'


def _runs_record(found: SettingFigures) -> dict[str, Any]:
    figures = found._asdict() | {"experiment": json.loads(to_json(found.experiment))}
    return {
        name: [round(each, 6) for each in value] if isinstance(value, tuple) else value
        for name, value in figures.items()
    }


def _rounded(model: AbstractSourceModel) -> AbstractSourceModel:
    """Return the model with its weights rounded to `DIGITS` decimals."""
    return jax.tree.map(
        lambda leaf: (
            np.round(np.asarray(leaf, np.float64), DIGITS).astype(np.float32)
            if eqx.is_array(leaf)
            else leaf
        ),
        model,
    )


def _model_record(small: SmallModel) -> dict[str, Any]:
    """Return a model as a JSON object: the weights as lists, in the order of its arrays."""
    arrays = jax.tree.leaves(eqx.filter(small.model, eqx.is_array))
    return {
        "experiment": json.loads(to_json(small.experiment)),
        **{name: round(float(getattr(small, name)), 6) for name in SmallModel._fields[2:]},
        "weights": [[round(float(each), DIGITS) for each in array.ravel()] for array in arrays],
    }


def models_text(models: Iterable[SmallModel]) -> str:
    """Return the text of the file: a line for every model."""
    lines = (json.dumps(_model_record(each), ensure_ascii=False) for each in models)
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="store_true", help="train the small models alone")
    main(models_alone=parser.parse_args().models)
