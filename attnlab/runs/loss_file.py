"""The losses of a run as a table of comma-separated values."""

import csv
import io

from attnlab.runs.history import History, loss_curve

COLUMNS = (
    "step",
    "training_loss_nats",
    "test_loss_nats",
    "test_loss_standard_error_nats",
    "test_accuracy_share",
    "test_accuracy_standard_error_share",
)


def to_csv(history: History) -> str:
    """All tests of a run and its training losses, in rows of `COLUMNS` in the order of steps.

    `step`: updates made. `training_loss_nats`: mean of -log p(final day) over the batch of the
    next update; of runs longer than `MOST_POINTS` steps the mean over equal spans, each at its
    last step. `test_loss_nats` and `test_accuracy_share`: on the test set at that step, the
    accuracy as a share from 0 to 1, each followed by its standard error. What was not measured at
    a step is left empty. Numbers have all their digits: they read back as the same floats.
    """
    curve = loss_curve(history)
    training = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    tests = dict(history.tests)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for step in sorted(training.keys() | tests.keys()):
        figures = map(float, tests[step][:4]) if step in tests else [""] * 4
        writer.writerow([step, training.get(step, ""), *figures])
    return text.getvalue()
