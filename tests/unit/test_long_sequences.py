"""Sequences of 256 tokens: prepared, trained, bounded by a sampled floor, and drawn small."""

import dataclasses
import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from attnlab import charts
from attnlab.charts.maps import strongest_of_blocks
from attnlab.configuration.options import OptionError
from attnlab.generators import GENERATORS, Markov, Recall
from attnlab.models import HIDDEN_STATES, AttentionOptions, Trace, TransformerOptions
from attnlab.optimum import dependence, informative_positions, optimum
from attnlab.runs.history import empty_history
from attnlab.runs.links import from_query, to_query
from attnlab.runs.run import Run
from attnlab.runs.snapshot import Snapshot
from attnlab.runs.storage import from_bytes, to_bytes
from attnlab.training.experiment import Experiment, from_json, prepare, to_json
from attnlab.training.limits import HOSTED, bytes_of, check_limits, check_memory
from attnlab.training.loop import train
from attnlab.training.steps import Training, take_steps
from attnlab.ui.train.inside.panel import VIEWS
from attnlab.ui.train.inside.shown import Choice, Inside, Shown

LENGTH = 256
# Beliefs to enumerate; with more of them a floor is sampled.
FEW = 1_000
SIGMAS = 4.5
INITIAL = np.array([0.3, 0.4, 0.3])
MOVING = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
TINY = Training(steps=2, batch=8, train_size=16, test_size=100)
LONG = Experiment(length=LENGTH, model=TransformerOptions(layers=2, heads=4), training=TINY)


def entropy(probs):
    return -(probs * np.log(probs)).sum(axis=-1)


# One for each kind of belief: one token, several, a hidden state, a count.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["markov", "recall", "hmm", "dotmod"])
def test_a_process_is_prepared_trained_and_bounded(name):
    process, length = GENERATORS[name](), LENGTH
    model = AttentionOptions(d_attn=2)
    experiment = Experiment(generator=process, length=length, model=model, training=TINY)
    setup = prepare(experiment)
    *_, last = train(experiment, setup)
    assert int(last.state.step) == 2
    assert np.isfinite(last.losses.nll).all()
    floor = optimum(process, length, FEW).final
    assert 0 <= floor.nll <= np.log(process.vocabulary.size) + 1e-5
    assert 0 <= floor.nll_stderr < 0.01


def markov_floor():
    """E[H(the row of the last visible token)] of a chain from its start."""
    last = INITIAL @ np.linalg.matrix_power(MOVING, LENGTH - 1)
    return last @ entropy(MOVING)


def recall_floor():
    """E[H(the row of the table)], whose three tokens are independent."""
    likely = np.einsum("i,j,k->ijk", INITIAL, INITIAL, INITIAL).ravel()
    return likely @ entropy(Recall().table)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "floor"), [(Markov(), markov_floor), (Recall(), recall_floor)], ids=["m", "r"]
)
def test_a_sampled_floor_is_the_exact_one_within_its_error(process, floor):
    exact = optimum(process, LENGTH).final
    assert exact.exact
    assert exact.nll == pytest.approx(floor(), abs=3e-6)
    sampled = optimum(process, LENGTH, 1).final
    assert not sampled.exact
    assert 0 < sampled.nll_stderr < 0.005
    assert abs(sampled.nll - floor()) < SIGMAS * sampled.nll_stderr


@pytest.mark.slow
def test_the_true_dependence_of_a_long_process_is_found_in_a_sample():
    found = dependence(Recall(), 128)
    assert not found.exact
    assert np.flatnonzero(informative_positions(found)).tolist() == [0, 3, 7]


@pytest.mark.slow
def test_a_long_run_goes_through_records_links_and_files():
    assert from_json(to_json(LONG)) == LONG
    assert from_query(to_query(LONG))[0] == LONG
    run = Run(LONG, prepare(LONG).state, empty_history())
    assert from_bytes(to_bytes(run)).experiment == LONG
    with pytest.raises(OptionError, match=r"`length` is 257: .* from 2 to 256"):
        dataclasses.replace(LONG, length=257)


def with_batch(batch, **changes):
    training = dataclasses.replace(TINY, batch=batch)
    return dataclasses.replace(LONG, training=training, **changes)


@pytest.mark.slow
def test_memory_grows_with_batch_and_with_the_square_of_the_length():
    base = bytes_of(with_batch(1_000))
    assert 1.9 < bytes_of(with_batch(2_000)) / base < 2.0
    assert 3 < base / bytes_of(with_batch(1_000, length=LENGTH // 2)) < 4
    # Batch × heads × length² numbers of 4 bytes, at least one for each layer.
    assert base > 1_000 * 4 * LENGTH**2 * 4 * LONG.model.layers


def test_what_does_not_fit_is_refused_with_the_batch_that_does():
    check_memory(with_batch(64), 1e12)
    with pytest.raises(OptionError, match=r"`batch` is 5000: .* GB of memory") as caught:
        check_memory(with_batch(5_000), 4e9)
    most = int(str(caught.value).split("at most ")[1].split(",")[0])
    check_memory(with_batch(most), 4e9)
    with pytest.raises(OptionError):
        check_memory(with_batch(most + 10), 4e9)
    deep = TransformerOptions(layers=4, heads=8, d_attn=2)
    hosted = with_batch(1_000, length=HOSTED.caps["length"], model=deep)
    with pytest.raises(OptionError, match="`batch`"):
        check_limits(hosted, HOSTED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "loss"),
    [(TransformerOptions(layers=2, heads=4), "next"), (AttentionOptions(), "last")],
)
def test_the_memory_that_is_foreseen_is_that_of_the_compiled_step(model, loss):
    training = dataclasses.replace(TINY, batch=100, train_size=100, loss=loss)
    experiment = dataclasses.replace(LONG, model=model, training=training)
    setup = prepare(experiment)
    state, rest = eqx.partition(setup.state, eqx.is_array)

    def step(state, source, key, rate, count):
        whole, numbers = eqx.combine(state, rest), {"last_step": count, "steps": count}
        after, _ = take_steps(whole, source, training, learning_rate=rate, key=key, **numbers)
        return eqx.filter(after, eqx.is_array)

    numbers = jnp.float32(0.01), jnp.int32(1)
    compiled = eqx.filter_jit(step).lower(state, setup.source, setup.key, *numbers).compile()
    taken = compiled.compiled.memory_analysis().temp_size_in_bytes
    assert 0.5 < bytes_of(experiment) / taken < 3


def test_a_block_has_the_strongest_of_its_cells():
    values = np.random.default_rng(0).normal(size=(7, 10))
    seen = np.tri(7, 10, 2, dtype=bool)
    found, there = strongest_of_blocks(values, seen, most=4)
    assert found.shape == there.shape == (4, 4)
    for row in range(4):
        for column in range(4):
            block = np.s_[2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
            cells = values[block][seen[block]]
            assert there[row, column] == (cells.size > 0)
            if cells.size:
                assert found[row, column] == cells[np.abs(cells).argmax()]


def test_a_map_of_a_long_sequence_is_small_and_keeps_what_is_strong():
    values = np.zeros((LENGTH, LENGTH))
    values[200, 7] = 0.9
    drawing = charts.map_chart(values, title="share", titles=("key", "query"))
    table = drawing.tables["table"]
    assert len(table) < 3_000
    strongest = table.loc[table["value"].idxmax()]
    assert (strongest["query_name"], strongest["key_name"]) == ("201 to 204", "5 to 8")
    assert {int(day) for day in table["key"]} <= set(
        drawing.specification()["encoding"]["x"]["scale"]["domain"]
    )
    trace = Trace((), {HIDDEN_STATES: np.ones((LENGTH, 8))})
    snapshot = Snapshot(LONG, "idle", 0, empty_history(), None, None, 0, 0.0, 0.0, "")
    shown = Shown(snapshot, Inside(trace), Choice())
    states = VIEWS["hidden states"].chart(shown, 300).tables["table"]
    assert states["day"].max() == LENGTH
    assert len(states) <= 72 * 8


@pytest.mark.parametrize("heads", [1, 64])
def test_pictures_of_long_sequences_are_small(heads):
    rng, mask = np.random.default_rng(0), np.tri(LENGTH, dtype=bool)
    patterns = rng.dirichlet(np.ones(LENGTH) / 4, size=LENGTH)
    pictures = [charts.HeadPicture("L1 H1", patterns, mask) for _ in range(heads)]
    table = charts.overview_chart([pictures], cell="share").tables["table"]
    assert len(json.dumps(table.to_dict("records"))) < 50_000 + 25_000 * heads
