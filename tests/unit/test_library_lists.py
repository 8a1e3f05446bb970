"""Lists of a library: filtered, in order, and in pages."""

import dataclasses
import itertools

import pytest

from attnlab.configuration.options import OptionError
from attnlab.runs.library import SORTS, Library, Query
from attnlab.runs.run_summary import STATES
from attnlab.training.evaluation import Evaluation
from tests.unit.kept_results import Clock, result_of
from tests.unit.small_experiments import SMALL, SMALL_LINEAR

RESULTS = [
    result_of(
        experiment,
        seed=seed,
        state=state,
        seconds=float((seed * 7) % 5),
        evaluation=None if state == "refused" else Evaluation((seed * 3) % 4 + 0.5, 0.1, 0.5, 0.1),
        reason="too LARGE" if state == "refused" else "",
    )
    for seed, (experiment, state) in enumerate(
        (experiment, state) for experiment in (SMALL, SMALL_LINEAR) for state in STATES
    )
]
KEYS = {
    "date": lambda entry: entry.date,
    "number": lambda entry: entry.number,
    "name": lambda entry: entry.name,
    "process": lambda entry: entry.experiment.generator.name,
    "model": lambda entry: entry.experiment.model.name,
    "length": lambda entry: entry.experiment.length,
    "seed": lambda entry: entry.experiment.seed,
    "state": lambda entry: entry.state,
    "loss": lambda entry: entry.evaluation and entry.evaluation.nll,
    "accuracy": lambda entry: entry.evaluation and entry.evaluation.accuracy,
    "steps": lambda entry: entry.steps,
    "seconds": lambda entry: entry.seconds,
    "parameters": lambda entry: entry.parameters,
}


@pytest.fixture(scope="module")
def many():
    library = Library(None, clock=Clock())
    for i, result in enumerate(RESULTS):
        library.keep(result, name=f"Größe {i % 3}", tags=("even",) if i % 2 == 0 else ("odd", "x"))
    return library


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", SORTS)
def test_a_list_is_in_order_and_its_pages_have_all_of_it_once(many, sort, descending):
    query = Query(sort=sort, descending=descending)
    entries = many.entries(query)
    expected = sorted(many.entries(), key=lambda e: e.number, reverse=descending)
    key = KEYS[sort]
    known = [entry for entry in expected if key(entry) is not None]
    unknown = [entry for entry in expected if key(entry) is None]
    in_order = [*sorted(known, key=key, reverse=descending), *unknown]
    assert len(entries) == len(RESULTS)
    # Python keeps equals in their order when it sorts backwards, too.
    assert [e.number for e in entries] == [e.number for e in in_order]
    pages = [many.entries(query, first=first, most=3) for first in range(0, 9, 3)]
    assert [e.number for e in itertools.chain(*pages)] == [e.number for e in entries]


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (Query(), lambda i, result: True),
        (Query(model="linear"), lambda i, r: r.experiment.model.name == "linear"),
        (Query(generator="markov"), lambda i, r: True),
        (Query(generator="recall"), lambda i, r: False),
        (Query(state="failed"), lambda i, r: r.state == "failed"),
        (Query(tag="even"), lambda i, r: i % 2 == 0),
        (Query(tag="eve"), lambda i, r: False),
        (Query(text="GRÖSSE 2"), lambda i, r: i % 3 == 2),
        (Query(text="too large"), lambda i, r: r.state == "refused"),
        (Query(text="100%"), lambda i, r: False),
        (Query(like=dataclasses.replace(SMALL, seed=77)),
         lambda i, r: r.experiment.model.name == "attention"),
        (Query(text="odd linear", state="done"),
         lambda i, r: i % 2 and r.experiment.model.name == "linear" and r.state == "done"),
    ],
)  # fmt: skip
def test_a_list_has_what_fits(many, query, fits):
    expected = {i + 1 for i, result in enumerate(RESULTS) if fits(i, result)}
    assert {entry.number for entry in many.entries(query)} == expected
    assert many.count(query) == len(expected)


def test_another_order_or_state_is_refused():
    with pytest.raises(OptionError, match="`sort` is 'nll; DROP TABLE runs'"):
        Query(sort="nll; DROP TABLE runs")
    with pytest.raises(OptionError, match=r"`state` is 'dead'.*'interrupted'"):
        Query(state="dead")
