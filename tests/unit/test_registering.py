"""Classes of a user's own, defined in a module outside the package and registered."""

import dataclasses
import importlib
import sys
import textwrap

import numpy as np
import pytest

import attnlab
from attnlab import Experiment, Library, OptionError, Processes, Training, register, run_all
from attnlab.inspection import compare, quality
from attnlab.models.inside import mean_trace
from attnlab.optimum import dependence, token_marginals
from attnlab.registering import import_file, unregister
from attnlab.runs.links import from_query, to_query
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.experiment import from_json, prepare, to_json
from attnlab.training.optimisers import AbstractSchedule
from tests.unit.small_experiments import SMALL

MODULE = '''
"""A family of models of a user's own."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

import attnlab
from attnlab.configuration.options import option
from attnlab.models import AbstractModel, AbstractModelOptions, AttentionMap, Trace


@attnlab.register
@dataclasses.dataclass(frozen=True)
class ByDistance(AbstractModelOptions):
    """Attention by distance alone: the logits are a mixture of trained rows."""

    name: ClassVar[str] = "by-distance"
    summary: ClassVar[str] = "Attention by distance alone."
    causal: ClassVar[bool] = True

    spread: float = option(1.0, "Starting size of the weights.", low=0.1, high=10.0)

    def build(self, *, vocab, length, key):
        rows, scores = jr.split(key)
        return ByDistanceModel(
            vocab, self.spread * jr.normal(rows, (vocab, vocab)), jr.normal(scores, (length,))
        )


class ByDistanceModel(AbstractModel):
    vocab: int = eqx.field(static=True)
    rows: Array
    scores: Array
    has_heads: ClassVar[bool] = False

    def read(self, one_hot, queries):
        places = jnp.arange(len(one_hot))
        distance = queries[:, None] - places[None, :]
        mask = distance >= 0
        pattern = jax.nn.softmax(jnp.where(mask, self.scores[jnp.abs(distance)], -jnp.inf))
        return pattern @ one_hot @ self.rows, Trace((AttentionMap(pattern[None], mask, 0),))
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The options class of the module, which is registered as it is imported."""
    name = "a_users_own_models"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = importlib.import_module(name).ByDistance
    yield kind
    unregister(kind)
    sys.modules.pop(name)


@pytest.fixture
def experiment(own):
    return dataclasses.replace(SMALL, model=own(spread=0.5))


def test_it_is_offered_and_travels_in_records_and_links(own, experiment):
    assert attnlab.MODELS["by-distance"] is attnlab.ALL_MODELS["by-distance"] is own
    assert from_json(to_json(experiment)) == experiment
    query = to_query(experiment)
    assert query["by-distance_spread"] == "0.5"
    assert from_query(query)[::2] == (experiment, ())


@pytest.mark.slow
def test_it_trains_is_saved_opened_and_inspected(own, experiment, tmp_path):
    library = Library(tmp_path / "library")
    (result,) = run_all([experiment], library=library)
    assert result.state == "done"
    opened = from_bytes(to_bytes(result.run))
    assert opened.experiment == experiment
    assert library.find(experiment) is not None
    model, setup = opened.state.model, prepare(experiment)
    *_, found = quality(experiment, model, np.asarray(setup.test))
    assert found.counts.sum() == len(setup.test)
    patterns = mean_trace(model, setup.probes).attention[0].pattern
    np.testing.assert_allclose(patterns.sum(axis=-1), 1, atol=1e-5)
    generator, length = experiment.generator, experiment.length
    truth = dependence(generator, length).replacement
    maps = compare(
        experiment, model, np.asarray(setup.probes), truth, token_marginals(generator, length)
    )
    assert maps.attends.shape == maps.depends.shape == (length, length)


@pytest.mark.slow
def test_workers_know_it(own, experiment):
    with Processes(1) as workers:
        (result,) = run_all([experiment], workers)
    assert (result.state, result.reason) == ("done", "")
    (here,) = run_all([experiment])
    assert result.evaluation == here.evaluation


def test_without_it_a_record_is_refused(own, experiment):
    text = to_json(experiment)
    unregister(own)
    with pytest.raises(OptionError, match="'by-distance': unknown"):
        from_json(text)


def schedule(name, summary="For this test."):
    attributes = {"name": name, "summary": summary, "share": lambda self, done: 0.5}
    return dataclasses.dataclass(frozen=True)(type("Half", (AbstractSchedule,), attributes))


def test_a_class_that_is_defined_again_takes_the_place_of_the_earlier_one():
    first, second = register(schedule("half")), register(schedule("half"))
    try:
        assert attnlab.SCHEDULES["half"] is second is not first
        training = Training(schedule=second())
        assert from_json(to_json(Experiment(training=training))).training == training
    finally:
        unregister(second)
    assert "half" not in attnlab.SCHEDULES


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("constant", "another class has it"),
        ("markov", "another class has it"),
        ("My Schedule", "not lower-case letters"),
        ("", "not lower-case letters"),
        (None, "not lower-case letters"),
    ],
)
def test_a_name_that_is_taken_or_no_name_is_refused(name, problem):
    with pytest.raises(OptionError, match=f"`name`.*{problem}"):
        register(schedule(name))


def test_what_is_no_frozen_dataclass_of_a_kind_is_refused():
    for kind in (int, type("Loose", (AbstractSchedule,), {"name": "loose"})):
        with pytest.raises(TypeError, match="not a frozen dataclass"):
            register(kind)


def test_options_without_a_summary_are_refused():
    with pytest.raises(OptionError, match="`summary`"):
        register(schedule("half", summary=None))


@pytest.fixture
def imports(monkeypatch):
    """Leaves neither a folder on the path nor a module behind."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("a_file_of_models", None)


@pytest.mark.usefixtures("imports")
def test_a_file_registers_its_classes(tmp_path):
    file = tmp_path / "a_file_of_models.py"
    file.write_text(MODULE, encoding="utf-8")
    import_file(str(file))
    kind = attnlab.MODELS["by-distance"]
    try:
        # As a worker finds it.
        assert importlib.import_module("a_file_of_models").ByDistance is kind
    finally:
        unregister(kind)


@pytest.mark.usefixtures("imports")
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("an_error.py", "x = 1\n\nundefined\n", r"line 3: NameError: .*undefined"),
        ("no_python.py", "def\n", r"SyntaxError: .*no_python.py, line 1"),
        ("random.py", "", "another module has this name"),
        ("models.txt", "", "no such Python file"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused(tmp_path, name, text, said):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=f"(?s)`module` is .*{said}"):
        import_file(str(file))
