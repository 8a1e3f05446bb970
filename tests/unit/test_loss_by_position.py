"""The loss by position over training: recorded, kept in files, and in rows of a comparison."""

import csv
import dataclasses
import io
import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.comparisons.many import carry_out_text, result_from, run_all
from attnlab.comparisons.records import to_csv, to_records
from attnlab.comparisons.summary import figures_of, summarise
from attnlab.configuration.options import OptionError
from attnlab.models import GRUOptions
from attnlab.runs.history import to_csv as losses_csv
from attnlab.runs.library import Library
from attnlab.runs.storage import RunFileError, from_bytes, to_bytes
from attnlab.training.experiment import Experiment, prepare, to_json
from attnlab.training.steps import Training
from tests.unit.live_runs import finished, trained
from tests.unit.one_question import MARK, OneQuestion
from tests.unit.small_experiments import SMALL, small

NEXT = small(loss="next", test_size=600)
ASKED = Experiment(
    generator=OneQuestion(),
    length=6,
    model=GRUOptions(hidden_size=3),
    training=Training(loss="next", batch=20, steps=20, train_size=200, test_size=100),
)


@pytest.fixture(scope="module")
def followed():
    return trained(NEXT)


def surprises(model, sequences):
    """-log p of every token but the first, in NumPy, from the logits: sequences by tokens."""
    tokens = np.asarray(sequences)
    queries = jnp.arange(tokens.shape[1] - 1)
    logits = eqx.filter_jit(jax.vmap(lambda visible: model(visible, queries)[0]))(tokens[:, :-1])
    logits = np.asarray(logits, dtype=np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    return -np.take_along_axis(log_probs, tokens[:, 1:, None], axis=2)[:, :, 0]


def error(values):
    return np.sqrt(((values - values.mean()) ** 2).sum() / (values.size - 1) / values.size)


@pytest.mark.slow
def test_the_losses_are_those_of_the_model_of_that_step(followed):
    tests, test_set = dict(followed.history.tests), prepare(NEXT).test
    assert all(test.by_position is not None for test in tests.values())
    for step, model in followed.history.checkpoints[:: len(followed.history.checkpoints) // 2]:
        expected, found = surprises(model, test_set[:250]), tests[step].by_position
        assert found.positions == (1, 2, 3, 4)
        for t in range(4):
            assert found.nll[t] == pytest.approx(expected[:, t].mean(), abs=1e-6)
            assert found.nll_stderr[t] == pytest.approx(error(expected[:, t]), rel=1e-4)
        assert found.mean == pytest.approx(expected.mean(), abs=1e-6)
        assert found.mean_stderr == pytest.approx(error(expected.mean(axis=1)), rel=1e-4)
        # The test itself is of the final token, on all sequences.
        assert tests[step].nll == pytest.approx(surprises(model, test_set)[:, -1].mean(), abs=1e-6)


@pytest.mark.slow
def test_only_tokens_in_the_loss_count():
    history = trained(ASKED).history
    (step, model), test_set = history.checkpoints[-1], np.asarray(prepare(ASKED).test)
    test, nll = dict(history.tests)[step], surprises(model, test_set)
    answers = (test_set == MARK).argmax(axis=1)
    chosen = nll[np.arange(len(nll)), answers]
    places = sorted(set(answers.tolist()))
    assert test.by_position.positions == tuple(place + 1 for place in places)
    expected = [chosen[answers == place].mean() for place in places]
    np.testing.assert_allclose(test.by_position.nll, expected, atol=1e-6)
    assert test.by_position.mean == test.nll == pytest.approx(chosen.mean(), abs=1e-6)
    assert test.by_position.mean_stderr == test.nll_stderr


@pytest.mark.slow
def test_the_loss_of_the_final_token_has_no_positions():
    assert all(test.by_position is None for _, test in trained(SMALL).history.tests)


@pytest.mark.slow
def test_the_history_of_the_app_has_them(live, followed):
    assert finished(live(NEXT)).history.tests == followed.history.tests


@pytest.mark.slow
def test_they_are_in_the_run_file_and_in_the_table_of_losses(followed):
    assert from_bytes(to_bytes(followed)).history.tests == followed.history.tests
    # A run that began before they were recorded.
    history = followed.history
    (first, test), *rest = history.tests
    history = dataclasses.replace(history, tests=((first, test._replace(by_position=None)), *rest))
    mixed = followed._replace(history=history)
    assert from_bytes(to_bytes(mixed)).history.tests == history.tests
    rows = {int(row["step"]): row for row in csv.DictReader(io.StringIO(losses_csv(history)))}
    assert rows[0]["mean_test_loss_nats"] == ""
    for step, test in rest:
        assert float(rows[step]["mean_test_loss_nats"]) == test.by_position.mean
        error = rows[step]["mean_test_loss_standard_error_nats"]
        assert float(error) == test.by_position.mean_stderr


@pytest.mark.parametrize(
    "bad",
    [
        {"positions": (0, 1, 2, 3)},
        {"positions": (2, 3, 4, 5)},
        {"positions": (1, 3, 2, 4)},
        {"nll": (1.0, -1.0, 1.0, 1.0)},
        {"mean": math.inf},
    ],
)
def test_a_file_with_other_losses_by_position_is_refused(followed, bad):
    history = followed.history
    tests = tuple(
        (step, test._replace(by_position=test.by_position._replace(**bad)))
        for step, test in history.tests
    )
    data = to_bytes(followed._replace(history=dataclasses.replace(history, tests=tests)))
    with pytest.raises(RunFileError, match=r"losses by position .* Choose a file that attnlab"):
        from_bytes(data)


@pytest.mark.slow
def test_rows_have_the_mean_and_json_the_losses_too(tmp_path):
    experiments = [small(NEXT, seed=seed) for seed in range(3)]
    library = Library(tmp_path)
    results = list(run_all(experiments, library=library))
    # Also those that were not trained again, and those of workers.
    again = run_all(experiments, library=library)
    assert [each.evaluation for each in again] == [each.evaluation for each in results]
    there = result_from(carry_out_text(to_json(NEXT)))
    assert there.tests == results[0].tests
    (row,) = summarise(results, baselines=False)
    means = [result.evaluation.by_position.mean for result in results]
    assert row.mean_nll.mean == pytest.approx(np.mean(means))
    assert list(figures_of(row, "mean_nll").values()) == means
    (record,) = to_records([row])
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    found = record["test_nll_by_position"]
    assert found["positions"] == [1, 2, 3, 4]
    for seed, result in enumerate(results):
        assert found["by_seed"][str(seed)]["nll"] == list(result.evaluation.by_position.nll)
    (cells,) = csv.DictReader(io.StringIO(to_csv([row])))
    assert float(cells["mean_test_nll_mean"]) == row.mean_nll.mean
    assert not any("by_position" in name for name in cells)


def test_runs_without_them_say_so():
    (row,) = summarise(run_all([SMALL]), baselines=False)
    assert row.mean_nll is None
    assert not any("mean_test_nll" in name for name in to_records([row])[0])
    with pytest.raises(OptionError, match="'mean_nll': some of these runs were tested only"):
        figures_of(row, "mean_nll")
