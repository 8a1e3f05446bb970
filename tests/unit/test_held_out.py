"""Test sequences that no training has met, and how many are met where none are held out."""

import dataclasses

import numpy as np
import pytest

from attnlab.configuration.options import OptionError
from attnlab.generators import Custom, Markov, NDays
from attnlab.training.experiment import Experiment, prepare
from attnlab.training.limits import feasibility
from attnlab.training.steps import Training
from tests.unit.small_experiments import SMALL, small

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
