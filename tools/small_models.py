"""Make the small models of the lesson on the bottleneck: `python -m tools.small_models`.

Writes `small_models.json` in `attnlab/lessons/`. Runs that are in the library are not trained
again; `ATTNLAB_LIBRARY` names the folder.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from attnlab.comparisons.many import run_all
from attnlab.inspection.targets import check_targets
from attnlab.lessons import small_models
from attnlab.lessons.small_models import DIGITS, SmallModel, all_small, share_aligned
from attnlab.models import AbstractModel
from attnlab.models.seq2seq import AbstractSourceModel, alignment_of
from attnlab.runs.library import Library, library_folder
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import prepare, to_json


def main() -> None:
    """Train the models that the library does not hold, and write the file."""
    library = Library(library_folder(os.environ))
    models = [_small(result, library) for result in run_all(all_small(), library=library)]
    order = {experiment: place for place, experiment in enumerate(all_small())}
    models.sort(key=lambda small: order[small.experiment])
    path = Path(small_models.__file__).with_name(small_models.FILE)
    path.write_text(models_text(models), encoding="utf-8")


def _small(result: RunSummary, library: Library) -> SmallModel:
    experiment, task = result.experiment, result.experiment.generator
    model, test = _rounded(_model(result, library)), prepare(experiment).test
    found = check_targets(task, model, test)
    patterns = jax.vmap(lambda tokens: alignment_of(model, tokens)[-1].mean(axis=0))(test[:, :-1])
    truths = jax.vmap(task.true_alignment)(test[:, : task.prompt_length()])
    aligned = share_aligned(np.asarray(patterns), np.asarray(truths))
    exact = found.exact_match.value
    print(f"{task.name} {experiment.model.name}: {exact:.3f}, {aligned:.3f}", flush=True)
    return SmallModel(experiment, model, *found.exact_match, aligned)


def _model(result: RunSummary, library: Library) -> AbstractModel:
    run = result.run or library.run_of(library.find(result.experiment).number)
    return run.state.model


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
    main()
