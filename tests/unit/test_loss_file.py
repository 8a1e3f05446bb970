"""The file of a run's losses."""

import csv
import io

import numpy as np
import pytest

from attnlab.runs.history import COLUMNS, MOST_POINTS, empty_history, to_csv
from attnlab.training.evaluation import Evaluation
from tests.unit.live_runs import finished
from tests.unit.small_experiments import small


def rows_of(text):
    reader = csv.DictReader(io.StringIO(text))
    rows = list(reader)
    assert tuple(reader.fieldnames) == COLUMNS
    assert all(None not in row and None not in row.values() for row in rows)
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(set(steps))
    return rows


@pytest.mark.slow
def test_every_loss_and_test_of_a_short_run_reads_back_exactly(live):
    history = finished(live(small(steps=40))).history
    rows = rows_of(to_csv(history))
    losses = [float(row["training_loss_nats"]) for row in rows if row["training_loss_nats"]]
    np.testing.assert_array_equal(losses, history.losses.astype(np.float64))
    tests = tuple(
        (int(row["step"]), Evaluation(*(float(row[name]) for name in COLUMNS[2:6])))
        for row in rows
        if row["test_loss_nats"]
    )
    assert tests == tuple((step, Evaluation(*test[:4])) for step, test in history.tests)
    assert tests[0][0] == 0
    assert tests[-1][0] == 40
    # The loss before update i + 1 stands at step i; at the last step there is none.
    assert rows[-1]["training_loss_nats"] == ""


def test_long_runs_have_the_mean_of_each_span_at_its_last_step():
    losses = np.random.default_rng(0).random(4 * MOST_POINTS).astype(np.float32)
    rows = rows_of(to_csv(empty_history().with_losses(losses)))
    assert len(rows) == MOST_POINTS
    for i in (0, 7, MOST_POINTS - 1):
        assert int(rows[i]["step"]) == 4 * i + 3
        expected = sum(float(loss) for loss in losses[4 * i : 4 * i + 4]) / 4
        assert float(rows[i]["training_loss_nats"]) == pytest.approx(expected, rel=1e-14)


def test_a_run_without_steps_has_a_heading_alone():
    assert rows_of(to_csv(empty_history())) == []
