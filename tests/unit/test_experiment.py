"""Experiments: their caps, and what is drawn from them."""

import dataclasses
from typing import ClassVar

import jax
import numpy as np
import pytest

from attnlab.configuration.options import OptionError, check_option, options_of
from attnlab.generators import Custom, Markov, NDays, Recall, Reverse
from attnlab.models import AttentionOptions, LinearOptions
from attnlab.runs.history import empty_history
from attnlab.runs.run import Run
from attnlab.runs.storage import RunFileError, from_bytes, to_bytes
from attnlab.training.experiment import (
    Experiment,
    build_model,
    from_json,
    prepare,
    to_json,
)
from attnlab.training.limits import feasibility
from attnlab.training.loop import train
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL, small


def test_a_full_batch_has_the_cap_of_a_batch():
    with pytest.raises(OptionError, match=r"`train_size` is 5001: .*5,000 for a full batch"):
        Training(batch_mode="full", train_size=5_001)
    with pytest.raises(OptionError, match=r"`batch_mode` is 'full': .*fresh"):
        Training(batch_mode="full", data="fresh")


def test_what_is_tested_is_at_the_readout_and_of_a_task_ends_at_the_last_token():
    first = Training(readout="first", loss="next")
    assert Experiment(length=7).read_position == 6
    assert Experiment(length=7, training=first).read_position == 0
    task = Experiment(generator=Reverse(source_length=5), training=first)
    assert task.read_position == task.length - 1 == 8
    assert not task.tests_more_than_trained
    last = dataclasses.replace(task, training=Training(readout="first", loss="last"))
    assert last.tests_more_than_trained
    assert not Experiment(training=Training(loss="last")).tests_more_than_trained


@pytest.mark.parametrize(("option", "value"), [("loss", "next"), ("readout", "first")])
def test_a_loss_or_readout_that_the_model_lacks_is_refused(option, value):
    with pytest.raises(OptionError, match=f"`{option}` is '{value}': .*'linear'.*'last'"):
        Experiment(model=LinearOptions(), training=Training(**{option: value}))


def test_a_length_within_the_given_tokens_is_refused(monkeypatch):
    monkeypatch.setattr(Recall, "prompt_length", lambda self: 7)
    Experiment(generator=Recall(), length=7)
    with pytest.raises(OptionError, match=r"`length` is 6: .* first 7 tokens.*Choose 7 or more"):
        Experiment(generator=Recall(), length=6)


@pytest.mark.slow
def test_a_generator_of_ones_own_needs_no_registration_in_a_script():
    @dataclasses.dataclass(frozen=True)
    class Mine(Markov):
        name: ClassVar[str] = "mine"

    experiment = Experiment(
        generator=Mine(), length=3, training=Training(steps=5, train_size=100, test_size=100)
    )
    *_, last = train(experiment, prepare(experiment))
    assert int(last.state.step) == 5
    # Files go by names, and say whose they know.
    with pytest.raises(OptionError, match=r"`generator` is 'mine': unknown\."):
        from_json(to_json(experiment))
    with pytest.raises(
        RunFileError,
        match=r"needs the generator 'mine', which is not registered here\. "
        r"Import the module that registers it \(`@attnlab\.register`\), or choose another file\.$",
    ):
        from_bytes(to_bytes(Run(experiment, last.state, empty_history())))
    with pytest.raises(OptionError, match=r"`generator` is .*: not a choice\."):
        check_option("generator", options_of(Experiment)["generator"], AttentionOptions(), None)


def test_the_length_reaches_the_generator():
    assert Experiment(generator=Recall(), length=12).generator.horizon == 12


def arrays_of(setup):
    leaves = jax.tree.leaves((setup.state, setup.source, setup.test, setup.probes))
    return [np.asarray(leaf) for leaf in leaves if hasattr(leaf, "shape")]


def test_the_same_experiment_always_draws_the_same():
    for one, other in zip(*(arrays_of(prepare(small(seed=5))) for _ in range(2)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_new_seed_draws_other_data_weights_and_batches():
    one, other = prepare(small(seed=5)), prepare(small(seed=6))
    for part in ("test", "probes"):
        assert np.any(np.asarray(getattr(one, part)) != np.asarray(getattr(other, part)))
    assert np.any(np.asarray(one.source.sequences) != np.asarray(other.source.sequences))
    assert np.all(np.asarray(one.state.model.query.weight) != other.state.model.query.weight)
    assert np.any(jax.random.key_data(one.key) != jax.random.key_data(other.key))


def test_training_options_do_not_change_the_test_set_or_the_weights():
    one = prepare(small())
    other = prepare(small(learning_rate=0.5, train_size=300))
    for a, b in zip(arrays_of(one)[:3], arrays_of(other)[:3], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(build_model(SMALL).key.weight, one.state.model.key.weight)


def test_sets_have_their_sizes_and_share_no_draw():
    setup = prepare(dataclasses.replace(SMALL, length=20))
    assert setup.test.shape == (100, 21)
    assert setup.source.sequences.shape == (200, 21)
    assert setup.probes.shape[1] == 20
    # 3^21 sequences: two equal ones would be a draw used twice.
    rows = [tuple(row[:20]) for part in (setup.test, setup.source.sequences, setup.probes)
            for row in np.asarray(part)]  # fmt: skip
    assert len(set(rows)) == len(rows)


FEW = dataclasses.replace(SMALL, generator=NDays(n=2), length=4)
HELD_OUT = small(FEW, split="held out", train_size=2_000, test_size=1_000)


def rows_of(sequences, *, visible):
    return {tuple(row[:-1] if visible else row) for row in np.asarray(sequences).tolist()}


def test_nothing_that_is_held_out_is_trained_on():
    setup = prepare(HELD_OUT)
    assert setup.test.shape == (1_000, 5)
    assert setup.source.sequences.shape == (2_000, 5)
    seen = rows_of(setup.test, visible=True), rows_of(setup.source.sequences, visible=True)
    assert not seen[0] & seen[1]
    # Another seed divides them otherwise.
    assert min(map(len, seen)) > 10
    assert rows_of(prepare(dataclasses.replace(HELD_OUT, seed=1)).test, visible=True) != seen[0]


def test_the_next_token_has_the_same_law_on_both_sides():
    generator = Markov(transition=((0.8, 0.1, 0.1),) * 3)
    setup = prepare(dataclasses.replace(HELD_OUT, generator=generator))
    for sequences in (setup.test, setup.source.sequences):
        assert np.mean(np.asarray(sequences)[:, -1] == 0) == pytest.approx(0.8, abs=0.05)


# The next of 6 symbols is the sum of two, modulo 6.
SUM = Custom(
    symbols="a b c d e f",
    order=2,
    table=tuple(
        tuple(float(third == (first + second) % 6) for third in range(6))
        for first in range(6) for second in range(6)
    ),
)  # fmt: skip


@pytest.mark.slow
def test_the_share_that_is_in_both_sets_is_said():
    adding = small(dataclasses.replace(SMALL, generator=SUM, length=2), train_size=20)
    (said,) = [text for option, text in feasibility(adding).findings if option == "split"]
    setup = prepare(adding)
    known = rows_of(setup.source.sequences, visible=False)
    share = np.mean([tuple(row) in known for row in np.asarray(setup.test).tolist()])
    assert said.startswith(f"{100 * share:.3g} % of the test sequences are also in the training")
    assert 0.3 < share < 0.6
    # Others have nothing to say: none is met again, or the next token is random all the same.
    for other in (small(adding, split="held out"), FEW):
        assert not [option for option, _ in feasibility(other).findings if option == "split"]


def test_what_cannot_be_held_out_is_refused():
    with pytest.raises(OptionError, match="`split` is 'held out': fresh data"):
        Training(split="held out", data="fresh")
    one = Markov(initial=(1.0, 0.0, 0.0), transition=((1.0, 0.0, 0.0),) * 3)
    training = Training(split="held out", train_size=100, test_size=100)
    with pytest.raises(OptionError, match="too few different sequences"):
        prepare(Experiment(generator=one, length=2, training=training))
