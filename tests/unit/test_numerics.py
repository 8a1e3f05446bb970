"""An experiment decides every number, whatever JAX is configured to do."""

import dataclasses
import functools
from contextlib import ExitStack, contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab.configuration.numerics import key_of
from attnlab.generators import (
    PROCESSES,
    HiddenMarkov,
    continue_sequence,
    log_predictives,
    sample,
)
from attnlab.inspection import (
    effect_of,
    final_probs,
    probs_by_query,
    quality,
    source_influence,
)
from attnlab.inspection.decoding import write_beam, write_target
from attnlab.inspection.targets import alignment_shares, on_true_alignment
from attnlab.models import Edit
from attnlab.models.generation import beam_search, generate
from attnlab.models.inside import mean_trace, trace_of
from attnlab.optimum import (
    agreement,
    baselines_of,
    counted,
    dependence,
    frequencies,
    next_token,
    optimum,
    sequence_log_prob,
)
from attnlab.training.evaluation import evaluate, evaluate_by_position
from attnlab.training.experiment import build_model, prepare
from attnlab.training.limits import feasibility
from attnlab.training.loop import train
from tests.unit.small_experiments import SMALL, SMALL_MODELS, SMALL_TASK, SMALL_TRANSFORMER, small

HOSTILE = {
    "enable_x64": True,
    "default_prng_impl": "rbg",
    "threefry_partitionable": False,
    "numpy_dtype_promotion": "strict",
    "default_matmul_precision": "bfloat16",
}


@contextmanager
def hostile():
    """JAX as another program of the same process may have configured it."""
    with ExitStack() as stack:
        for name, value in HOSTILE.items():
            stack.enter_context(getattr(jax, name)(value))
        yield


def leaves(tree):
    found = jax.tree.leaves(tree)
    found = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in found]
    return [np.asarray(leaf) for leaf in found if isinstance(leaf, jax.Array | np.ndarray | float)]


def is_key(leaf):
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def assert_same(one, other):
    one, other = leaves(one), leaves(other)
    assert len(one) == len(other) > 0
    for mine, theirs in zip(one, other, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def trained(experiment):
    """All that an experiment decides: its data, its losses, its last state, its test."""
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    readout = experiment.training.readout
    test = evaluate(
        last.state.model, setup.test, readout=readout, prompt_length=setup.prompt_length
    )
    return setup, last, tuple(test)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transformer", "ssm", "encoder-decoder"])
def test_a_run_is_the_same(name):
    experiment = small(SMALL_MODELS[name], steps=3)
    plain = trained(experiment)
    with hostile():
        assert_same(plain, trained(experiment))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "rrxor", "in-context-markov", "cards"])
def test_sequences_and_laws_of_a_process_are_the_same(name):
    process = PROCESSES[name]()
    length = process.own_length() or LENGTH
    process = process.at_length(length)

    def drawn():
        tokens = sample(process, key=key_of(3), size=5, length=length + 1)
        return tokens, log_predictives(process, tokens[0])

    plain = drawn()
    with hostile():
        assert_same(plain, drawn())


class Made:
    """What the computations share, made when the first of them needs it."""

    model = functools.cached_property(lambda _: build_model(SMALL_TRANSFORMER))
    task_model = functools.cached_property(lambda _: build_model(SMALL_TASK))
    test = functools.cached_property(lambda _: np.asarray(prepare(SMALL).test[:20]))
    task_test = functools.cached_property(lambda _: np.asarray(prepare(SMALL_TASK).test[:20]))
    source = functools.cached_property(lambda self: jnp.asarray(self.task_test[0, :GIVEN]))


MADE, TASK, HIDDEN, LENGTH = Made(), SMALL_TASK.generator, HiddenMarkov(), SMALL.length
GIVEN = TASK.prompt_length()
COUNT = SMALL_TASK.length + 1 - GIVEN
COMPUTED = {
    "sample": lambda: sample(HIDDEN, key=key_of(3), size=5, length=LENGTH),
    "continue_sequence": lambda: continue_sequence(
        HIDDEN, jnp.array([0, 1], jnp.int32), key=key_of(3), size=5, days=3
    ),
    "log_predictives": lambda: log_predictives(HIDDEN, jnp.asarray(MADE.test[0])),
    "optimum": lambda: dataclasses.astuple(optimum.__wrapped__(HIDDEN, 3)),
    "sampled optimum": lambda: dataclasses.astuple(optimum.__wrapped__(HIDDEN, 3, 1)),
    "ladder": lambda: [dataclasses.astuple(r.best) for r in baselines_of.__wrapped__(HIDDEN, 3)],
    "dependence": lambda: vars(dependence.__wrapped__(HIDDEN, 3)),
    "frequencies": lambda: vars(frequencies.__wrapped__(HIDDEN, 3)),
    "agreement": lambda: vars(agreement.__wrapped__(HIDDEN, 3)),
    "counted": lambda: counted(HIDDEN, 3, 5).sequences,
    "next_token": lambda: next_token(HIDDEN, [0, 1, 2]),
    "sequence_log_prob": lambda: sequence_log_prob(HIDDEN, [0, 1, 2]),
    "feasibility": lambda: dataclasses.astuple(feasibility(SMALL).best),
    "generate": lambda: generate(
        MADE.model, MADE.test[0, :-1], readout="last", days=3, temperature=1.0, key=key_of(0)
    ),
    "beam_search": lambda: beam_search(
        MADE.model, MADE.test[0, :-1], readout="last", days=3, width=2
    ),
    "trace_of": lambda: trace_of(MADE.model, MADE.test[0, :-1]),
    "mean_trace": lambda: mean_trace(MADE.model, MADE.test[:, :-1]),
    "evaluate_by_position": lambda: tuple(evaluate_by_position(MADE.model, jnp.asarray(MADE.test))),
    "final_probs": lambda: final_probs(MADE.model, MADE.test[:, :-1], "last"),
    "probs_by_query": lambda: probs_by_query(MADE.model, MADE.test[:, :-1]),
    "effect_of": lambda: tuple(
        effect_of(
            MADE.model, Edit(0, 1, np.eye(LENGTH, dtype=np.float32)), test=MADE.test, readout="last"
        )
    ),
    "quality": lambda: [vars(each) if hasattr(each, "__dict__") else tuple(each)
                        for each in quality(SMALL_TRANSFORMER, MADE.model, MADE.test)],
    "alignment_shares": lambda: alignment_shares(TASK, MADE.task_test[:, :GIVEN]),
    "on_true_alignment": lambda: on_true_alignment(TASK, MADE.task_model, MADE.task_test[:, :-1]),
    "write_target": lambda: write_target(
        MADE.task_model, MADE.source, count=COUNT, temperature=1.0, key=key_of(1)
    ),
    "write_beam": lambda: write_beam(MADE.task_model, MADE.source, count=COUNT, width=2),
    "source_influence": lambda: tuple(source_influence(TASK, MADE.task_model, MADE.task_test)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPUTED)
def test_what_a_process_or_a_model_gives_is_the_same(name):
    plain = COMPUTED[name]()
    with hostile():
        assert_same(plain, COMPUTED[name]())
