"""Results and runs that pages show until the user has computed some.

`python -m tools.examples` makes them.
"""

import functools
import importlib.resources
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from attnlab.comparisons.grid import Grid
from attnlab.comparisons.shipped import Made
from attnlab.comparisons.summary import References
from attnlab.configuration.options import AttnlabError
from attnlab.lessons.costs import Cost, CostProgress
from attnlab.lessons.explanations import SHOWN, Ranked, from_record
from attnlab.lessons.sweep import Sweep, SweepProgress, Track
from attnlab.optimum import Best
from attnlab.runs.library.summary import summary_in
from attnlab.runs.run import Run
from attnlab.runs.run_summary import RunSummary
from attnlab.runs.storage import RunFileError, from_bytes
from attnlab.training.experiment import from_json_record

FILE = "examples.json"
# By name of the process.
RUN_FILES = MappingProxyType(
    {"recall": "example.run"}
    | {name: f"example_{name}.run" for name in ("cards", "mess3", "induction")}
)
_UNREADABLE = "The example that comes with attnlab cannot be read. Install attnlab again."


class Example(NamedTuple):
    """A result, its settings (`of`), and when, with which versions and where it was made."""

    of: Any
    result: Any
    made: Made


class ComparedRuns(NamedTuple):
    """The runs of a comparison on one process, and the references of this process."""

    runs: tuple[RunSummary, ...]
    references: References


@functools.cache
def shipped_example(name: str) -> Example:
    """Read the example of that name.

    Raises:
        AttnlabError: If the file is missing or damaged.
    """
    try:
        record = json.loads(_bytes_of(FILE))[name]
        of, result = _READERS[name](record)
        return Example(of, result, Made(**record["made"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AttnlabError(_UNREADABLE) from error


def shipped_run(name: str) -> Run:
    """Read the finished run of that name: Look inside opens with "recall".

    Raises:
        AttnlabError: If the file is missing or damaged.
    """
    try:
        return from_bytes(_bytes_of(RUN_FILES[name]))
    except (OSError, RunFileError) as error:
        raise AttnlabError(_UNREADABLE) from error


def _bytes_of(file: str) -> bytes:
    return importlib.resources.files("attnlab.lessons").joinpath(file).read_bytes()


def _comparison(record: Mapping[str, Any]) -> tuple[Grid, ComparedRuns]:
    options = tuple((name, tuple(values)) for name, values in record["options"])
    references = {name: Best(**best) for name, best in record["references"].items()}
    runs = tuple(summary_in(each, 0) for each in record["runs"])
    grid = Grid(options, record["seeds"], base=from_json_record(record["base"]))
    return grid, ComparedRuns(runs, References(**references))


def _attention_cost(record: Mapping[str, Any]) -> tuple[tuple[str, ...], CostProgress]:
    return tuple(record["of"]), _costs(record)


def _generation_cost(record: Mapping[str, Any]) -> tuple[tuple[Any, ...], CostProgress]:
    experiment = from_json_record(record["experiment"])
    vocab = experiment.generator.vocabulary.size
    return (experiment.model, record["longest"], vocab), _costs(record)


def _costs(record: Mapping[str, Any]) -> CostProgress:
    measured = tuple(_with_arrays(Cost, each) for each in record["measured"])
    return CostProgress(1.0, "", measured, record["difference"])


def _sweep(record: Mapping[str, Any]) -> tuple[Sweep, SweepProgress]:
    sizes = tuple(record["widths"]), tuple(record["gains"]), record["seeds"]
    tracks = tuple(_with_arrays(Track, each) for each in record["tracks"])
    return Sweep(from_json_record(record["experiment"]), *sizes), SweepProgress(1.0, "", tracks)


def _explanations(record: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Ranked, ...]]:
    return SHOWN, tuple(map(from_record, record["ranked"]))


def _with_arrays(kind: Any, values: list[Any]) -> Any:
    return kind(*(np.array(each) if isinstance(each, list) else each for each in values))


# By name of the background job whose result it replaces.
_READERS = {
    "compare": _comparison,
    "attention_cost": _attention_cost,
    "generation_cost": _generation_cost,
    "sweep": _sweep,
    "explanations": _explanations,
}
