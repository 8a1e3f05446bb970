"""A library of many runs against one of few."""

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from attnlab import GENERATORS, MODELS, Evaluation, Experiment, Run
from attnlab.runs.history import Curve, empty_history
from attnlab.runs.library import Library, Query
from attnlab.runs.run_summary import RunSummary, summary_of
from attnlab.training.experiment import starting_state
from benchmarks.timing import Figure, in_turns, seconds_of, spread

_ROUNDS = 9
_FEW, _MANY = 100, 10_000
_DAYS = 20
_CURVE, _TESTS = 250, 25
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def _results(count: int) -> Iterator[RunSummary]:
    """Of all processes and models in turn, with curves that can hardly be compressed."""
    random = np.random.default_rng(0)
    # Not every model predicts several tokens of a sequence.
    processes = [each for each in (of() for of in GENERATORS.values()) if not each.has_loss_mask()]
    pairs = itertools.cycle(itertools.product(processes, MODELS.values()))
    for seed, (generator, model) in zip(range(count), pairs, strict=False):
        nll, accuracy = random.uniform(0.5, 1.1), random.uniform(0.3, 0.9)
        evaluation = Evaluation(nll, 0.005, accuracy, 0.005)
        yield RunSummary(
            Experiment(generator=generator, length=_DAYS, model=model(), seed=seed),
            "done",
            evaluation=evaluation,
            steps=500,
            seconds=random.uniform(0.1, 10),
            parameters=300,
            tests=tuple((20 * test, evaluation) for test in range(_TESTS)),
            curve=Curve(np.arange(_CURVE), random.uniform(1, 2, _CURVE)),
        )


def _filled(folder: Path, count: int) -> float:
    """Makes a library of so many runs without models; the seconds that taking them in took."""
    dates = (_BEGUN + timedelta(seconds=second) for second in itertools.count())
    source, library = Library(None, clock=lambda: next(dates)), Library(folder)
    for number, result in enumerate(_results(count)):
        source.keep(result, name=f"run {number}", tags=(f"tag {number % 10}",))
    data = source.export(range(1, count + 1))
    seconds = seconds_of(lambda: library.take_in(data))
    if library.count() != count:
        raise RuntimeError(f"{library.count():,} of {count:,} runs were taken in")
    return seconds


def _actions(folder: Path) -> dict[str, Callable[[], object]]:
    library = Library(folder)
    wanted = Experiment(length=_DAYS)
    start = Run(wanted, starting_state(wanted), empty_history())
    trained = summary_of(start, "interrupted", None, 1.0)
    filtered = Query(text="run", model="transformer", tag="tag 3", sort="loss", descending=False)
    return {
        "opening": lambda: Library(folder),
        "first page of 50": library.entries,
        "filtered page, by loss": lambda: library.entries(filtered),
        "page found by text": lambda: library.entries(Query(text="7 dotmod")),
        "count of all": library.count,
        "count of a filter": lambda: library.count(filtered),
        "finding one by its settings": lambda: library.find(wanted),
        "keeping one": lambda: library.keep(RunSummary(wanted, "done")),
        "keeping one with its model": lambda: library.keep(trained),
    }


def _rows() -> Iterator[str]:
    with TemporaryDirectory() as temporary:
        few, many = Path(temporary, "few"), Path(temporary, "many")
        _filled(few, _FEW)
        seconds = _filled(many, _MANY)
        bytes_each = Library(many).size() / _MANY
        yield f"{'':<28} {_FEW:>18,} runs {_MANY:>18,} runs"
        contenders = {"few": _actions(few), "many": _actions(many)}
        for name in contenders["few"]:
            times = in_turns(
                {
                    size: lambda action=actions[name]: 1_000 * seconds_of(action)
                    for size, actions in contenders.items()
                },
                rounds=_ROUNDS,
            )
            few_times, many_times = (spread(times[size], ".1f") for size in ("few", "many"))
            yield f"{name:<28} {few_times:>20} ms {many_times:>20} ms"
        yield f"{bytes_each:,.0f} bytes a run without its model"
        yield f"taking {_MANY:,} runs in from a file: {seconds:.1f} s"


FIGURE = Figure(f"opening one of {_MANY:,} runs, and looking through it", _rows)
