"""Make the results that pages open with: `python -m tools.examples [NAME ...]`.

Writes `examples.json`, `example.run` and `example_NAME.run` in `attnlab/lessons/`; with names,
only those are made and the rest is kept. It takes about five minutes on two cores. While it
measures times, nothing else should run.
"""

import argparse
import dataclasses
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from attnlab.comparisons.grid import study_of
from attnlab.comparisons.many import run_all
from attnlab.comparisons.questions import COMPARISONS, FIRST_COMPARISON
from attnlab.comparisons.summary import references_of
from attnlab.configuration.options import present
from attnlab.lessons import examples
from attnlab.lessons.costs import (
    FORWARD,
    LAYERS,
    CostProgress,
    lengths_to,
    measure_attention,
    measure_generation,
)
from attnlab.lessons.explanations import SHOWN, as_record, explanation_study, ranked
from attnlab.lessons.sweep import run_sweep, usual_sweep
from attnlab.runs.history import Curve, empty_history
from attnlab.runs.library.summary import record_of
from attnlab.runs.run import Run
from attnlab.runs.storage import save_run
from attnlab.training.experiment import Experiment, prepare, to_json
from attnlab.training.loop import Progress, run
from attnlab.training.presets import FIRST_PRESET, PRESETS
from tools.studies import made

_FILE = Path(examples.__file__).with_name(examples.FILE)
_D_ATTN, _LONGEST, _GENERATED = 32, 4_096, 512
# Sequences that the page on explanations offers.
_RANKED = 12


def main(names: Iterable[str]) -> None:
    """Make the named examples, and write them with the others of the file."""
    kept = json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.exists() else {}
    for name in names:
        began = time.perf_counter()
        if name in examples.RUN_FILES:
            save_run(_short_run(*_RUNS[name]), _FILE.with_name(examples.RUN_FILES[name]))
            continue
        kept[name] = {"made": dataclasses.asdict(made(f"{os.cpu_count()} cores")), **MAKERS[name]()}
        text = to_text({name: kept[name] for name in MAKERS if name in kept})
        _FILE.write_text(text, encoding="utf-8")
        # With lists instead of arrays, like the examples that were kept.
        kept = json.loads(text)
        print(f"{name}: {time.perf_counter() - began:,.0f} s", flush=True)


def to_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the file: a line for every part of an example."""
    return _block({name: _block(_texts(record)) for name, record in found.items()}) + "\n"


def _texts(record: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: json.dumps(value, default=_short, ensure_ascii=False)
        for name, value in record.items()
    }


def _block(texts: Mapping[str, str]) -> str:
    return "{" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "}"


def _short(numbers: np.ndarray) -> list[Any]:
    """Return an array as lists of numbers with five significant digits."""
    if numbers.dtype.kind == "i":
        return numbers.tolist()
    return np.vectorize(lambda number: float(f"{number:.5g}"))(numbers).tolist()


def _compare() -> dict[str, Any]:
    base = PRESETS[FIRST_PRESET].experiment
    grid = dataclasses.replace(COMPARISONS[FIRST_COMPARISON].grid, base=base)
    references = dataclasses.asdict(references_of(base.generator, base.length))
    nothing = Curve(np.zeros(0, dtype=int), np.zeros(0))
    return {
        "options": grid.options,
        "seeds": grid.seeds,
        "base": _record(base),
        "references": {name: best for name, best in references.items() if best is not None},
        "runs": [
            record_of(dataclasses.replace(run, curve=nothing))
            for run in run_all(study_of(grid).runs)
        ],
    }


def _attention_cost() -> dict[str, Any]:
    progress = measure_attention(lengths_to(_LONGEST), d_attn=_D_ATTN, passes=FORWARD)
    return {"of": (str(_D_ATTN), str(_LONGEST), FORWARD), **_measured(progress)}


def _generation_cost() -> dict[str, Any]:
    first = PRESETS[FIRST_PRESET].experiment
    base = dataclasses.replace(first, model=dataclasses.replace(first.model, layers=LAYERS))
    vocab = base.generator.vocabulary.size
    progress = measure_generation(base.model, lengths_to(_GENERATED), vocab=vocab)
    return {"experiment": _record(base), "longest": str(_GENERATED), **_measured(progress)}


def _measured(progress: Iterator[CostProgress]) -> dict[str, Any]:
    last = deque(progress, maxlen=1)[0]
    return {"measured": last.measured, "difference": last.difference}


def _sweep() -> dict[str, Any]:
    sweep = usual_sweep("markov")
    last = deque(run_sweep(sweep), maxlen=1)[0]
    sizes = {"widths": sweep.widths, "gains": sweep.gains, "seeds": sweep.seeds}
    return {"experiment": _record(sweep.experiment), **sizes, "tracks": last.tracks}


def _explanations() -> dict[str, Any]:
    runs = {(each.generator.name, each.model.name): each for each in explanation_study().runs}
    chosen = [dataclasses.replace(runs[name, "transformer"], seed=0) for name in SHOWN]
    found = []
    for result in run_all(chosen):
        each, experiment = present(result.run), result.experiment
        rankings = ranked(each.state.model, prepare(experiment))
        found.append(as_record(rankings, _RANKED, _record(experiment)))
    return {"ranked": found}


def _record(experiment: Experiment) -> dict[str, Any]:
    return json.loads(to_json(experiment))


def _short_run(experiment: Experiment, every: int) -> Run:
    """Train the run that a page opens with, and keep one of `every` checkpoints."""
    history = empty_history()
    for event in run(experiment):
        history = history.after(event)
        if isinstance(event, Progress):
            state = event.state
    few = dataclasses.replace(history, checkpoints=history.checkpoints[::every])
    return Run(experiment, state, few)


# Experiment, and which checkpoints are kept: each has all weights of the model.
_RUNS = MappingProxyType(
    {
        "recall": (PRESETS[FIRST_PRESET].experiment, 6),
        "cards": (PRESETS["cards-encoder-decoder"].experiment, 12),
        "mess3": (PRESETS["mess3-belief"].experiment, 12),
        "induction": (PRESETS["induction"].experiment, 6),
    }
)
# In the order of the file.
MAKERS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {
        "compare": _compare,
        "attention_cost": _attention_cost,
        "generation_cost": _generation_cost,
        "sweep": _sweep,
        "explanations": _explanations,
    }
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MAKERS, *_RUNS, []], metavar="NAME")
    main(parser.parse_args().names or [*MAKERS, *_RUNS])
