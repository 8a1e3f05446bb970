"""Curves over training: which models are measured, and where lines end until all are."""

from unittest.mock import Mock

import pytest

from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.core import session
from attnlab.ui.train import course
from attnlab.ui.train.course import Course


@pytest.mark.parametrize("count", [0, 1, 2, 32, 33, 64, 65, 200, 256])
def test_the_first_and_last_models_are_measured_and_lines_do_not_cross_gaps(count, monkeypatch):
    own = session.Session()
    monkeypatch.setattr(course, "session", lambda: own)
    kept = tuple((10 * place, Mock(spec=AbstractModel)) for place in range(count))
    history = Mock(checkpoints=kept)
    snapshot = Mock(spec=Snapshot, active=False, history=history, experiment=None)
    found = Course("results", snapshot)
    steps = [step for step, _ in found.missing()]
    assert len(steps) == min(count, 32)
    assert steps[:1] + steps[-1:] == [step for step, _ in (*kept[:1], *kept[-1:])]
    # The shown model, which is the last one, is measured first.
    half = dict.fromkeys([*steps[-1:], *steps[: count // 2]])
    found.results.update(half)
    done = [step for step, _ in found.curve()]
    assert done == (steps if len(half) == len(steps) else steps[: count // 2])
    found.results.update(dict.fromkeys(steps))
    assert [step for step, _ in found.curve()] == steps
