"""Curves over training: which models are measured, and where lines end until all are."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from attnlab import ui
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.ui.train.course import missing_models, without_gaps


@pytest.mark.parametrize("count", [0, 1, 2, 32, 33, 64, 65, 200, 256])
def test_the_first_and_last_models_are_measured_and_lines_do_not_cross_gaps(count):
    kept = tuple((10 * place, Mock(spec=AbstractModel)) for place in range(count))
    snapshot = Mock(spec=Snapshot, active=False, history=Mock(checkpoints=kept))
    steps = [step for step, _ in missing_models({}, snapshot)]
    assert len(steps) == min(count, 32)
    assert steps[:1] + steps[-1:] == [step for step, _ in (*kept[:1], *kept[-1:])]
    # The shown model, which is the last one, is measured first.
    half = dict.fromkeys([*steps[-1:], *steps[: count // 2]])
    done = [step for step, _ in without_gaps(half, missing_models(half, snapshot))]
    assert done == (steps if len(half) == len(steps) else steps[: count // 2])
    assert [step for step, _ in without_gaps(dict.fromkeys(steps), [])] == steps


def test_every_curve_over_training_leaves_out_what_is_beyond_a_gap():
    texts = {path.name: path.read_text("utf-8") for path in Path(*ui.__path__).rglob("*.py")}
    courses = {name for name, text in texts.items() if "import course_of" in text}
    assert len(courses) == 3
    assert {name for name in courses if "without_gaps(" in texts[name]} == courses
