"""Runs that other versions of attnlab made, in a library."""

import dataclasses

import numpy as np
import pytest

from attnlab.comparisons.many import run_all
from attnlab.runs.history import Versions, current_versions
from attnlab.runs.library import Library
from attnlab.runs.run_summary import summary_of as run_result
from attnlab.runs.storage import from_bytes, to_bytes
from tests.unit.kept_results import result_of, run_of


@pytest.mark.parametrize(
    ("part", "other"),
    [*((part, "0.0.1") for part in Versions._fields), ("attnlab", ""), ("jax", "")],
)
def test_a_run_that_other_versions_made_is_reused_only_when_asked(library, part, other):
    made = current_versions()._replace(**{part: other})
    kept = result_of(versions=made)
    old = library.keep(kept)
    assert library.entry(old).versions == made
    assert library.find(kept.experiment) is None
    assert library.find(kept.experiment, any_version=True).number == old
    new = library.keep(result_of())
    library.keep(kept)
    assert library.find(kept.experiment).number == new


def test_a_run_file_keeps_its_versions_until_the_run_goes_on(library):
    made = Versions("0.0.1", "0.1", "0.2", "abacus")
    run = run_of()
    old = run._replace(history=dataclasses.replace(run.history, versions=made))
    again = from_bytes(to_bytes(old))
    assert again.history.versions == made
    assert again.history.until(30).versions == made
    number = library.keep(run_result(again, "done", None, 1.0))
    assert library.entry(number).versions == made
    assert library.run_of(number).history.versions == made
    assert library.find(again.experiment) is None
    # More steps are of this process.
    longer = again.history.with_losses(np.ones(1, np.float32))
    assert from_bytes(to_bytes(run)).history.versions == current_versions()
    assert longer.versions is None


@pytest.mark.slow
def test_a_comparison_trains_what_other_versions_made_unless_told_otherwise():
    library, kept = Library(None), result_of(versions=Versions("0.0.1"))
    library.keep(kept)

    def results(**reuse):
        (result,) = run_all([kept.experiment], library=library, **reuse)
        return result.versions, library.count()

    assert results(any_version=True) == (Versions("0.0.1"), 1)
    assert results() == (None, 2)
    assert results() == (current_versions(), 2)
    assert results(again=True) == (None, 3)
