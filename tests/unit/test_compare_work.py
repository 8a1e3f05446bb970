"""The runs of a comparison as the page carries them out."""

from attnlab.comparisons.grid import Grid
from attnlab.runs.library import Library
from attnlab.training.limits import OPEN
from attnlab.ui.compare.work import compare, plan_of
from tests.unit.small_experiments import small


def test_a_full_library_leaves_numbers_and_no_models():
    # A link asks for a hundred runs of the largest model, whose weights come to 800 MB.
    plan, held = plan_of(Grid((("length", ("4", "5")),), seeds=2, base=small(steps=3)), OPEN), {}
    *_, last = compare(plan, Library(None, most_bytes=20_000), OPEN, held)
    assert "full" in last.problem
    assert [result.state for result in last.results] == ["done"] * 4
    assert all(result.evaluation is not None for result in last.results)
    assert all(result.run is None for result in (*last.results, *held.values()))
