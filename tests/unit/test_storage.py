"""Run files: whole or refused."""

import dataclasses
import os
import re

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

from attnlab.generators import Custom
from attnlab.models import ALL_MODELS, AttentionOptions
from attnlab.positions import Alibi, Rotary
from attnlab.runs.history import (
    MOST_CHANGES,
    MOST_CHECKPOINTS,
    MOST_TESTS,
    History,
    empty_history,
)
from attnlab.runs.run import Run
from attnlab.runs.storage import RunFileError, from_bytes, load_run, save_run, to_bytes
from attnlab.training.changes import Change
from attnlab.training.evaluation import Evaluation
from attnlab.training.experiment import Experiment, abstract_state, starting_state
from attnlab.training.steps import Training
from tests.unit.run_file_edits import (
    EDITS,
    REMEDIES,
    STEPS,
    joined,
    parts_of,
)
from tests.unit.small_experiments import SMALL, SMALL_MODELS, small

EXPERIMENTS = {
    **{name: small(experiment, seed=3) for name, experiment in SMALL_MODELS.items()},
    **{
        position.name: dataclasses.replace(
            SMALL, seed=3, model=dataclasses.replace(SMALL.model, position=position)
        )
        for position in (Rotary(base=9.0), Alibi(slope=0.1))
    },
}

# Without the shape checks, which would refuse some damage before attnlab has to.
pytestmark = pytest.mark.usefixtures("as_users_run")


def as_if_trained(experiment):
    """A run with another number in every place, which no training has to be compiled for."""
    random = np.random.default_rng(experiment.seed)

    def drawn(leaf):
        if np.issubdtype(leaf.dtype, np.integer):
            return np.full(leaf.shape, STEPS, leaf.dtype)
        return random.normal(size=leaf.shape).astype(leaf.dtype)

    first, state = (jax.tree.map(drawn, abstract_state(experiment)) for _ in range(2))
    history = empty_history().with_losses(random.uniform(1, 2, STEPS).astype(np.float32))
    for step, model in ((0, first.model), (STEPS, state.model)):
        history = history.with_test(step, Evaluation(*random.uniform(0.1, 0.9, 4).tolist()))
        history = history.with_checkpoint(step, model)
    return Run(experiment, state, history)


@pytest.fixture(scope="module")
def runs():
    return {name: as_if_trained(experiment) for name, experiment in EXPERIMENTS.items()}


@pytest.fixture(scope="module")
def data(runs):
    return to_bytes(runs["attention"])


def test_every_registered_model_is_stored(runs):
    assert {type(run.experiment.model) for run in runs.values()} == set(ALL_MODELS.values())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_survives_its_file_bit_for_bit(runs, name, tmp_path):
    run = runs[name]
    save_run(run, tmp_path / "a.run")
    again = load_run(tmp_path / "a.run")
    assert again.experiment == run.experiment
    leaves, structure = jax.tree.flatten(run.state)
    other_leaves, other_structure = jax.tree.flatten(again.state)
    assert structure == other_structure
    for one, other in zip(leaves, other_leaves, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
    assert again.history.tests == run.history.tests
    np.testing.assert_array_equal(again.history.losses, run.history.losses)
    assert len(again.history.checkpoints) == 2
    for one, other in zip(run.history.checkpoints, again.history.checkpoints, strict=True):
        assert one[0] == other[0]
        for a, b in zip(jax.tree.leaves(one[1]), jax.tree.leaves(other[1]), strict=True):
            np.testing.assert_array_equal(a, b)
    assert to_bytes(again) == to_bytes(run)


def test_the_file_is_not_of_pickle_and_its_header_is_text(data):
    header, payload = parts_of(data)
    assert header["experiment"]["generator"]["name"] == "markov"
    sizes = {"<f4": 4, "<i4": 4}
    listed = sum(int(np.prod(shape)) * sizes[kind] for _, kind, shape in header["arrays"])
    assert listed == len(payload)


def test_truncated_files_are_refused(data):
    for length in {*range(0, len(data), 97), *range(40), len(data) - 1}:
        with pytest.raises(RunFileError, match="Choose a file that attnlab saved"):
            from_bytes(data[:length])


@pytest.mark.parametrize(
    "foreign", [b"", b"\x80\x04.", b"PK\x03\x04", b"attnlab run 3\n{}\n", b"attnlab run 1\n",
                b"attnlab run 2\n", b"attnlab run 2\n{}\n", b"attnlab run 2\n" + b"0" * 64 + b"\n",
                b"attnlab run 1\n{}\n", b"attnlab run 1\n[]\n", b"attnlab run 1\nnull\n",
                b"attnlab run 1\n\xff\xfe\n", b"attnlab run 1\n" + b"[" * 100_000 + b"\n",
                b"attnlab run 1\n" + b"9" * 5_000 + b"\n",
                *(joined(text, b"") for text in ("{}", "[]", "null", "", "[" * 100_000)),
                (9).to_bytes(8, "little") + b'{"__metadata__":{"attnlab":', bytes(8) + b"{}"],
)  # fmt: skip
def test_foreign_files_are_refused(foreign):
    with pytest.raises(RunFileError):
        from_bytes(foreign)


@hypothesis.given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@hypothesis.settings(
    max_examples=150,
    # The fixtures are the same for all examples.
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
def test_a_flipped_bit_is_refused(data, place, bit):
    damaged = bytearray(data)
    damaged[int(place * len(data))] ^= 1 << bit
    with pytest.raises(RunFileError):
        from_bytes(bytes(damaged))


@pytest.mark.parametrize("edit", EDITS)
def test_edited_files_are_refused(data, edit):
    header, payload = parts_of(data)
    header, payload = EDITS[edit](header, payload)
    with pytest.raises(RunFileError) as caught:
        from_bytes(joined(header, payload))
    assert str(caught.value).endswith(REMEDIES)
    assert len(str(caught.value)) < 400


def test_an_unedited_file_that_is_put_together_again_is_accepted(data):
    assert to_bytes(from_bytes(joined(*parts_of(data)))) == data


@pytest.mark.parametrize("more", [b"\x00", bytes(4)])
def test_bytes_after_the_end_are_refused(data, more):
    header, payload = parts_of(data)
    with pytest.raises(RunFileError, match="contradict each other"):
        from_bytes(joined(header, payload + more))


def test_another_checksum_is_refused(data):
    checksum = re.search(rb"[0-9a-f]{64}", data).group()
    for other in (b"5", b'", "sha256": 5, "', checksum.upper(), checksum[:-1], b"0" * 64):
        with pytest.raises(RunFileError):
            from_bytes(data.replace(checksum, other))


@pytest.mark.slow
def test_the_largest_run_that_a_history_can_hold_is_read_again():
    # Numbers with as many digits as there are.
    share = (0.16666666666666669, 0.16666666666666663, 0.1666666666666668)
    experiment = Experiment(
        generator=Custom(symbols=" ".join("🐱🐶🦊🐻🐼🐨"), order=2, table=(2 * share,) * 36),
        length=64,
        model=AttentionOptions(d_attn=128, embedding="learned", d_model=128),
        training=Training(steps=100_000, learning_rate=0.0012345678901234567, batch=4_999),
        seed=2**31 - 1,
    )
    state = starting_state(experiment)
    first, last = 100_000 - MOST_TESTS, 100_000
    longest = 1.2345678901234567e-05
    evaluation = Evaluation(longest, longest, *share[:2], -longest, longest)
    there = (("learning_rate", 0.0012345678901234567, 0.0022345678901234567),
             ("batch", 4_999, 4_998), ("steps", 100_000, 100_000))  # fmt: skip
    back = tuple((name, new, old) for name, old, new in there)
    history = History(
        losses=np.ones(last, dtype=np.float32),
        tests=tuple((step, evaluation) for step in range(first, last)),
        checkpoints=tuple((step, state.model) for step in range(last - MOST_CHECKPOINTS, last)),
        changes=tuple(Change(last, (there, back)[i % 2]) for i in range(MOST_CHANGES)),
    )
    run = Run(experiment, state._replace(step=np.int32(last)), history)
    data = to_bytes(run)
    again = from_bytes(data)
    assert again.history.tests == history.tests
    assert again.history.changes == history.changes
    assert len(again.history.checkpoints) == MOST_CHECKPOINTS
    assert to_bytes(again) == data


def break_writing(monkeypatch, name):
    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, name, broken)


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(runs, tmp_path, monkeypatch, broken):
    path = tmp_path / "a.run"
    path.write_bytes(b"old")
    break_writing(monkeypatch, broken)
    with pytest.raises(OSError, match="no space left"):
        save_run(runs["linear"], path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.run"]


def test_a_save_replaces_the_old_file(runs, tmp_path):
    path = tmp_path / "a.run"
    path.write_bytes(b"old")
    save_run(runs["linear"], path)
    assert load_run(path).experiment == EXPERIMENTS["linear"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.run"]
